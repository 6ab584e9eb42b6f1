# SPDX-License-Identifier: Apache-2.0
"""The events that a scheduler writes about pods, kept in memory: equal ones are counted, as an API server's clients do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman.graph_copy import copied_attributes, shallow, shared_by_copies
from steersman.layered_dict import LayeredDict

SCHEDULED: Final = "Scheduled"
FAILED_SCHEDULING: Final = "FailedScheduling"
PREEMPTED: Final = "Preempted"
NORMAL: Final = "Normal"
WARNING: Final = "Warning"


@shared_by_copies
class Event(msgspec.Struct, frozen=True):
    """Something that happened to a pod, `count` times between `first` and `last` (seconds since the start)."""

    pod: str
    type: str
    reason: str
    message: str
    count: int
    first: float
    last: float


@copied_attributes(_types=shallow)
class EventLog:
    """Events in the order in which each was first written."""

    def __init__(self) -> None:
        #: Count, first and last time by pod key, reason, and message or (when scheduled) node.
        self._seen: LayeredDict[tuple[str, str, str], tuple[int, float, float]] = LayeredDict()
        #: The types of those that plugins wrote.
        self._types: dict[tuple[str, str, str], str] = {}

    def failed(self, pod: str, message: str, now: float) -> None:
        self._note((pod, FAILED_SCHEDULING, message), now)

    def scheduled(self, pod: str, node: str, now: float) -> None:
        self._note((pod, SCHEDULED, node), now)

    def preempted(self, pod: str, message: str, now: float) -> None:
        self._note((pod, PREEMPTED, message), now)

    def reported(self, pod: str, reason: str, message: str, is_warning: bool, now: float) -> None:
        """Notes an event that a plugin reports in its own words."""
        self._types[pod, reason, message] = WARNING if is_warning else NORMAL
        self._note((pod, reason, message), now)

    def _note(self, what: tuple[str, str, str], now: float) -> None:
        count, first, _ = self._seen.get(what) or (0, now, now)
        self._seen.put(what, (count + 1, first, now))

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[Event]:
        for (pod, reason, detail), (count, first, last) in self._seen.items():
            told = self._types.get((pod, reason, detail))
            is_assignment = told is None and reason == SCHEDULED
            message = f"Successfully assigned {pod} to {detail}" if is_assignment else detail
            kind = told or (WARNING if reason == FAILED_SCHEDULING else NORMAL)
            yield Event(pod, kind, reason, message, count, first, last)
