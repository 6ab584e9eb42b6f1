# SPDX-License-Identifier: Apache-2.0
"""The last events of the cluster, numbered, for the stream.

Hosts fill it: a sandbox from the Event objects of its store, `steersman run` from what its scheduler decides.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from steersman.assembly import AttemptObserver
from steersman.clock import Clock
from steersman.cycle.decision import Failed, Scheduled, Unschedulable
from steersman.queue import QueuedPodInfo
from steersman.web.answers import EventRow

MOST_KEPT: Final = 500


class EventRows:
    """The last events; the oldest are forgotten."""

    def __init__(self) -> None:
        self._rows: deque[EventRow] = deque(maxlen=MOST_KEPT)
        self._count = 0

    def add(self, row: EventRow) -> None:
        self._rows.append(row)
        self._count += 1

    def recent(self, most: int) -> list[EventRow]:
        """Newest first."""
        return list(islice(reversed(self._rows), most))

    def since(self, number: int) -> tuple[list[EventRow], int]:
        """The events after so many, oldest first, as far as they are known; and how many there have been now."""
        missing = min(self._count - number, len(self._rows))
        return (self.recent(missing)[::-1] if missing else []), self._count

    def about(self, what: str, most: int) -> list[EventRow]:
        """Those about one object, newest first."""
        return list(islice((row for row in reversed(self._rows) if row.about == what), most))


class DecisionEvents(AttemptObserver):
    """The events that a scheduler reports about its attempts, for hosts that do not read Event objects."""

    def __init__(self, rows: EventRows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    def bound(self, decision: Scheduled) -> None:
        note = f"Successfully assigned {decision.pod.key} to {decision.node}"
        self._rows.add(EventRow(self._clock.now(), "Normal", "Scheduled", f"Pod {decision.pod.key}", note))

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        now, about = self._clock.now(), f"Pod {queued.key}"
        self._rows.add(EventRow(now, "Warning", "FailedScheduling", about, decision.message))
