# SPDX-License-Identifier: Apache-2.0
"""The kinds that the scheduler watches, their names in events, and the sink of changes: shared by the client of real API
servers and the embedded cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
"""The kinds that the scheduler watches. Pods come last, so that everything they depend on is known by then."""

_ADD_AND_DELETE: Final = (ActionType.ADD, ActionType.DELETE)


def event_resource(kind: type[api.Object]) -> str:
    """The resource that plugins register for: the kind, with its API group unless it is the core one."""
    group, _, _ = kind.API_VERSION.rpartition("/")
    return f"{group}/{kind.KIND}" if group else kind.KIND


def events_of(kinds: Iterable[type[api.Object]]) -> Iterator[ClusterEvent]:
    """Everything that may happen to objects of these kinds, as the queue is told of it."""
    for kind in kinds:
        if kind is api.Node:
            yield from _events(EventResource.NODE, *_ADD_AND_DELETE, *_updates("NODE"))
        elif kind is api.Pod:
            yield from _events(EventResource.ASSIGNED_POD, *_ADD_AND_DELETE, *_updates("POD"), ActionType.UPDATE)
            # Pods that come without a node, or go so, wake nobody, as in kube-scheduler without the gate GangScheduling.
            yield from _events(EventResource.UNSCHEDULABLE_POD, *_updates("POD"), ActionType.UPDATE)
        else:
            yield from _events(event_resource(kind), *_ADD_AND_DELETE, ActionType.UPDATE)


def _events(resource: str, *actions: ActionType) -> Iterator[ClusterEvent]:
    return (ClusterEvent(resource, action) for action in actions)


def _updates(part: str) -> list[ActionType]:
    """Changes of which it is told what has changed."""
    return [action for action in ActionType if (action.name or "").startswith(f"UPDATE_{part}_")]


def is_custom(kind: type[api.Object]) -> bool:
    """Whether the kind is watched only because a plugin declares it."""
    return kind not in WATCHED_KINDS


def with_custom(declared: Iterable[type[api.Object]]) -> tuple[type[api.Object], ...]:
    """Everything that is watched if plugins declare these kinds; pods still come last."""
    custom = dict.fromkeys(kind for kind in declared if is_custom(kind))
    return (*WATCHED_KINDS[:-1], *custom, WATCHED_KINDS[-1])


class EventSink(Protocol):
    """Is told of every change of a watched object; `steersman.ingest.Ingest` is one."""

    def expect(self, kind: type[api.Object], count: int) -> None:
        """A list came: so many objects of the kind are there, and `changed` is about to tell of those that are new."""

    def changed(self, obj: api.Object) -> None: ...

    def deleted(self, obj: api.Object) -> None: ...
