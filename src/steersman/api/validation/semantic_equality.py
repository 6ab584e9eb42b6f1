# SPDX-License-Identifier: Apache-2.0
"""Semantic equality of JSON documents (upstream: `equality.Semantic.DeepEqual`).

Empty lists, maps and strings equal absent ones, and quantities are compared by value. 0 and false
equal an absent field if the field is not a pointer in Go.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.api import quantity
from steersman.api.json_values import is_same
from steersman.base import InputError

_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})
_PLAIN_FLAGS: Final = frozenset(
    {
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "stdin",
        "stdinOnce",
        "tty",
        "readOnly",
        "hostPort",
        "initialDelaySeconds",
        "partition",
    }
)
"""Boolean and number fields whose zero value equals an absent field."""
_AMOUNTS: Final = frozenset({"requests", "limits", "overhead", "capacity"})


def is_equal(new: Any, old: Any, name: str = "") -> bool:
    """Return whether two values of field `name` are semantically equal."""
    if isinstance(new, dict) and isinstance(old, dict):
        if name in _AMOUNTS:
            return new.keys() == old.keys() and all(_is_same_amount(value, old[key]) for key, value in new.items())
        return all(is_equal(new.get(key), old.get(key), key) for key in new.keys() | old.keys())
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(is_equal, new, old))
    if _is_zero(new, name) and _is_zero(old, name):
        return True
    return is_same(new, old) or (name in ("sizeLimit", "divisor") and _is_same_amount(new, old))


def _is_zero(value: Any, name: str) -> bool:
    return any(is_same(value, empty) for empty in _EMPTY) or (name in _PLAIN_FLAGS and not value)


def _is_same_amount(new: Any, old: Any) -> bool:
    try:
        return quantity.compare(quantity.parse(new), quantity.parse(old)) == 0
    except InputError:
        return is_same(new, old)
