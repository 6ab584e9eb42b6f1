"""The scheduler's writer of the embedded cluster that also stores events, as the client of an API server sends them.

Implements `assembly.ApiWriter`. A simulation keeps its events aside; here they cost what they cost in a cluster: an object
of events.k8s.io/v1 per binding, equal ones counted as series.
"""

from __future__ import annotations

from itertools import count
from typing import Final

import msgspec

from steersman import api
from steersman.api import timestamps
from steersman.assembly import Failure
from steersman.client.event_series import EventSeriesBook
from steersman.client.event_types import Event
from steersman.clock import Clock
from steersman.embedded import Store
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME, PodInfo
from steersman.sim import EmbeddedWriter

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
SETTLE_SECONDS: Final = 60.0


class StoreWriter(EmbeddedWriter):
    """Writes at once."""

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._series = EventSeriesBook()
        self._numbers = count(1)

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._write(pod.pod, pod.scheduler_name, NORMAL, "Scheduled", "Binding", note)

    def report_failure(self, failure: Failure) -> None:
        pod, nomination = failure.pod, failure.nomination
        self._write(pod, _scheduler_of(pod), WARNING, "FailedScheduling", "Scheduling", failure.message)
        condition = api.Condition(type="PodScheduled", status="False", reason=failure.reason, message=failure.message)
        self._patch(pod, condition, None if nomination is None else nomination.node)

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        self._write(victim, _scheduler_of(preemptor), NORMAL, "Preempted", "Preempting", message)

    def settle(self) -> None:
        """Stores the counts of series that have ended; to be called every `SETTLE_SECONDS`."""
        for event in self._series.settle(self._clock.monotonic()):
            self._store_event(event)

    def _write(
        self,
        regarding: api.Pod,
        controller: str,
        type: str,
        reason: str,
        action: str,
        note: str,
    ) -> None:
        meta = regarding.metadata
        event = Event(
            metadata=api.ObjectMeta(name=f"{meta.name}.{next(self._numbers):x}", namespace=meta.namespace),
            event_time=timestamps.render_micro(self._clock.now()),
            reporting_controller=controller,
            reporting_instance=controller,
            action=action,
            reason=reason,
            regarding=_reference(regarding),
            note=note,
            type=type,
        )
        due = self._series.observe(event, self._clock.monotonic())
        if due is not None:
            self._store_event(due)

    def _store_event(self, event: Event) -> None:
        """A series belongs to an event that was stored before, unless that is gone."""
        stored = None if event.series is None else self._store.find(Event, api.key(event))
        if stored is None:
            self._store.create(event)
        else:
            self._store.rewrite(stored, msgspec.structs.replace(stored, series=event.series))


def _scheduler_of(pod: api.Pod) -> str:
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME


def _reference(pod: api.Pod) -> api.ObjectReference:
    meta = pod.metadata
    return api.ObjectReference(
        kind=pod.KIND, namespace=meta.namespace, name=meta.name, uid=meta.uid, api_version=pod.API_VERSION
    )
