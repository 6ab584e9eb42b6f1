# SPDX-License-Identifier: Apache-2.0
"""Latest events of the cluster, numbered, for the stream.

A sandbox adds the Event objects of its store, `steersman run` the decisions of its scheduler.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import chain, islice
from operator import itemgetter
from typing import Final

from steersman.api import EVENT_NORMAL, EVENT_WARNING
from steersman.base import Clock
from steersman.sandbox.web.answers import EventRow
from steersman.scheduler.assembly import AttemptObserver
from steersman.scheduler.cycle import Failed, Scheduled, Unschedulable
from steersman.scheduler.host import FAILED_SCHEDULING, SCHEDULED, assigned_note
from steersman.scheduler.queue import QueuedPodInfo

MAX_KEPT: Final = 500
KUBELET: Final = "kubelet"
SCHEDULER: Final = "scheduler"
"""Component of events about decisions."""
_NUMBER = itemgetter(0)


class EventRows:
    """Latest events; the oldest are dropped. Events of kubelets are stored separately, because
    their number would displace the others."""

    def __init__(self) -> None:
        self._kubelets: deque[tuple[int, EventRow]] = deque(maxlen=MAX_KEPT)
        self._others: deque[tuple[int, EventRow]] = deque(maxlen=MAX_KEPT)
        self._count = 0

    def add(self, row: EventRow) -> None:
        rows = self._kubelets if row.component == KUBELET else self._others
        self._count += 1
        rows.append((self._count, row))

    def recent(self, most: int) -> list[EventRow]:
        """Return the latest events, newest first, with separate limits for kubelets and other
        components."""
        return _newest_first(islice(reversed(self._others), most), islice(reversed(self._kubelets), most))

    def since(self, number: int, most: int) -> tuple[list[EventRow], int]:
        """Return the known events after the given number, oldest first, with a limit per kind, and
        the current number."""
        if number == self._count:
            return [], number
        last = (islice(reversed(rows), most) for rows in (self._others, self._kubelets))
        news = [one for one in chain.from_iterable(last) if one[0] > number]
        return [row for _, row in sorted(news, key=_NUMBER)], self._count

    def about(self, what: str, most: int) -> list[EventRow]:
        """Return the events about one object, newest first."""
        found = ([one for one in reversed(rows) if one[1].about == what] for rows in (self._others, self._kubelets))
        return _newest_first(*found)[:most]


def _newest_first(one: Iterable[tuple[int, EventRow]], other: Iterable[tuple[int, EventRow]]) -> list[EventRow]:
    return [row for _, row in sorted((*one, *other), key=_NUMBER, reverse=True)]


class DecisionEvents(AttemptObserver):
    """Events about a scheduler's attempts, for hosts that do not read Event objects."""

    def __init__(self, rows: EventRows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    def bound(self, decision: Scheduled) -> None:
        self._rows.add(decision_row(self._clock.now(), decision.pod.key, decision.node))

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self._rows.add(decision_row(self._clock.now(), queued.key, message=decision.message))


def decision_row(at: float, pod: str, node: str = "", message: str = "") -> EventRow:
    """Return the event of a decision; without a node the pod could not be scheduled."""
    if node:
        return EventRow(at, EVENT_NORMAL, SCHEDULED, f"Pod {pod}", assigned_note(pod, node), SCHEDULER)
    return EventRow(at, EVENT_WARNING, FAILED_SCHEDULING, f"Pod {pod}", message, SCHEDULER)
