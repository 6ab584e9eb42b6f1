# SPDX-License-Identifier: Apache-2.0
"""Which event handlers of kube-scheduler a change of an object would call, for the log's lines; and how long they take.

The binding of a pod, for instance, is one change and two events: a scheduled pod is added, an unscheduled one is deleted. A
host that wants event_handling_duration_seconds feeds a `TimedIngest` instead of `scheduler.ingest`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Final

from steersman import api
from steersman.assembly import Scheduler
from steersman.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE,
    NODE_ADD,
    NODE_DELETE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    UNSCHEDULED_POD_UPDATE,
    ActionType,
    ClusterEvent,
    EventResource,
    node_update_events,
    pod_update_events,
)
from steersman.framework.extender import EXTENDER_PLUGIN
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.framework.watching import event_resource
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.observe.metrics import Metrics
from steersman.queue import hint_rows

#: For the log: metrics tell by labels what has changed.
NODE_UPDATE: Final = ClusterEvent(EventResource.NODE, ActionType.UPDATE)
_BOUND: Final = (ASSIGNED_POD_ADD,)
#: A pod of ours that got its node, which every pod does once.
_OWN_BOUND: Final = (ASSIGNED_POD_ADD, UNSCHEDULED_POD_DELETE)
_POD_UPDATES: Final = (ASSIGNED_POD_UPDATE, UNSCHEDULED_POD_UPDATE)


class HandledEvents:
    """Names the cluster events that a watched change is to one scheduler. Asked before the change is taken in, while the
    scheduler still has the object's last version."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._registered = _registered(scheduler)

    def last_version(self, obj: api.Object) -> api.Object | None:
        """The object as the scheduler knows it; None when it does not."""
        scheduler = self._scheduler
        if isinstance(obj, api.Pod):
            return scheduler.pods.get(api.key(obj))
        if isinstance(obj, api.Node):
            row = scheduler.cache.nodes.row_of(obj.metadata.name)
            return None if row is None else scheduler.cache.nodes.node(row)
        return scheduler.objects.get(type(obj), api.key(obj))

    def between(self, old: api.Object | None, new: api.Object | None) -> tuple[ClusterEvent, ...]:
        """One event per handler that the change from old to new calls; None stands for an object that is not there."""
        if isinstance(old, api.Pod) or isinstance(new, api.Pod):
            return self._pod_events(_unfinished(old), _unfinished(new))
        if isinstance(old, api.Node) or isinstance(new, api.Node):
            return (NODE_ADD if old is None else NODE_DELETE if new is None else NODE_UPDATE,)
        return self._other_events(old, new)

    def _pod_events(self, old: api.Pod | None, new: api.Pod | None) -> tuple[ClusterEvent, ...]:
        if old is None:
            return () if new is None else self._of_one_pod(new, ASSIGNED_POD_ADD, UNSCHEDULED_POD_ADD)
        if new is None:
            return self._of_one_pod(old, ASSIGNED_POD_DELETE, UNSCHEDULED_POD_DELETE)
        if old.metadata.uid != new.metadata.uid:
            return (*self._pod_events(old, None), *self._pod_events(None, new))
        if old.metadata.resource_version == new.metadata.resource_version and new.metadata.resource_version:
            return ()
        if new.spec.node_name and not old.spec.node_name:
            return _OWN_BOUND if self._is_ours(old) else _BOUND
        return self._of_one_pod(old, ASSIGNED_POD_UPDATE, UNSCHEDULED_POD_UPDATE)

    def _of_one_pod(self, pod: api.Pod, assigned: ClusterEvent, pending: ClusterEvent) -> tuple[ClusterEvent, ...]:
        if pod.spec.node_name:
            return (assigned,)
        return (pending,) if self._is_ours(pod) else ()

    def _other_events(self, old: api.Object | None, new: api.Object | None) -> tuple[ClusterEvent, ...]:
        obj = new if new is not None else old
        if obj is None:
            return ()
        action = ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.UPDATE
        resource = event_resource(type(obj))
        return (ClusterEvent(resource, action),) if self._registered.get(resource, 0) & action else ()

    def _is_ours(self, pod: api.Pod) -> bool:
        return (pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME) in self._scheduler.profiles


def labels(events: Iterable[ClusterEvent], old: api.Object | None, new: api.Object | None) -> Iterator[str]:
    """How kube-scheduler labels the handling of these events. An update is named by everything that it changes; of a scheduled
    pod it is counted as an update besides, even where that is all that can be said of it."""
    if isinstance(old, api.Node) and isinstance(new, api.Node):
        yield from (change.label for change in node_update_events(old, new))
        return
    for event in events:
        yield event.label
        if event in _POD_UPDATES and isinstance(old, api.Pod) and isinstance(new, api.Pod):
            changes = [change.label for change in pod_update_events(old, new)]
            yield from (label for label in changes if event is ASSIGNED_POD_UPDATE or label != event.label)


def _unfinished(obj: api.Object | None) -> api.Pod | None:
    """The pod; None when it has ended, because to a watcher of the API server it is gone then."""
    return obj if isinstance(obj, api.Pod) and obj.status.phase not in FINISHED_PHASES else None


def _registered(scheduler: Scheduler) -> dict[str, ActionType]:
    """The actions that plugins and extenders want to hear of, by resource."""
    wanted: dict[str, ActionType] = {}
    rows = [row for profile in scheduler.profiles.values() for row in profile.hints]
    if scheduler.options.extenders:
        rows += hint_rows(EXTENDER_PLUGIN, None)
    for _, row in rows:
        wanted[row.event.resource] = wanted.get(row.event.resource, ActionType.NONE) | row.event.action
    return wanted


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
        events = self._handled.between(old, new)
        if events is _OWN_BOUND:  # neither is an update: their labels say all
            for event in events:
                self._seconds[(event.label,)].observe(seconds)
            return
        for label in labels(events, old, new):
            self._seconds[(label,)].observe(seconds)
