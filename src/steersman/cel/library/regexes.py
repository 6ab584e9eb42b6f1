"""`find` and `findAll`: the parts of a text that a regular expression matches."""

from __future__ import annotations

from typing import Final

from steersman.cel.declarations import function, overload
from steersman.cel.errors import CelError
from steersman.cel.regex import Pattern, compile_pattern
from steersman.cel.values import Value


def _compiled(pattern: str) -> Pattern:
    try:
        return compile_pattern(pattern)
    except CelError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return next(iter(_compiled(pattern).find_all(text, 1)), "")


def _find_all(text: str, pattern: str, count: int = -1) -> list[Value]:
    return list(_compiled(pattern).find_all(text, count))


FUNCTIONS: Final = (
    function("find", overload("string_find_string", "string.(string) -> string", _find)),
    function(
        "findAll",
        overload("string_find_all_string", "string.(string) -> list(string)", _find_all),
        overload("string_find_all_string_int", "string.(string, int) -> list(string)", _find_all),
    ),
)
