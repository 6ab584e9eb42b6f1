# SPDX-License-Identifier: Apache-2.0
"""Moves of waiting pods by a coarse preselection instead of hint functions, as golden queue traces record them.

kube-scheduler keeps `AssignedPodAdded` and `AssignedPodUpdated` for tests of its queue; no host here uses them. A newly
assigned pod may help those that want to be near it, or are spread relative to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from steersman import api
from steersman.framework.events import ASSIGNED_POD_ADD, ActionType, ClusterEvent, EventResource
from steersman.framework.pod_info import PodInfo, PodShape, PodTemplate
from steersman.queue import QueuedPodInfo, SchedulingQueue

_SPREADING_PLUGIN: Final = "PodTopologySpread"
_SCALE_DOWN: Final = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN)

NamespaceLabels = Callable[[str], Mapping[str, str]]
"""The labels of the namespace with the given name; none if there is no such namespace."""


def assigned_pod_added(queue: SchedulingQueue, pod: api.Pod, labels: NamespaceLabels) -> None:
    """A pod got a node: only the pods move that want to be near it or are spread relative to it."""
    queue.move_all(ASSIGNED_POD_ADD, None, pod, _helped_by(queue, pod, labels))


def assigned_pod_updated(
    queue: SchedulingQueue, old: api.Pod, new: api.Pod, event: ClusterEvent, labels: NamespaceLabels
) -> None:
    """One event of an assigned pod's update: freed resources may help anybody, other changes those whom its presence does."""
    queue.move_all(event, old, new, None if _SCALE_DOWN.matches(event) else _helped_by(queue, new, labels))


def _helped_by(queue: SchedulingQueue, assigned: api.Pod, labels: NamespaceLabels) -> Callable[[api.Pod], bool]:
    namespace_labels = labels(assigned.metadata.namespace)

    def is_helped(waiting: api.Pod) -> bool:
        queued = queue.get(api.key(waiting))
        return queued is not None and may_be_helped(queued, assigned, namespace_labels)

    return is_helped


def may_be_helped(queued: QueuedPodInfo, assigned: api.Pod, namespace_labels: Mapping[str, str]) -> bool:
    """Whether the waiting pod was rejected by spreading in the same namespace, or requires affinity to `assigned`."""
    pod = queued.pod
    if _SPREADING_PLUGIN in queued.unschedulable_plugins and pod.metadata.namespace == assigned.metadata.namespace:
        return True
    if pod.spec.affinity is None or pod.spec.affinity.pod_affinity is None:
        return False
    neighbour = PodInfo(assigned, PodTemplate(PodShape(assigned)))
    return any(term.matches(neighbour, namespace_labels) for term in PodShape(pod).required_affinity)
