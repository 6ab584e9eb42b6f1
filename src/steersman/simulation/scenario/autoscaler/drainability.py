# SPDX-License-Identifier: Apache-2.0
"""Rules for pods that block the removal of their node, as in cluster-autoscaler:

bare pods, system pods, local storage, budgets, annotations. The first applicable rule decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.api import Selector, from_label_selector
from steersman.base import InputError
from steersman.cluster.controllers import controller_of
from steersman.cluster.store import Store
from steersman.simulation.probes.pod_moves import belongs_to_node
from steersman.simulation.scenario.document import AutoscalerSettings

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_LOCAL_VOLUMES: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
REPLICATED: Final = ("ReplicationController", "ReplicaSet", "Job", "StatefulSet")
SYSTEM_NAMESPACE: Final = "kube-system"

NOT_REPLICATED: Final = "is not replicated"
SYSTEM_POD: Final = "is a system pod without a disruption budget"
NOT_SAFE: Final = "is not safe to evict"
LOCAL_STORAGE: Final = "has local storage"
NO_BUDGET: Final = "has a disruption budget that allows no eviction"
HAS_DEVICES: Final = "has resource claims"


class PodsToMove(NamedTuple):
    """The pods that must move if their node is removed, or the pod that blocks it and why."""

    to_move: tuple[api.Pod, ...] = ()
    blocked_by: str = ""


class Drainability:
    """The rules for one state of a cluster."""

    def __init__(self, store: Store, settings: AutoscalerSettings) -> None:
        self._settings = settings
        self._budgets = [(budget, _selector(budget)) for budget in store.objects(api.PodDisruptionBudget).values()]

    def pods_of(self, pods: Iterable[api.Pod]) -> PodsToMove:
        """Return the pods that must move if their node is removed, or the pod that blocks this."""
        to_move: list[api.Pod] = []
        for pod in pods:
            if self._stays_behind(pod):
                continue
            reason = self._blocked(pod)
            if reason:
                return PodsToMove(blocked_by=f"pod {api.key(pod)} {reason}")
            to_move.append(pod)
        return PodsToMove(tuple(to_move))

    def movable(self, pods: Iterable[api.Pod]) -> tuple[api.Pod, ...]:
        """Return the pods that need another node, whether or not they block a removal."""
        return tuple(pod for pod in pods if not self._stays_behind(pod))

    def has_to_go(self, pod: api.Pod) -> bool:
        """Return whether a drain waits for the pod to be gone, even if it is terminating."""
        return not (
            belongs_to_node(pod)
            or pod.status.phase in api.FINISHED_PHASES
            or (pod.spec.priority or 0) < self._settings.expendable_pods_priority_cutoff
        )

    def _stays_behind(self, pod: api.Pod) -> bool:
        """Return whether the pod ends with its node: static, daemon, ended, ending, expendable."""
        return not self.has_to_go(pod) or pod.metadata.deletion_timestamp is not None

    def _blocked(self, pod: api.Pod) -> str:
        return next(self._objections(pod), "")

    def _objections(self, pod: api.Pod) -> Iterator[str]:
        safe = pod.metadata.annotations.get(SAFE_TO_EVICT)
        settings, owner = self._settings, controller_of(pod)
        budgets = self._budgets_of(pod)
        if pod.spec.resource_claims:
            yield HAS_DEVICES
        if safe != "true":
            if owner is None or owner.kind not in REPLICATED:
                yield NOT_REPLICATED
            if settings.skip_nodes_with_system_pods and pod.metadata.namespace == SYSTEM_NAMESPACE and not budgets:
                yield SYSTEM_POD
            if safe == "false":
                yield NOT_SAFE
            if settings.skip_nodes_with_local_storage and _has_local_storage(pod):
                yield LOCAL_STORAGE
        if any(budget.status.disruptions_allowed < 1 for budget in budgets):
            yield NO_BUDGET

    def _budgets_of(self, pod: api.Pod) -> Sequence[api.PodDisruptionBudget]:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        return [
            budget
            for budget, selector in self._budgets
            if budget.metadata.namespace == namespace and selector is not None and selector.matches(labels)
        ]


def _selector(budget: api.PodDisruptionBudget) -> Selector | None:
    try:
        return from_label_selector(budget.spec.selector)
    except InputError:  # protects nothing
        return None


def _has_local_storage(pod: api.Pod) -> bool:
    allowed = {name.strip() for name in pod.metadata.annotations.get(SAFE_LOCAL_VOLUMES, "").split(",")}
    return any(_is_local(volume) and volume.name not in allowed for volume in pod.spec.volumes)


def _is_local(volume: api.Volume) -> bool:
    if volume.host_path is not None:
        return True
    return volume.empty_dir is not None and volume.empty_dir.medium != "Memory"
