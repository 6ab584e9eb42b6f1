# SPDX-License-Identifier: Apache-2.0
"""CEL, the Common Expression Language, as needed by device selectors: with upstream's types,
functions and messages.

Stages: `lexer` and `parser` (with `macros`) build a tree (`ast`), `checker` infers types from the
`environment`, `validators` find errors that types do not show, and `planner` compiles closures. A
compiled expression is a `selector`, which the allocator of dynamic resources evaluates for devices.
The closures use `values`, `arithmetic`, `comparison`, `conversions` and `library`; `cost` and
`meter` limit them.
"""

from steersman.base import lazy_exports

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
            "NO_TYPE OLD_SELF SELF evaluate_expression evaluate_rule is_transition_rule "
            "problem_of_message problem_of_rule"
        ),
    },
)
