# SPDX-License-Identifier: Apache-2.0
"""Completion indexes of Indexed Jobs: of pods, and sets of them in the Job status (`0,2-5`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from steersman.api import Pod

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""Name of an annotation and a label."""
_MAX_INDEX: Final = 10


def completion_index(pod: Pod, completions: int) -> int | None:
    """Return the pod's index; None if missing or out of range."""
    text = pod.metadata.annotations.get(COMPLETION_INDEX, "")
    if not text.isdecimal() or len(text) > _MAX_INDEX:
        return None
    index = int(text)
    return index if index < completions else None


def parsed_indexes(text: str | None, completions: int) -> set[int]:
    """Parse indexes below `completions` from a text such as `1,3-5`; invalid parts are skipped."""
    result = set[int]()
    for part in (text or "").split(","):
        first, dash, last = part.partition("-")
        if first.isdecimal() and (not dash or last.isdecimal()):
            result.update(range(int(first), min(int(last if dash else first) + 1, completions)))
    return result


def rendered_indexes(indexes: Iterable[int]) -> str:
    """Format indexes: `0,1` for two neighbours, `0-2` for more."""
    return ",".join(_interval(first, last) for first, last in _intervals(indexes))


def first_pending(taken: set[int], completions: int, count: int) -> list[int]:
    """Return the first `count` free indexes."""
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
