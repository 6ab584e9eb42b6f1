# SPDX-License-Identifier: Apache-2.0
"""Agreement per area, and differences as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from steersman.testing.conformance.bundles import Case
from steersman.testing.conformance.difference import GoldenDifference
from steersman.testing.conformance.group_levels import LEVELS

_LONGEST: Final = 160
"""Maximum length of an abridged value."""


class Agreement(msgspec.Struct):
    """Number of cases and agreeing cases of one area."""

    area: str
    cases: int = 0
    agreeing: int = 0
    checks: int = 0
    #: Number of cases that agree at each level; empty for kinds of cases without levels.
    by_level: dict[int, int] = {}

    def count(self, case: Case) -> None:
        self.cases += 1
        self.agreeing += case.agrees
        self.checks += case.checks
        for level in LEVELS if case.level is not None else ():
            self.by_level[level] = self.by_level.get(level, 0) + (level <= (case.level or 0))

    @property
    def is_full(self) -> bool:
        return self.agreeing == self.cases


def count(agreements: dict[str, Agreement], case: Case) -> None:
    """Add a case to its area."""
    agreements.setdefault(case.area, Agreement(case.area)).count(case)


def readable(case: Case, *, abridged: bool = True) -> Iterator[str]:
    """Yield a line per difference."""
    for where, difference in case.differences:
        place = f"{case.name}, {where}" if where else case.name
        for detail in _details(difference):
            yield f"{place}: {_text(detail, abridged)}"


def _details(difference: GoldenDifference) -> Iterable[GoldenDifference]:
    """Split a difference of two dicts into those of their keys."""
    expected, actual = difference.expected, difference.actual
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return [difference]
    return [
        GoldenDifference(f"{difference.path}[{key}]", expected.get(key), actual.get(key))
        for key in dict.fromkeys([*expected, *actual])
        if expected.get(key) != actual.get(key)
    ]


def _text(difference: GoldenDifference, abridged: bool) -> str:
    expected, actual = (_shown(value, abridged) for value in (difference.expected, difference.actual))
    return f"{difference.path}: expected {expected}, got {actual}"


def _shown(value: object, abridged: bool) -> str:
    text = "nothing" if value is None else repr(value)
    return text if not abridged or len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
