# SPDX-License-Identifier: Apache-2.0
"""`attribute.includes(value)`: whether an attribute is, or as a list contains, a value."""

from __future__ import annotations

from typing import Final

from steersman.cel.comparison import equal_or_false
from steersman.cel.declarations import function, overload
from steersman.cel.errors import CelError
from steersman.cel.values import Value

LONGEST_LIST: Final = 48
"""Values that an attribute may have."""


def _includes(target: Value, value: Value) -> bool:
    if not isinstance(target, list):
        return equal_or_false(target, value)
    if any(equal_or_false(element, value) for element in target[:LONGEST_LIST]):
        return True
    if len(target) > LONGEST_LIST:
        raise CelError(f"'includes' function cannot be applied to lists longer than {LONGEST_LIST} values")
    return False


FUNCTIONS: Final = (function("includes", overload("dra_includes_dyn_dyn", "dyn.(dyn) -> bool", _includes)),)
