# SPDX-License-Identifier: Apache-2.0
"""Scale-down: finds nodes with low utilisation whose pods fit on others, as cluster-autoscaler.

Pods may block the removal of their node: bare pods, system pods, local storage, budgets,
annotations. Whether the others fit elsewhere is tried on a fork, where no time passes: only the
scheduler's decisions at this moment count, without kubelets, evictions and grace periods.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.api import Selector, from_label_selector
from steersman.base import InputError
from steersman.cluster.controllers import controller_of
from steersman.cluster.store import StatusError, Store
from steersman.framework import node_allocatable, pod_requests
from steersman.simulation.node_pools import ClusterPools, pool_of
from steersman.simulation.probes.pod_moves import belongs_to_node
from steersman.simulation.scenario.document import AutoscalerSettings
from steersman.simulation.simulation import Simulation
from steersman.simulation.trial import Trial

SCALE_DOWN_DISABLED: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
MAX_NON_EMPTY: Final = 30
"""Maximum number of candidates with pods, as with --scale-down-non-empty-candidates-count."""
RECHECK_SECONDS: Final = 300.0
"""Delay before an unremovable node is rechecked, as with --unremovable-node-recheck-timeout."""


class UnneededNode(NamedTuple):
    """A removable node, and its pods that must move; empty without pods."""

    name: str
    pods: tuple[api.Pod, ...]


class ScaleDown:
    """Finder of unneeded nodes, with a cache of unremovable ones."""

    def __init__(self, simulation: Simulation, pools: ClusterPools, settings: AutoscalerSettings) -> None:
        self._simulation = simulation
        self._pools = pools
        self._settings = settings
        #: Unremovable node → (end of this entry's validity, version of the cluster).
        self._unremovable: dict[str, tuple[float, int]] = {}

    def unneeded(self, leaving: Iterable[str]) -> list[UnneededNode]:
        """Return nodes of pools that are removable together; pods of `leaving` nodes move first."""
        store, now = self._simulation.cluster, self._simulation.now
        self._forget_unremovable(now)
        pods_by_node = _pods_by_node(store.objects(api.Pod).values())
        drainability = Drainability(store, self._settings)
        removals = NodeRemovals(self._simulation)
        going = [name for name in leaving if name in store.objects(api.Node)]
        for name in going:
            if not removals.remove(name, drainability.movable(pods_by_node[name])):
                return []
        candidates = self._candidates(pods_by_node, drainability, {*going})
        found: list[UnneededNode] = []
        for node in candidates:
            if removals.remove(node.name, node.pods):
                found.append(node)
            else:
                self._unremovable[node.name] = (now + RECHECK_SECONDS, store.version)
        return found

    def _forget_unremovable(self, now: float) -> None:
        """Drop cached nodes that are deleted or due for a recheck."""
        nodes = self._simulation.cluster.objects(api.Node)
        self._unremovable = {
            name: (until, seen) for name, (until, seen) in self._unremovable.items() if name in nodes and until > now
        }

    def next_recheck(self) -> float:
        """Return the time of the next recheck after a change of the cluster; infinite if none."""
        version = self._simulation.cluster.version
        return min((until for until, seen in self._unremovable.values() if seen != version), default=float("inf"))

    def _candidates(
        self, pods_by_node: Mapping[str, Sequence[api.Pod]], drainability: Drainability, leaving: set[str]
    ) -> list[UnneededNode]:
        """Return nodes that pass all rules but the trial: empty ones first, then by utilisation."""
        ranked: list[tuple[bool, float, str, PodsToMove]] = []
        nodes = self._simulation.cluster.objects(api.Node)
        sizes = Counter(pool_of(node) for name, node in nodes.items() if name not in leaving)
        for name, node in nodes.items():
            if name in leaving or name in self._unremovable or not self._is_eligible(node, sizes):
                continue
            pods = pods_by_node[name]
            used = self._utilisation(node, pods)
            if used >= self._settings.scale_down_utilization_threshold:
                continue
            to_go = drainability.pods_of(pods)
            if not to_go.blocked_by:
                ranked.append((bool(to_go.to_move), used, name, to_go))
        ranked.sort(key=lambda item: item[:3])
        empty = sum(not has_pods for has_pods, *_ in ranked)
        return [UnneededNode(name, to_go.to_move) for _, _, name, to_go in ranked[: empty + MAX_NON_EMPTY]]

    def _is_eligible(self, node: api.Node, sizes: Mapping[str, int]) -> bool:
        """Return whether the node is ready, in a pool above `min`, and has scale-down enabled."""
        pool = pool_of(node)
        return (
            pool in self._pools
            and sizes[pool] > self._pools[pool].min
            and node.metadata.annotations.get(SCALE_DOWN_DISABLED) != "true"
            and not any(
                condition.type == "Ready" and condition.status != "True" for condition in node.status.conditions
            )
        )

    def _utilisation(self, node: api.Node, pods: Iterable[api.Pod]) -> float:
        """Return the larger requested share of CPU and memory, optionally without daemon pods."""
        offered = node_allocatable(node)
        requested, apart = dict.fromkeys(("cpu", "memory"), 0), dict.fromkeys(("cpu", "memory"), 0)
        for pod in pods:
            requests = pod_requests(pod)
            is_apart = self._settings.ignore_daemonsets_utilization and belongs_to_node(pod)
            for resource in requested:
                (apart if is_apart else requested)[resource] += requests.get(resource, 0)
        shares = (
            requested[name] / (offered.get(name, 0) - apart[name])
            for name in requested
            if offered.get(name, 0) > apart[name]
        )
        return max(shares, default=0.0)


def _pods_by_node(pods: Iterable[api.Pod]) -> Mapping[str, Sequence[api.Pod]]:
    """Return the unfinished pods by node."""
    found: defaultdict[str, list[api.Pod]] = defaultdict(list)
    for pod in pods:
        if pod.spec.node_name and pod.status.phase not in api.FINISHED_PHASES:
            found[pod.spec.node_name].append(pod)
    return found


# -- pods that block a removal -----------------------------------------------------------------------------------------


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


# -- trials of removals ------------------------------------------------------------------------------------------------


NEVER: Final = "Never"
_replace = msgspec.structs.replace


class NodeRemovals:
    """Nodes that are removable together: each is removed if its pods fit on the remaining ones."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._fork: Trial | None = None
        #: Removed nodes with their pods.
        self._gone: list[tuple[str, Sequence[api.Pod]]] = []

    def remove(self, node: str, pods: Sequence[api.Pod]) -> bool:
        """Remove the node if its pods fit elsewhere without preemption; return whether they do."""
        if self._fork is None and not pods:
            self._gone.append((node, pods))
            return True
        if self._fork is None:
            self._fork = self._simulation.fork()
            for name, its_pods in self._gone:
                _move(self._fork, name, its_pods)
        if _move(self._fork, node, pods):
            self._gone.append((node, pods))
            return True
        self._fork = None
        return False


def _move(fork: Trial, node: str, pods: Sequence[api.Pod]) -> bool:
    """Remove the node and reschedule its pods; return whether all have found a node."""
    store = fork.cluster
    store.delete(api.Node, node, finalizers=())
    for pod in pods:
        store.delete(api.Pod, api.key(pod), finalizers=())
    try:
        for pod in pods:
            store.create(_unplaced(pod))
    except (StatusError, InputError):
        return False  # for example because of a quota
    fork.schedule_now(only_ready=True)
    return all(_has_node(fork, api.key(pod)) for pod in pods)


def _has_node(fork: Simulation, key: str) -> bool:
    found = fork.cluster.find(api.Pod, key)
    return found is not None and bool(found.spec.node_name)


def _unplaced(pod: api.Pod) -> api.Pod:
    """Return the pod as its controller would recreate it; it must not preempt."""
    metadata = _replace(
        pod.metadata, uid="", resource_version="", creation_timestamp=None, deletion_timestamp=None, finalizers=()
    )
    spec = _replace(pod.spec, node_name="", preemption_policy=NEVER)
    return api.Pod(metadata=metadata, spec=spec)
