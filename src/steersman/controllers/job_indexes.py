# SPDX-License-Identifier: Apache-2.0
"""Completion indexes of Indexed jobs: which pod has which, and sets of them as a job's status writes them (`0,2-5`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from steersman.api import Pod

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""An annotation and a label."""
_LONGEST_INDEX: Final = 10


def completion_index(pod: Pod, completions: int) -> int | None:
    """The pod's index; None without one, and for one that the job does not have."""
    text = pod.metadata.annotations.get(COMPLETION_INDEX, "")
    if not text.isdecimal() or len(text) > _LONGEST_INDEX:
        return None
    index = int(text)
    return index if index < completions else None


def parsed_indexes(text: str | None, completions: int) -> set[int]:
    """The indexes below `completions` in a text such as `1,3-5`; what is no index is passed over."""
    result = set[int]()
    for part in (text or "").split(","):
        first, dash, last = part.partition("-")
        if first.isdecimal() and (not dash or last.isdecimal()):
            result.update(range(int(first), min(int(last if dash else first) + 1, completions)))
    return result


def rendered_indexes(indexes: Iterable[int]) -> str:
    """`0,1` for two neighbours, `0-2` for more."""
    return ",".join(_interval(first, last) for first, last in _intervals(indexes))


def first_pending(taken: set[int], completions: int, count: int) -> list[int]:
    """The first so many indexes that are not taken."""
    result = list[int]()
    for index in range(completions):
        if len(result) == count:
            break
        if index not in taken:
            result.append(index)
    return result


def _intervals(indexes: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = -2
    for index in sorted(indexes):
        if index != last + 1:
            if first >= 0:
                yield first, last
            first = index
        last = index
    if first >= 0:
        yield first, last


def _interval(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
