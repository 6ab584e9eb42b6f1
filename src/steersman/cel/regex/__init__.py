# SPDX-License-Identifier: Apache-2.0
"""Regular expressions with upstream's syntax and upstream's guarantee: time linear in the text.

`syntax` reads a pattern and says what is wrong with it, in upstream's words; RE2, the library that upstream's own engine was
modelled on, finds the matches. Patterns whose program would be enormous are refused, and so are matches that would need
more steps than a scheduler has time for: RE2 needs at most one step per instruction and byte of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Protocol

import re2

from steersman.cel.errors import Aborted, CelError
from steersman.cel.meter import check_time
from steersman.cel.regex.syntax import check

__all__ = ["Pattern", "compile_pattern"]

_LARGEST_PROGRAM: Final = 50_000
"""Instructions."""
_MOST_STEPS: Final = 3_000_000
"""Some 30 ms, where RE2 is at its slowest: with nothing but its simulation of all ways at once."""
_MOST_MEMORY: Final = 4 << 20
"""Bytes, for one pattern."""
_CACHED: Final = 64
TOO_LARGE: Final = "regular expression is too large: it has about {} instructions, at most {} are allowed"
TOO_MANY_STEPS: Final = (
    "operation cancelled: a regular expression of {} instructions on a text of {} bytes may take {} steps, at most {} are "
    "allowed"
)


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Compiled(Protocol):
    """A compiled pattern of RE2, as far as it is used."""

    @property
    def programsize(self) -> int: ...

    def search(self, text: bytes, position: int) -> _Match | None: ...


class Pattern:
    """A compiled regular expression."""

    __slots__ = ("_compiled",)

    def __init__(self, pattern: str) -> None:
        checked = check(pattern)
        if checked.size > _LARGEST_PROGRAM:
            raise CelError(TOO_LARGE.format(checked.size, _LARGEST_PROGRAM))
        try:
            self._compiled: _Compiled = re2.compile(checked.pattern, options=_options())
            re2.purge()  # patterns are kept by `compile_pattern`, and by nobody else
        except re2.error:
            raise CelError(TOO_LARGE.format(checked.size, _LARGEST_PROGRAM)) from None

    def search(self, text: str) -> bool:
        """Whether the expression matches anywhere in the text."""
        return next(self._spans(text.encode()), None) is not None

    def find_all(self, text: str, count: int = -1) -> list[str]:
        """The matches from left to right, at most so many; empty ones right behind another do not count."""
        encoded = text.encode()
        found: list[str] = []
        last_end = -1
        for start, end in self._spans(encoded) if count else ():
            if start != end or start != last_end:
                found.append(encoded[start:end].decode())
                if len(found) == count:
                    break
            last_end = end
        return found

    def _spans(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Where the matches are, from left to right. RE2's `\\B` holds inside of characters, where nothing matches."""
        self._require_steps(len(text))
        position = 0
        while position <= len(text):
            match = self._compiled.search(text, position)
            if match is None:
                return
            start, end = match.span()
            if _is_inside_character(text, start):
                position = start + 1
            else:
                yield start, end
                position = end if end > position else _next_character(text, position)
            check_time()

    def _require_steps(self, length: int) -> None:
        size = self._compiled.programsize
        if size * (length + 1) > _MOST_STEPS:
            raise Aborted(TOO_MANY_STEPS.format(size, length, size * (length + 1), _MOST_STEPS))


def _is_inside_character(text: bytes, position: int) -> bool:
    return position < len(text) and text[position] & 0xC0 == 0x80


def _next_character(text: bytes, position: int) -> int:
    position += 1
    while _is_inside_character(text, position):
        position += 1
    return position


@lru_cache(maxsize=_CACHED)
def compile_pattern(pattern: str) -> Pattern:
    """The compiled expression; raises `CelError` with upstream's message if it is none."""
    return Pattern(pattern)


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MOST_MEMORY
    options.log_errors = False
    options.never_capture = True
    return options
