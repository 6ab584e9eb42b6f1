"""Which waiting pods may a newly assigned pod help? Those that want to be near it, or are spread relative to it.

A coarse preselection in place of hint functions, see `SchedulingQueue.assigned_pod_added`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steersman import api
from steersman.framework.pod_info import PodInfo, PodShape, PodTemplate
from steersman.queue.queued_pod import QueuedPodInfo

_SPREADING_PLUGIN: Final = "PodTopologySpread"


def may_be_helped(queued: QueuedPodInfo, assigned: api.Pod, namespace_labels: Mapping[str, str]) -> bool:
    """Whether the waiting pod was rejected by spreading in the same namespace, or requires affinity to `assigned`."""
    pod = queued.pod
    if _SPREADING_PLUGIN in queued.unschedulable_plugins and pod.metadata.namespace == assigned.metadata.namespace:
        return True
    if pod.spec.affinity is None or pod.spec.affinity.pod_affinity is None:
        return False
    neighbour = PodInfo(assigned, PodTemplate(PodShape(assigned)))
    return any(term.matches(neighbour, namespace_labels) for term in PodShape(pod).required_affinity)
