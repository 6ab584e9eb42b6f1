# SPDX-License-Identifier: Apache-2.0
"""`attribute.includes(value)`: whether an attribute equals or, if a list, contains a value."""

from __future__ import annotations

from typing import Final

from steersman.api.cel.comparison import equal_or_false
from steersman.api.cel.errors import CelError, no_such_overload
from steersman.api.cel.values import Value

MAX_LIST: Final = 48
"""Maximum number of values of an attribute."""


def _includes(target: Value, value: Value) -> bool:
    if not isinstance(target, list):
        return equal_or_false(target, value)
    if any(equal_or_false(element, value) for element in target[:MAX_LIST]):
        return True
    if len(target) > MAX_LIST:
        raise CelError(f"'includes' function cannot be applied to lists longer than {MAX_LIST} values")
    return False


def _unreachable(*args: Value) -> Value:
    """Stand in for the functions of an authorizer, which device selectors do not have. They are
    declared so that checker messages equal upstream's."""
    raise no_such_overload()
