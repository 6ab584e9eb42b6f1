# SPDX-License-Identifier: Apache-2.0
"""Equal events become one with a count, as client-go counts them. Without I/O; `events` writes what comes out.

The first of its kind is written, the second turns it into a series, further ones are only counted here; the count is written
when the series has ended, and now and then so that the server does not forget a long one. Of events that came once, which
most do, only the latest are remembered: what comes again after them is written as if it were new.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import msgspec

from steersman.api import ObjectReference
from steersman.client.event_types import Event, EventSeries

FINISHED_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0
MOST_SINGLE: Final = 4096
"""As client-go remembers of the events of the old kind."""

_Key = tuple[str, str, str, str, str, str, str, str, str, ObjectReference | None]


@dataclass(slots=True)
class _Seen:
    event: Event
    count: int
    #: Monotonic seconds: when the last one was seen, and when the event was last written.
    last: float
    written: float

    def add(self, event: Event, monotonic: float) -> None:
        self.count += 1
        self.last = monotonic
        series = EventSeries(count=self.count, last_observed_time=event.event_time)
        self.event = msgspec.structs.replace(self.event, series=series)

    def has_ended(self, monotonic: float) -> bool:
        return monotonic - self.last >= FINISHED_SECONDS


class EventSeriesBook:
    """The events of the last minutes."""

    def __init__(self) -> None:
        #: What came once, oldest first.
        self._single: OrderedDict[_Key, _Seen] = OrderedDict()
        #: What came again.
        self._series: dict[_Key, _Seen] = {}

    def __len__(self) -> int:
        return len(self._single) + len(self._series)

    def observe(self, event: Event, monotonic: float) -> Event | None:
        """What is to be written because of the event; None: nothing."""
        key = _key(event)
        seen = self._series.get(key)
        if seen is not None:
            seen.add(event, monotonic)
            return None
        seen = self._single.pop(key, None)
        if seen is None:
            self._remember(key, _Seen(event, 1, monotonic, monotonic))
            return event
        self._series[key] = seen
        seen.add(event, monotonic)
        seen.written = monotonic
        return seen.event

    def settle(self, monotonic: float) -> list[Event]:
        """Final counts of series that have ended, which are forgotten, and present ones of series that last."""
        while self._single and next(iter(self._single.values())).has_ended(monotonic):
            self._single.popitem(last=False)
        due: list[Event] = []
        for key, seen in list(self._series.items()):
            ended = seen.has_ended(monotonic)
            if ended:
                del self._series[key]
            if ended or monotonic - seen.written >= REFRESH_SECONDS:
                seen.written = monotonic
                due.append(seen.event)
        return due

    def _remember(self, key: _Key, seen: _Seen) -> None:
        self._single[key] = seen
        if len(self._single) > MOST_SINGLE:
            self._single.popitem(last=False)


def _key(event: Event) -> _Key:
    """Strings, which know their hashes: this is asked for every event."""
    regarding = event.regarding
    return (
        event.type,
        event.action,
        event.reason,
        event.reporting_controller,
        regarding.kind,
        regarding.namespace,
        regarding.name,
        regarding.uid,
        regarding.resource_version,
        event.related,
    )
