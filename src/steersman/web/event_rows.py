# SPDX-License-Identifier: Apache-2.0
"""The last events of the cluster, numbered, for the stream.

Hosts fill it: a sandbox from the Event objects of its store, `steersman run` from what its scheduler decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import chain, islice
from operator import itemgetter
from typing import Final

from steersman.assembly import AttemptObserver
from steersman.clock import Clock
from steersman.cycle.decision import Failed, Scheduled, Unschedulable
from steersman.queue import QueuedPodInfo
from steersman.web.answers import EventRow

MOST_KEPT: Final = 500
KUBELET: Final = "kubelet"
SCHEDULER: Final = "scheduler"
"""The component of events that are made of decisions."""
_NUMBER = itemgetter(0)


class EventRows:
    """The last events; the oldest are forgotten. Kubelets report several about every pod: theirs are kept apart, so that they
    do not crowd out the others."""

    def __init__(self) -> None:
        self._kubelets: deque[tuple[int, EventRow]] = deque(maxlen=MOST_KEPT)
        self._others: deque[tuple[int, EventRow]] = deque(maxlen=MOST_KEPT)
        self._count = 0

    def add(self, row: EventRow) -> None:
        rows = self._kubelets if row.component == KUBELET else self._others
        self._count += 1
        rows.append((self._count, row))

    def recent(self, most: int) -> list[EventRow]:
        """Newest first: of kubelets so many at most, and so many of the others."""
        return _newest_first(islice(reversed(self._others), most), islice(reversed(self._kubelets), most))

    def since(self, number: int, most: int) -> tuple[list[EventRow], int]:
        """The events after so many, oldest first, as far as they are known, each sort at most so many; and how many there
        have been now."""
        if number == self._count:
            return [], number
        last = (islice(reversed(rows), most) for rows in (self._others, self._kubelets))
        news = [one for one in chain.from_iterable(last) if one[0] > number]
        return [row for _, row in sorted(news, key=_NUMBER)], self._count

    def about(self, what: str, most: int) -> list[EventRow]:
        """The events about one object, newest first."""
        found = ([one for one in reversed(rows) if one[1].about == what] for rows in (self._others, self._kubelets))
        return _newest_first(*found)[:most]


def _newest_first(one: Iterable[tuple[int, EventRow]], other: Iterable[tuple[int, EventRow]]) -> list[EventRow]:
    return [row for _, row in sorted((*one, *other), key=_NUMBER, reverse=True)]


class DecisionEvents(AttemptObserver):
    """The events that a scheduler reports about its attempts, for hosts that do not read Event objects."""

    def __init__(self, rows: EventRows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    def bound(self, decision: Scheduled) -> None:
        note = f"Successfully assigned {decision.pod.key} to {decision.node}"
        self._rows.add(EventRow(self._clock.now(), "Normal", "Scheduled", f"Pod {decision.pod.key}", note, SCHEDULER))

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        now, about = self._clock.now(), f"Pod {queued.key}"
        self._rows.add(EventRow(now, "Warning", "FailedScheduling", about, decision.message, SCHEDULER))
