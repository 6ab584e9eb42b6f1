# SPDX-License-Identifier: Apache-2.0
"""The events that a scheduler writes about pods, kept in memory: equal ones are counted, as an API server's clients do."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from steersman.api import EVENT_NORMAL, EVENT_WARNING
from steersman.base import LayeredDict
from steersman.base.graph_copy import copied_attributes, shallow, shared_by_copies
from steersman.scheduler.host import FAILED_SCHEDULING, SCHEDULED, assigned_note


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
        #: Types of events that differ from the type of their reason, and of events of plugins.
        self._types: dict[tuple[str, str, str], str] = {}

    def scheduled(self, pod: str, node: str, now: float) -> None:
        """Add the event of a binding, with the node in place of its message."""
        self._note((pod, SCHEDULED, node), now)

    def write(self, pod: str, type: str, reason: str, message: str, now: float) -> None:
        """Add an event, or count an equal one."""
        if type != _type_of(reason) or reason == SCHEDULED:
            self._types[pod, reason, message] = type
        self._note((pod, reason, message), now)

    def _note(self, what: tuple[str, str, str], now: float) -> None:
        count, first, _ = self._seen.get(what) or (0, now, now)
        self._seen.put(what, (count + 1, first, now))

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[Event]:
        for (pod, reason, detail), (count, first, last) in self._seen.items():
            type = self._types.get((pod, reason, detail))
            is_assignment = type is None and reason == SCHEDULED
            message = assigned_note(pod, detail) if is_assignment else detail
            yield Event(pod, type or _type_of(reason), reason, message, count, first, last)


def _type_of(reason: str) -> str:
    return EVENT_WARNING if reason == FAILED_SCHEDULING else EVENT_NORMAL
