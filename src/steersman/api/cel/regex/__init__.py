# SPDX-License-Identifier: Apache-2.0
"""Regular expressions with upstream's syntax, in time linear in the text.

`syntax` checks patterns with upstream's messages; RE2, the model of upstream's engine, finds
matches. Patterns with enormous programs are rejected, as are matches that may need too many steps:
RE2 needs at most one step per instruction and byte of text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Protocol

import re2

from steersman.api.cel.errors import Aborted, CelError
from steersman.api.cel.meter import check_time
from steersman.api.cel.regex.syntax import check

__all__ = ["Pattern", "compile_pattern"]

_MAX_PROGRAM: Final = 50_000
"""Maximum number of instructions."""
_MAX_STEPS: Final = 3_000_000
"""About 30 ms at RE2's slowest, in pure NFA simulation."""
_MAX_MEMORY: Final = 4 << 20
"""Memory limit of a pattern in bytes."""
_CACHED: Final = 64
TOO_LARGE: Final = "regular expression is too large: it has about {} instructions, at most {} are allowed"
TOO_MANY_STEPS: Final = (
    "operation cancelled: a regular expression of {} instructions on a text of {} bytes may take {} steps, at most {} are "
    "allowed"
)


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Compiled(Protocol):
    """The used part of RE2's compiled pattern."""

    @property
    def programsize(self) -> int: ...

    def search(self, text: bytes, position: int) -> _Match | None: ...


class Pattern:
    """A compiled regular expression."""

    __slots__ = ("_compiled",)

    def __init__(self, pattern: str) -> None:
        checked = check(pattern)
        if checked.size > _MAX_PROGRAM:
            raise CelError(TOO_LARGE.format(checked.size, _MAX_PROGRAM))
        try:
            self._compiled: _Compiled = re2.compile(checked.pattern, options=_options())
            re2.purge()  # `compile_pattern` has its own cache
        except re2.error:
            raise CelError(TOO_LARGE.format(checked.size, _MAX_PROGRAM)) from None

    def search(self, text: str) -> bool:
        """Return whether the expression matches anywhere in the text."""
        return next(self._spans(text.encode()), None) is not None

    def find_all(self, text: str, count: int = -1) -> list[str]:
        """Return at most `count` matches in order, except empty ones right after another."""
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
        """Yield the spans of matches. Matches of RE2's `\\B` inside of characters are skipped."""
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
        if size * (length + 1) > _MAX_STEPS:
            raise Aborted(TOO_MANY_STEPS.format(size, length, size * (length + 1), _MAX_STEPS))


def _is_inside_character(text: bytes, position: int) -> bool:
    return position < len(text) and text[position] & 0xC0 == 0x80


def _next_character(text: bytes, position: int) -> int:
    position += 1
    while _is_inside_character(text, position):
        position += 1
    return position


@lru_cache(maxsize=_CACHED)
def compile_pattern(pattern: str) -> Pattern:
    """Return the compiled pattern. Raises `CelError` with upstream's message if it is invalid."""
    return Pattern(pattern)


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    options.never_capture = True
    return options
