# SPDX-License-Identifier: Apache-2.0
"""Watched kinds, their names in events, and the sink of changes; shared by the client of real API
servers and the embedded cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol

from steersman import api
from steersman.framework.events import ActionType, ClusterEvent, EventResource

WATCHED_KINDS: Final[tuple[type[api.Object], ...]] = (
    api.Namespace,
    api.Node,
    api.Service,
    api.ReplicationController,
    api.ReplicaSet,
    api.StatefulSet,
    api.PodDisruptionBudget,
    api.StorageClass,
    api.PersistentVolume,
    api.PersistentVolumeClaim,
    api.CSINode,
    api.CSIDriver,
    api.CSIStorageCapacity,
    api.VolumeAttachment,
    api.DeviceClass,
    api.ResourceSlice,
    api.ResourceClaim,
    api.Pod,
)
"""Kinds that the scheduler watches. Pods come last, so that the objects they depend on are known
before."""

GATED_KINDS: Final = (api.DeviceTaintRule, api.PodGroup, api.CompositePodGroup)
"""Kinds that are watched, too, if their feature gate is on
(`runtime.declared_kinds.kinds_by_gates`)."""

_EVENTS_OF_OTHER_KINDS: Final[Mapping[type[api.Object], ClusterEvent]] = {
    api.DeviceTaintRule: ClusterEvent(EventResource.RESOURCE_SLICE, ActionType.UPDATE)
}
"""Kinds whose changes the queue sees as changes of other objects: a rule for taints changes the
devices of slices."""

_ADD_AND_DELETE: Final = (ActionType.ADD, ActionType.DELETE)


def event_resource(kind: type[api.Object]) -> str:
    """Return the resource name in event registrations: the kind, prefixed with its API group unless
    it is core."""
    group, _, _ = kind.API_VERSION.rpartition("/")
    return f"{group}/{kind.KIND}" if group else kind.KIND


def change_event(kind: type[api.Object], action: ActionType) -> ClusterEvent:
    """Return the event for a change of an object that is neither a pod nor a node."""
    return _EVENTS_OF_OTHER_KINDS.get(kind) or ClusterEvent(event_resource(kind), action)


def events_of(kinds: Iterable[type[api.Object]]) -> Iterator[ClusterEvent]:
    """Yield all events that changes of these kinds can cause."""
    for kind in kinds:
        if kind is api.Node:
            yield from _events(EventResource.NODE, *_ADD_AND_DELETE, *_updates("NODE"))
        elif kind is api.Pod:
            yield from _events(EventResource.ASSIGNED_POD, *_ADD_AND_DELETE, *_updates("POD"), ActionType.UPDATE)
            # Adding or deleting a pod without a node moves no pods.
            for resource in (EventResource.UNSCHEDULABLE_POD, EventResource.TARGET_POD):
                yield from _events(resource, *_updates("POD"), ActionType.UPDATE)
        else:
            yield from _events(event_resource(kind), *_ADD_AND_DELETE, ActionType.UPDATE)
        if kind is api.PodGroup:
            # Watched with the gate GenericWorkload, with which new pods without a node move others.
            yield from _events(EventResource.UNSCHEDULED_POD, ActionType.ADD)


def _events(resource: str, *actions: ActionType) -> Iterator[ClusterEvent]:
    return (ClusterEvent(resource, action) for action in actions)


def _updates(part: str) -> list[ActionType]:
    """Return the update actions for specific fields of pods or nodes."""
    return [action for action in ActionType if (action.name or "").startswith(f"UPDATE_{part}_")]


def is_custom(kind: type[api.Object]) -> bool:
    """Return whether the kind is watched only because a plugin declares it or its gate is on."""
    return kind not in WATCHED_KINDS


def is_of_plugin(kind: type[api.Object]) -> bool:
    """Return whether the kind is watched only because a plugin declares it."""
    return is_custom(kind) and kind not in GATED_KINDS


def with_custom(declared: Iterable[type[api.Object]]) -> tuple[type[api.Object], ...]:
    """Return all watched kinds if plugins declare these; pods still come last."""
    custom = dict.fromkeys(kind for kind in declared if is_custom(kind))
    return (*WATCHED_KINDS[:-1], *custom, WATCHED_KINDS[-1])


class EventSink(Protocol):
    """Receives every change of a watched object; `steersman.scheduler.ingest.Ingest` implements
    it."""

    def expect(self, kind: type[api.Object], count: int) -> None:
        """Announce that a list contained `count` objects of the kind; `changed` is called next for
        those that are new."""

    def changed(self, obj: api.Object) -> None: ...

    def deleted(self, obj: api.Object) -> None: ...
