# SPDX-License-Identifier: Apache-2.0
"""Which nodes are not needed: little used, and their pods fit on others. By cluster-autoscaler's rules, with exact what-ifs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.framework.pod_resources import node_allocatable, pod_requests
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.kubelets.drain import MIRROR_POD
from steersman.scenario.autoscaler.drainability import Drainability, PodsToMove, is_daemon
from steersman.scenario.autoscaler.what_if import NodeRemovals
from steersman.scenario.document import AutoscalerSettings
from steersman.scenario.pools import ClusterPools
from steersman.sim import Simulation
from steersman.sim.node_costs import pool_of

SCALE_DOWN_DISABLED: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
MOST_NON_EMPTY: Final = 30
"""So many nodes with pods are candidates at a time, as with --scale-down-non-empty-candidates-count."""
RECHECK_SECONDS: Final = 300.0
"""A node whose pods fit nowhere is looked at again after this, as with --unremovable-node-recheck-timeout."""


class UnneededNode(NamedTuple):
    """A node that could go; without pods to move it is empty."""

    name: str
    pods: tuple[api.Pod, ...]


class ScaleDown:
    """Looks for nodes that are not needed; remembers for a while which were found to be needed."""

    def __init__(self, simulation: Simulation, pools: ClusterPools, settings: AutoscalerSettings) -> None:
        self._simulation = simulation
        self._pools = pools
        self._settings = settings
        #: By node whose pods fit nowhere else: until when that is taken to be so, and of which version of the cluster it is.
        self._unremovable: dict[str, tuple[float, int]] = {}

    def unneeded(self, leaving: Iterable[str]) -> list[UnneededNode]:
        """The nodes of pools that could all go together; `leaving` are on their way out already, and their pods count first."""
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
        """Nodes that are gone, or that are to be looked at again."""
        nodes = self._simulation.cluster.objects(api.Node)
        self._unremovable = {
            name: (until, seen) for name, (until, seen) in self._unremovable.items() if name in nodes and until > now
        }

    def next_recheck(self) -> float:
        """When a node is to be looked at again because the cluster has changed since; infinite: never."""
        version = self._simulation.cluster.version
        return min((until for until, seen in self._unremovable.values() if seen != version), default=float("inf"))

    def _candidates(
        self, pods_by_node: Mapping[str, Sequence[api.Pod]], drainability: Drainability, leaving: set[str]
    ) -> list[UnneededNode]:
        """The nodes that pass all rules but the what-if: empty nodes first, then the least used."""
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
        return [UnneededNode(name, to_go.to_move) for _, _, name, to_go in ranked[: empty + MOST_NON_EMPTY]]

    def _is_eligible(self, node: api.Node, sizes: Mapping[str, int]) -> bool:
        """Ready nodes of pools that are larger than they have to be, unless they are to be kept."""
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
        """The larger share of CPU and memory that pods request; daemons and static pods are taken out if that is wanted."""
        offered = node_allocatable(node)
        asked, apart = dict.fromkeys(("cpu", "memory"), 0), dict.fromkeys(("cpu", "memory"), 0)
        for pod in pods:
            requests = pod_requests(pod)
            is_apart = self._settings.ignore_daemonsets_utilization and (
                is_daemon(pod) or MIRROR_POD in pod.metadata.annotations
            )
            for resource in asked:
                (apart if is_apart else asked)[resource] += requests.get(resource, 0)
        shares = (
            asked[name] / (offered.get(name, 0) - apart[name]) for name in asked if offered.get(name, 0) > apart[name]
        )
        return max(shares, default=0.0)


def _pods_by_node(pods: Iterable[api.Pod]) -> Mapping[str, Sequence[api.Pod]]:
    """The pods that are not over, by the node they are on."""
    found: defaultdict[str, list[api.Pod]] = defaultdict(list)
    for pod in pods:
        if pod.spec.node_name and pod.status.phase not in FINISHED_PHASES:
            found[pod.spec.node_name].append(pod)
    return found
