# SPDX-License-Identifier: Apache-2.0
"""The scheduler's event sink with a stopwatch: what taking in each kind of event costs. Stands before `ingest.Ingest`.

A host that wants event_handling_duration_seconds feeds this instead of `scheduler.ingest`.
"""

from __future__ import annotations

from time import perf_counter

from steersman import api
from steersman.assembly import Scheduler
from steersman.framework.events import ActionType, ClusterEvent, EventResource
from steersman.ingest import event_resource
from steersman.observe.metrics import Metrics


class TimedIngest:
    """Passes everything on."""

    def __init__(self, scheduler: Scheduler, metrics: Metrics) -> None:
        self._scheduler = scheduler
        self._ingest = scheduler.ingest
        self._seconds = metrics.event_seconds
        self._labels: dict[tuple[str, ActionType], str] = {}

    def expect(self, kind: type[api.Object], count: int) -> None:
        self._ingest.expect(kind, count)

    def changed(self, obj: api.Object) -> None:
        began = perf_counter()
        action = ActionType.UPDATE if self._is_known(obj) else ActionType.ADD
        self._ingest.changed(obj)
        self._observe(obj, action, began)

    def deleted(self, obj: api.Object) -> None:
        began = perf_counter()
        self._ingest.deleted(obj)
        self._observe(obj, ActionType.DELETE, began)

    def _is_known(self, obj: api.Object) -> bool:
        scheduler = self._scheduler
        if isinstance(obj, api.Pod):
            return api.key(obj) in scheduler.pods
        if isinstance(obj, api.Node):
            return scheduler.cache.nodes.row_of(obj.metadata.name) is not None
        return scheduler.objects.get(type(obj), api.key(obj)) is not None

    def _observe(self, obj: api.Object, action: ActionType, began: float) -> None:
        key = _resource(obj), action
        label = self._labels.get(key)
        if label is None:
            label = self._labels[key] = ClusterEvent(*key).label
        self._seconds[(label,)].observe(perf_counter() - began)


def _resource(obj: api.Object) -> str:
    if isinstance(obj, api.Pod):
        return EventResource.ASSIGNED_POD if obj.spec.node_name else EventResource.UNSCHEDULABLE_POD
    return event_resource(type(obj))
