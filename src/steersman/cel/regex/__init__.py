"""Regular expressions with upstream's syntax (RE2) and upstream's guarantee: time linear in the text.

`compile_pattern` parses a pattern (`syntax`) and keeps two ways to match it: Python's `re`, which is fast but may try
exponentially many ways, and an automaton (`automaton`) that never does. `re` is used where the number of ways is small
for the text at hand; `Pattern` decides, and both find the same matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from steersman.cel.regex.automaton import Automaton
from steersman.cel.regex.syntax import parse
from steersman.cel.regex.translation import most_ways, to_python

__all__ = ["Pattern", "compile_pattern"]

_MOST_WAYS: Final = 1_000_000
"""More ways than this to match a text, from all of its positions, are left to the automaton."""

_Search = Callable[[str, int], tuple[int, int] | None]


class Pattern:
    """A compiled regular expression."""

    def __init__(self, pattern: str) -> None:
        self._tree = parse(pattern)
        self._python = re.compile(to_python(self._tree))
        self._automaton: Automaton | None = None

    def search(self, text: str) -> bool:
        """Whether the expression matches anywhere in the text."""
        return self._searcher(text)(text, 0) is not None

    def find_all(self, text: str, count: int = -1) -> list[str]:
        """The matches from left to right, at most so many; empty ones right behind another do not count."""
        search = self._searcher(text)
        found: list[str] = []
        position, last_end = 0, -1
        while position <= len(text) and len(found) != count:
            span = search(text, position)
            if span is None:
                break
            start, end = span
            if start != end or start != last_end:
                found.append(text[start:end])
            last_end = end
            position = end if end > position else position + 1
        return found

    def _searcher(self, text: str) -> _Search:
        if most_ways(self._tree, len(text)) * (len(text) + 1) <= _MOST_WAYS:
            return self._search_with_python
        if self._automaton is None:
            self._automaton = Automaton(self._tree)
        return self._automaton.search

    def _search_with_python(self, text: str, start: int) -> tuple[int, int] | None:
        match = self._python.search(text, start)
        return None if match is None else match.span()


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """The compiled expression; raises `CelError` with upstream's message if it is none."""
    return Pattern(pattern)
