# SPDX-License-Identifier: Apache-2.0
"""Regular expressions: `matches`, `find` and `findAll`."""

from __future__ import annotations

from steersman.api.cel.errors import CelError, no_such_overload
from steersman.api.cel.regex import Pattern, compile_pattern
from steersman.api.cel.values import Value


def _compiled(pattern: str) -> Pattern:
    try:
        return compile_pattern(pattern)
    except CelError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise no_such_overload()
    return value


def matches(text: Value, pattern: Value) -> bool:
    """Return whether the pattern matches anywhere in the string."""
    return compile_pattern(_text(pattern)).search(_text(text))


def find(text: Value, pattern: Value) -> str:
    """Return the first match, or ""."""
    return next(iter(_compiled(_text(pattern)).find_all(_text(text), 1)), "")


def find_all(text: Value, pattern: Value, count: Value = -1) -> list[Value]:
    """Return all matches, or at most `count`."""
    if type(count) is not int:
        raise no_such_overload()
    return list(_compiled(_text(pattern)).find_all(_text(text), count))
