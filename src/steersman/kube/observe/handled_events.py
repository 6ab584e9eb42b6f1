# SPDX-License-Identifier: Apache-2.0
"""The kube-scheduler event handlers that a change would call, for log lines and durations.

Binding a pod, for example, is one change and two events: a scheduled pod is added, an unscheduled
one deleted. A host uses `TimedIngest` for event_handling_duration_seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Final

from steersman import api
from steersman.config import Rule
from steersman.framework import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE,
    EXTENDER_PLUGIN,
    NODE_ADD,
    NODE_DELETE,
    ActionType,
    ClusterEvent,
    EventResource,
    change_event,
    node_update_events,
)
from steersman.kube.observe.metrics import Metrics
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.queue import hint_rows

#: For the log; metrics have labels for what has changed.
NODE_UPDATE: Final = ClusterEvent(EventResource.NODE, ActionType.UPDATE)
_BOUND: Final = (ASSIGNED_POD_ADD,)


class HandledEvents:
    """Maps a watched change to cluster events of one scheduler. Call it before the change is
    ingested, while the scheduler still has the old version."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._registered = _registered(scheduler)
        self._events = scheduler.queue.pod_events
        #: Events of an own pod that was bound; once in the life of every pod.
        self.bound_events = (ASSIGNED_POD_ADD, self._events.unscheduled_delete)

    def last_version(self, obj: api.Object) -> api.Object | None:
        """Return the scheduler's version of the object; None if unknown."""
        scheduler = self._scheduler
        if isinstance(obj, api.Pod):
            return scheduler.pods.get(api.key(obj))
        if isinstance(obj, api.Node):
            row = scheduler.cache.nodes.row_of(obj.metadata.name)
            return None if row is None else scheduler.cache.nodes.node(row)
        return scheduler.objects.get(type(obj), api.key(obj))

    def between(self, old: api.Object | None, new: api.Object | None) -> tuple[ClusterEvent, ...]:
        """Return one event per handler that the change calls; None is a missing object."""
        if isinstance(old, api.Pod) or isinstance(new, api.Pod):
            return self._pod_events(_unfinished(old), _unfinished(new))
        if isinstance(old, api.Node) or isinstance(new, api.Node):
            return (NODE_ADD if old is None else NODE_DELETE if new is None else NODE_UPDATE,)
        return self._other_events(old, new)

    def _pod_events(self, old: api.Pod | None, new: api.Pod | None) -> tuple[ClusterEvent, ...]:
        if old is None:
            return () if new is None else self._events_of_pod(new, ASSIGNED_POD_ADD, self._events.unscheduled_add)
        if new is None:
            return self._events_of_pod(old, ASSIGNED_POD_DELETE, self._events.unscheduled_delete)
        if old.metadata.uid != new.metadata.uid:
            return (*self._pod_events(old, None), *self._pod_events(None, new))
        if old.metadata.resource_version == new.metadata.resource_version and new.metadata.resource_version:
            return ()
        if new.spec.node_name and not old.spec.node_name:
            return self.bound_events if self._is_ours(old) else _BOUND
        return self._events_of_pod(old, ASSIGNED_POD_UPDATE, self._events.unscheduled_update)

    def _events_of_pod(self, pod: api.Pod, assigned: ClusterEvent, pending: ClusterEvent) -> tuple[ClusterEvent, ...]:
        if pod.spec.node_name:
            return (assigned,)
        return (pending,) if self._is_ours(pod) else ()

    def _other_events(self, old: api.Object | None, new: api.Object | None) -> tuple[ClusterEvent, ...]:
        obj = new if new is not None else old
        if obj is None:
            return ()
        action = ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.UPDATE
        event = change_event(type(obj), action)
        return (event,) if self._registered.get(event.resource, 0) & event.action else ()

    def labels(self, events: Iterable[ClusterEvent], old: api.Object | None, new: api.Object | None) -> Iterator[str]:
        """Yield kube-scheduler's labels of these events: one per change, and for scheduled pods
        also the general update."""
        if isinstance(old, api.Node) and isinstance(new, api.Node):
            yield from (change.label for change in node_update_events(old, new))
            return
        for event in events:
            yield event.label
            is_update = event in (ASSIGNED_POD_UPDATE, self._events.unscheduled_update)
            if is_update and isinstance(old, api.Pod) and isinstance(new, api.Pod):
                changes = [change.label for change in self._events.of_update(old, new)]
                yield from (label for label in changes if event is ASSIGNED_POD_UPDATE or label != event.label)

    def _is_ours(self, pod: api.Pod) -> bool:
        return pod.scheduler_name in self._scheduler.profiles


def _unfinished(obj: api.Object | None) -> api.Pod | None:
    """Return the pod; None if it has finished, which a watch shows as deleted."""
    return obj if isinstance(obj, api.Pod) and obj.status.phase not in api.FINISHED_PHASES else None


def _registered(scheduler: Scheduler) -> dict[str, ActionType]:
    """Return the actions for which plugins and extenders are registered, by resource."""
    wanted: dict[str, ActionType] = {}
    rows = [row for profile in scheduler.profiles.values() for row in profile.hints]
    if scheduler.options.extenders:
        rows += hint_rows(EXTENDER_PLUGIN, None, scheduler.options.gates.has_rule(Rule.TAINT_UPDATES_OF_NEW_NODES))
    for _, row in rows:
        wanted[row.event.resource] = wanted.get(row.event.resource, ActionType.NONE) | row.event.action
    return wanted


class TimedIngest:
    """Passes events to the scheduler's ingest and measures their duration."""

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
        if events is self._handled.bound_events:  # no updates: one label per event
            for event in events:
                self._seconds[(event.label,)].observe(seconds)
            return
        for label in self._handled.labels(events, old, new):
            self._seconds[(label,)].observe(seconds)
