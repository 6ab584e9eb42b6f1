# SPDX-License-Identifier: Apache-2.0
"""Moves of waiting pods by preselection instead of hints, as in golden queue traces.

kube-scheduler has `AssignedPodAdded` and `AssignedPodUpdated` only for tests of its queue; no host
here uses them. They move pods with affinity to, or spread relative to, an assigned pod.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from steersman import api
from steersman.framework import (
    ASSIGNED_POD_ADD,
    ActionType,
    ClusterEvent,
    EventResource,
    PodInfo,
    PodShape,
    PodTemplate,
)
from steersman.scheduler.queue import QueuedPodInfo, SchedulingQueue

_SPREADING_PLUGIN: Final = "PodTopologySpread"
_SCALE_DOWN: Final = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN)

NamespaceLabels = Callable[[str], Mapping[str, str]]
"""Returns the labels of a namespace; none if it does not exist."""


def assigned_pod_added(queue: SchedulingQueue, pod: api.Pod, labels: NamespaceLabels) -> None:
    """Move the pods with affinity to, or spread relative to, a newly assigned pod."""
    queue.move_all(ASSIGNED_POD_ADD, None, pod, _helped_by(queue, pod, labels))


def assigned_pod_updated(
    queue: SchedulingQueue, old: api.Pod, new: api.Pod, event: ClusterEvent, labels: NamespaceLabels
) -> None:
    """Move pods after an event of an assigned pod; all of them if it freed resources."""
    queue.move_all(event, old, new, None if _SCALE_DOWN.matches(event) else _helped_by(queue, new, labels))


def _helped_by(queue: SchedulingQueue, assigned: api.Pod, labels: NamespaceLabels) -> Callable[[api.Pod], bool]:
    namespace_labels = labels(assigned.metadata.namespace)

    def is_helped(waiting: api.Pod) -> bool:
        queued = queue.get(api.key(waiting))
        return queued is not None and may_be_helped(queued, assigned, namespace_labels)

    return is_helped


def may_be_helped(queued: QueuedPodInfo, assigned: api.Pod, namespace_labels: Mapping[str, str]) -> bool:
    """Return whether spreading rejected the pod there, or it has affinity to `assigned`."""
    pod = queued.pod
    if _SPREADING_PLUGIN in queued.unschedulable_plugins and pod.metadata.namespace == assigned.metadata.namespace:
        return True
    if pod.spec.affinity is None or pod.spec.affinity.pod_affinity is None:
        return False
    neighbour = PodInfo(assigned, PodTemplate(PodShape(assigned)))
    return any(term.matches(neighbour, namespace_labels) for term in PodShape(pod).required_affinity)
