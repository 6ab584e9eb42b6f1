"""What a regular expression is made of, once parsed."""

from __future__ import annotations

import enum
from dataclasses import dataclass

Ranges = tuple[tuple[int, int], ...]
"""Code points from … to, both included; sorted and apart from each other."""

LAST_CODE_POINT = 0x10FFFF


class Place(enum.Enum):
    """Conditions on a position that consume nothing."""

    TEXT_START = enum.auto()
    TEXT_END = enum.auto()
    LINE_START = enum.auto()
    LINE_END = enum.auto()
    WORD_BOUNDARY = enum.auto()
    NO_WORD_BOUNDARY = enum.auto()


@dataclass(frozen=True, slots=True)
class Characters:
    """One character out of a set."""

    ranges: Ranges
    #: Upper and lower case are the same.
    fold: bool = False


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition on the position."""

    place: Place


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first that leads to a match."""

    options: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same again and again."""

    body: Tree
    least: int
    #: None is without limit.
    most: int | None
    greedy: bool


Tree = Characters | Assertion | Sequence | Choice | Repeat


def merged(ranges: list[tuple[int, int]]) -> Ranges:
    """The same set, sorted and without overlaps."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def complement(ranges: Ranges) -> Ranges:
    """Every other code point."""
    result: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            result.append((start, low - 1))
        start = high + 1
    if start <= LAST_CODE_POINT:
        result.append((start, LAST_CODE_POINT))
    return tuple(result)
