# SPDX-License-Identifier: Apache-2.0
"""CEL, the Common Expression Language, as far as selectors of devices need it: with upstream's types, functions and texts.

The way of an expression: `lexer` and `parser` (with `macros`) make a tree (`ast`), `checker` gives it types from the
`environment`, `validators` look for mistakes that types do not show, and `planner` turns it into closures. An expression
that passes all of this is a `selector`; the allocator of dynamic resources asks it about devices. `values`,
`arithmetic`, `comparison`, `conversions` and `library` are what the closures compute with, `cost` and `meter` are what stops
them.
"""

from steersman.cel.device import AttributeValue, DeviceInput, Version, compile_device_selector
from steersman.cel.errors import CelError
from steersman.cel.meter import EvaluationTimeout

__all__ = [
    "AttributeValue",
    "CelError",
    "DeviceInput",
    "EvaluationTimeout",
    "Version",
    "compile_device_selector",
]
