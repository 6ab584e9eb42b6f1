"""Equal events become one with a count, as client-go counts them. Without I/O; `events` writes what comes out.

The first of its kind is written, the second turns it into a series, further ones are only counted here; the count is written
when the series has ended, and now and then so that the server does not forget a long one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from steersman.api import ObjectReference
from steersman.client.event_types import Event, EventSeries

FINISHED_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0

_Key = tuple[str, str, str, str, ObjectReference, ObjectReference | None]


@dataclass(slots=True)
class _Seen:
    event: Event
    count: int
    #: Monotonic seconds: when the last one was seen, and when the event was last written.
    last: float
    written: float


class EventSeriesBook:
    """The events of the last minutes."""

    def __init__(self) -> None:
        self._seen: dict[_Key, _Seen] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def observe(self, event: Event, monotonic: float) -> Event | None:
        """What is to be written because of the event; None: nothing."""
        key = _key(event)
        seen = self._seen.get(key)
        if seen is None:
            self._seen[key] = _Seen(event, 1, monotonic, monotonic)
            return event
        seen.count += 1
        seen.last = monotonic
        series = EventSeries(count=seen.count, last_observed_time=event.event_time)
        seen.event = msgspec.structs.replace(seen.event, series=series)
        if seen.count > 2:
            return None
        seen.written = monotonic
        return seen.event

    def settle(self, monotonic: float) -> list[Event]:
        """Final counts of series that have ended, which are forgotten, and present ones of series that last."""
        due: list[Event] = []
        for key, seen in list(self._seen.items()):
            ended = monotonic - seen.last >= FINISHED_SECONDS
            if ended:
                del self._seen[key]
            if seen.count > 1 and (ended or monotonic - seen.written >= REFRESH_SECONDS):
                seen.written = monotonic
                due.append(seen.event)
        return due


def _key(event: Event) -> _Key:
    return (
        event.type,
        event.action,
        event.reason,
        event.reporting_controller,
        event.regarding,
        event.related,
    )
