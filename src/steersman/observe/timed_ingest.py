# SPDX-License-Identifier: Apache-2.0
"""The scheduler's event sink with a stopwatch: what taking in each kind of event costs. Stands before `ingest.Ingest`.

A host that wants event_handling_duration_seconds feeds this instead of `scheduler.ingest`.
"""

from __future__ import annotations

from time import perf_counter

from steersman import api
from steersman.assembly import Scheduler
from steersman.observe.handled_events import HandledEvents, labels
from steersman.observe.metrics import Metrics


class TimedIngest:
    """Passes everything on."""

    def __init__(self, scheduler: Scheduler, metrics: Metrics) -> None:
        self._ingest = scheduler.ingest
        self._seconds = metrics.event_seconds
        self._handled = HandledEvents(scheduler)

    def expect(self, kind: type[api.Object], count: int) -> None:
        self._ingest.expect(kind, count)

    def changed(self, obj: api.Object) -> None:
        old, began = self._handled.last_version(obj), perf_counter()
        self._ingest.changed(obj)
        self._observe(old, obj, perf_counter() - began)

    def deleted(self, obj: api.Object) -> None:
        old, began = self._handled.last_version(obj), perf_counter()
        self._ingest.deleted(obj)
        self._observe(old, None, perf_counter() - began)

    def _observe(self, old: api.Object | None, new: api.Object | None, seconds: float) -> None:
        for label in labels(self._handled.between(old, new), old, new):
            self._seconds[(label,)].observe(seconds)
