# SPDX-License-Identifier: Apache-2.0
"""CEL, the Common Expression Language, as needed by device selectors: with upstream's types,
functions and messages.

Stages: `lexer` and `parser` (with `macros`) build a tree (`ast`), `checker` infers types from the
`environment`, `validators` find errors that types do not show, and `planner` compiles closures. A compiled
expression is a `selector`, which the allocator of dynamic resources evaluates for devices. The closures use
`values`, `arithmetic`, `comparison`, `conversions` and `library`; `cost` and `meter` limit them.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.api.cel.device import (
        AttributeValue as AttributeValue,
        DeviceInput as DeviceInput,
        Version as Version,
        compile_device_selector as compile_device_selector,
    )
    from steersman.api.cel.errors import CelError as CelError
    from steersman.api.cel.meter import EvaluationTimeout as EvaluationTimeout
    from steersman.api.cel.parser import parse as parse
    from steersman.api.cel.regex import compile_pattern as compile_pattern
    from steersman.api.cel.selector_errors import find_selector_errors as find_selector_errors
    from steersman.api.cel.validation_rules import (
        NO_TYPE as NO_TYPE,
        OLD_SELF as OLD_SELF,
        SELF as SELF,
        evaluate_expression as evaluate_expression,
        evaluate_rule as evaluate_rule,
        is_transition_rule as is_transition_rule,
        problem_of_message as problem_of_message,
        problem_of_rule as problem_of_rule,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "device": "AttributeValue DeviceInput Version compile_device_selector",
            "errors": "CelError",
            "meter": "EvaluationTimeout",
            "parser": "parse",
            "regex": "compile_pattern",
            "selector_errors": "find_selector_errors",
            "validation_rules": (
                "NO_TYPE OLD_SELF SELF evaluate_expression evaluate_rule "
                "is_transition_rule problem_of_message problem_of_rule"
            ),
        },
    )
