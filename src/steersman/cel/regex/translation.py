"""A parsed pattern for Python's `re`, and how many ways `re` might have to try."""

from __future__ import annotations

from typing import Final

from steersman.cel.regex.tree import Assertion, Characters, Choice, Place, Repeat, Sequence, Tree

_PLACES: Final = {
    Place.TEXT_START: r"\A",
    Place.TEXT_END: r"\Z",
    Place.LINE_START: r"(?m:^)",
    Place.LINE_END: r"(?=\n|\Z)",
    Place.WORD_BOUNDARY: r"(?a:\b)",
    # In an empty text Python finds no place that is no boundary; upstream does.
    Place.NO_WORD_BOUNDARY: r"(?:(?a:\B)|\A\Z)",
}
_UNBOUNDED: Final = 2**62
"""So many ways that no text is short enough."""


def to_python(tree: Tree) -> str:
    """The pattern for `re`."""
    match tree:
        case Characters():
            return _characters(tree)
        case Assertion():
            return _PLACES[tree.place]
        case Sequence():
            return "".join(to_python(part) for part in tree.parts)
        case Choice():
            return "(?:" + "|".join(to_python(option) for option in tree.options) + ")"
        case Repeat():
            most = "" if tree.most is None else str(tree.most)
            return f"(?:{to_python(tree.body)}){{{tree.least},{most}}}{'' if tree.greedy else '?'}"


def _characters(tree: Characters) -> str:
    if not tree.ranges:
        return r"(?!)"
    body = "".join(_range(low, high) for low, high in tree.ranges)
    return f"(?i:[{body}])" if tree.fold else f"[{body}]"


def _range(low: int, high: int) -> str:
    return _escaped(low) if low == high else f"{_escaped(low)}-{_escaped(high)}"


def _escaped(code: int) -> str:
    return f"\\U{code:08x}"


def most_ways(tree: Tree, length: int) -> int:
    """An upper bound of the ways to match a text of this length from one position."""
    match tree:
        case Sequence():
            ways = 1
            for part in tree.parts:
                ways *= most_ways(part, length)
            return ways
        case Choice():
            return sum(most_ways(option, length) for option in tree.options)
        case Repeat():
            inner = most_ways(tree.body, length)
            times = length + 1 if tree.most is None else min(length + 1, tree.most - tree.least + 1)
            if inner == 1:
                return times
            repeats = tree.most if tree.most is not None and tree.most <= 16 else None
            return _UNBOUNDED if repeats is None else min(_UNBOUNDED, times * inner**repeats)
    return 1
