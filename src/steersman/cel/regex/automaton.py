"""Matches by following all ways through a pattern at once, which takes time linear in the text whatever the pattern.

The tree becomes a program of a few kinds of steps. A list of threads, ordered by preference, walks over the text; of
two threads at the same step only the preferred one lives on. This finds what backtracking would find.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from typing import NamedTuple

from steersman.cel.regex.tree import Assertion, Characters, Choice, Place, Repeat, Sequence, Tree


class _Kind(enum.Enum):
    CHARACTERS = enum.auto()
    ASSERTION = enum.auto()
    SPLIT = enum.auto()
    JUMP = enum.auto()
    MATCH = enum.auto()


class _Step(NamedTuple):
    kind: _Kind
    characters: Characters | None = None
    place: Place | None = None
    #: Where to go on, the preferred way first.
    targets: tuple[int, ...] = ()


class Automaton:
    """A pattern as a program."""

    def __init__(self, tree: Tree) -> None:
        self._steps: list[_Step] = []
        self._compile(tree)
        self._steps.append(_Step(_Kind.MATCH))

    def search(self, text: str, start: int) -> tuple[int, int] | None:
        """The first match at or behind a position."""
        threads: list[tuple[int, int]] = []
        found: tuple[int, int] | None = None
        for position in range(start, len(text) + 1):
            if found is None:
                threads = [*threads, (0, position)]
            elif not threads:
                break
            arrived, match = self._arrived(threads, text, position)
            if match is not None:
                found = (match, position)
            threads = self._advanced(arrived, text, position)
        return found

    def _arrived(
        self, threads: list[tuple[int, int]], text: str, position: int
    ) -> tuple[list[tuple[int, int]], int | None]:
        """Threads that wait for a character, and the start of the match that cuts off those it is preferred to."""
        seen: set[int] = set()
        waiting: list[tuple[int, int]] = []
        for first, begin in threads:
            pending = [first]
            while pending:
                at = pending.pop()
                if at in seen:
                    continue
                seen.add(at)
                step = self._steps[at]
                if step.kind is _Kind.MATCH:
                    return waiting, begin
                if step.kind is _Kind.CHARACTERS:
                    waiting.append((at, begin))
                elif step.place is None or _holds(step.place, text, position):
                    pending.extend(reversed(step.targets))
        return waiting, None

    def _advanced(self, waiting: list[tuple[int, int]], text: str, position: int) -> list[tuple[int, int]]:
        if position == len(text):
            return []
        char = text[position]
        return [(at + 1, begin) for at, begin in waiting if _accepts(self._steps[at].characters, char)]

    def _compile(self, tree: Tree) -> None:
        match tree:
            case Characters():
                self._steps.append(_Step(_Kind.CHARACTERS, characters=tree))
            case Assertion():
                here = len(self._steps)
                self._steps.append(_Step(_Kind.ASSERTION, place=tree.place, targets=(here + 1,)))
            case Sequence():
                for part in tree.parts:
                    self._compile(part)
            case Choice():
                self._compile_choice(tree.options)
            case Repeat():
                self._compile_repeat(tree)

    def _compile_choice(self, options: tuple[Tree, ...]) -> None:
        ends: list[int] = []
        for option in options[:-1]:
            split = self._reserve()
            self._compile(option)
            ends.append(self._reserve())
            self._steps[split] = _Step(_Kind.SPLIT, targets=(split + 1, len(self._steps)))
        self._compile(options[-1])
        for end in ends:
            self._steps[end] = _Step(_Kind.JUMP, targets=(len(self._steps),))

    def _compile_repeat(self, tree: Repeat) -> None:
        for _ in range(tree.least):
            self._compile(tree.body)
        if tree.most is None:
            split = self._reserve()
            self._compile(tree.body)
            self._steps.append(_Step(_Kind.JUMP, targets=(split,)))
            self._set_split(split, tree.greedy)
            return
        splits = []
        for _ in range(tree.most - tree.least):
            splits.append(self._reserve())
            self._compile(tree.body)
        for split in splits:
            self._set_split(split, tree.greedy)

    def _reserve(self) -> int:
        self._steps.append(_Step(_Kind.JUMP))
        return len(self._steps) - 1

    def _set_split(self, split: int, greedy: bool) -> None:
        into, past = split + 1, len(self._steps)
        self._steps[split] = _Step(_Kind.SPLIT, targets=(into, past) if greedy else (past, into))


def _accepts(characters: Characters | None, char: str) -> bool:
    assert characters is not None
    if not characters.fold:
        return _contains(characters, ord(char))
    variants = {char, char.lower(), char.upper()}
    return any(len(variant) == 1 and _contains(characters, ord(variant)) for variant in variants)


def _contains(characters: Characters, code: int) -> bool:
    ranges = characters.ranges
    at = bisect_right(ranges, code, key=lambda bounds: bounds[0]) - 1
    return at >= 0 and code <= ranges[at][1]


def _holds(place: Place, text: str, position: int) -> bool:
    match place:
        case Place.TEXT_START:
            return position == 0
        case Place.TEXT_END:
            return position == len(text)
        case Place.LINE_START:
            return position == 0 or text[position - 1] == "\n"
        case Place.LINE_END:
            return position == len(text) or text[position] == "\n"
    boundary = _is_word(text, position - 1) != _is_word(text, position)
    return boundary == (place is Place.WORD_BOUNDARY)


def _is_word(text: str, position: int) -> bool:
    if not 0 <= position < len(text):
        return False
    char = text[position]
    return char == "_" or (char.isascii() and char.isalnum())
