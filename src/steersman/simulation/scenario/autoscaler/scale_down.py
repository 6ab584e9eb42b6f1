# SPDX-License-Identifier: Apache-2.0
"""Scale-down: finds nodes with low utilisation whose pods fit on others, as cluster-autoscaler."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.framework import node_allocatable, pod_requests
from steersman.simulation.pools.node_costs import pool_of
from steersman.simulation.probes.pod_moves import belongs_to_node
from steersman.simulation.scenario.autoscaler.drainability import Drainability, PodsToMove
from steersman.simulation.scenario.autoscaler.what_if import NodeRemovals
from steersman.simulation.scenario.document import AutoscalerSettings
from steersman.simulation.scenario.pools import ClusterPools
from steersman.simulation.simulation import Simulation

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
        asked, apart = dict.fromkeys(("cpu", "memory"), 0), dict.fromkeys(("cpu", "memory"), 0)
        for pod in pods:
            requests = pod_requests(pod)
            is_apart = self._settings.ignore_daemonsets_utilization and belongs_to_node(pod)
            for resource in asked:
                (apart if is_apart else asked)[resource] += requests.get(resource, 0)
        shares = (
            asked[name] / (offered.get(name, 0) - apart[name]) for name in asked if offered.get(name, 0) > apart[name]
        )
        return max(shares, default=0.0)


def _pods_by_node(pods: Iterable[api.Pod]) -> Mapping[str, Sequence[api.Pod]]:
    """Return the unfinished pods by node."""
    found: defaultdict[str, list[api.Pod]] = defaultdict(list)
    for pod in pods:
        if pod.spec.node_name and pod.status.phase not in api.FINISHED_PHASES:
            found[pod.spec.node_name].append(pod)
    return found
