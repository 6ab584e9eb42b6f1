# SPDX-License-Identifier: Apache-2.0
"""Which pool should grow for pods that wait, and by how many nodes: options by what-if, and the expander that picks one.

The number of nodes is the smallest that helps as many pods as the whole pool could: it is doubled until no more pods are
helped, and then halved in on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.framework.pod_resources import node_allocatable, pod_requests
from steersman.scenario.autoscaler.what_if import placements_with
from steersman.scenario.document import AutoscalerSettings
from steersman.scenario.pools import ClusterPools
from steersman.sim import Simulation
from steersman.sim.node_costs import pool_of
from steersman.sim.node_pools import NodePool

MOST_NODES: Final = 1000
"""A pool grows by no more at a time, as with cluster-autoscaler's --max-nodes-per-scaleup."""
UNSCHEDULABLE: Final = "Unschedulable"


class ScaleUpOption(NamedTuple):
    """A pool, and the nodes that it would get."""

    pool: NodePool
    zone: str | None
    nodes: int
    #: How many more pods would have a node.
    gain: int
    #: The pods that would be on the new nodes; pods that nodes on their way would have taken may be among them.
    pods: tuple[str, ...]


class ScaleUp:
    """The options at one moment for pods that wait. `upcoming` are nodes that were asked for and have not arrived."""

    def __init__(
        self, simulation: Simulation, pools: ClusterPools, upcoming: Sequence[api.Node], waiting: Sequence[str]
    ) -> None:
        self._simulation = simulation
        self._pools = pools
        self._upcoming = upcoming
        self._waiting = waiting
        self._taken = {*simulation.cluster.objects(api.Node), *(node.metadata.name for node in upcoming)}
        existing = (*simulation.cluster.objects(api.Node).values(), *upcoming)
        self._sizes = Counter(pool_of(node) for node in existing)
        #: How many pods would have a node without any that is not on its way already.
        self._helped_anyway = len(placements_with(simulation, upcoming, waiting))

    @property
    def left(self) -> int:
        """How many pods the nodes on their way do not help."""
        return len(self._waiting) - self._helped_anyway

    def size(self, pool: NodePool) -> int:
        """Nodes of the pool that are there or on their way."""
        return self._sizes[pool.name]

    def options(self) -> list[ScaleUpOption]:
        """One for each pool that would help at least one pod, in the order of the pools."""
        found = (self._best_zone(pool) for pool in self._pools if self.left)
        return [option for option in found if option is not None]

    def _best_zone(self, pool: NodePool) -> ScaleUpOption | None:
        """The growth with nodes in all zones in turn; in a single zone only if that helps no pod, as when a volume is there."""
        zones: tuple[str | None, ...] = (None, *pool.zones) if len(pool.zones) > 1 else (None,)
        return next((option for zone in zones if (option := self._option(pool, zone)) is not None), None)

    def _option(self, pool: NodePool, zone: str | None) -> ScaleUpOption | None:
        room = MOST_NODES if pool.max is None else min(MOST_NODES, pool.max - self.size(pool))
        most = min(room, self.left)
        if most <= 0:
            return None
        best = self._doubled(pool, zone, most)
        if best.gain <= 0:
            return None
        least = best.nodes // 2 + 1 if best.nodes > 1 else 1
        while least < best.nodes:
            middle = self._with(pool, zone, (least + best.nodes) // 2)
            if middle.gain >= best.gain:
                best = middle
            else:
                least = middle.nodes + 1
        return best

    def _doubled(self, pool: NodePool, zone: str | None, most: int) -> ScaleUpOption:
        """A number of nodes that helps as many pods as twice the number would."""
        # A first node may be in a zone where nobody can be helped: all zones have one in the first trial.
        option = self._with(pool, zone, min(most, 1 if zone is not None else max(1, len(pool.zones))))
        while 0 < option.gain < self.left and option.nodes < most:
            more = self._with(pool, zone, min(most, 2 * option.nodes))
            if more.gain <= option.gain:
                break
            option = more
        return option

    def _with(self, pool: NodePool, zone: str | None, count: int) -> ScaleUpOption:
        nodes = self._pools.next_nodes(pool, count, self._taken, zone)
        new = {node.metadata.name for node in nodes}
        placed = placements_with(self._simulation, (*self._upcoming, *nodes), self._waiting)
        on_new = tuple(key for key, node in placed.items() if node in new)
        return ScaleUpOption(pool, zone, count, len(placed) - self._helped_anyway, on_new)


# -- pods --------------------------------------------------------------------------------------------------------------


def unschedulable_pods(simulation: Simulation, settings: AutoscalerSettings) -> list[str]:
    """The pods that a scheduler has found no node for, by key: not those that are expendable, or wait for a preemption."""
    store = simulation.cluster
    nodes = store.objects(api.Node)
    return [
        key
        for key, pod in store.objects(api.Pod).items()
        if not pod.spec.node_name
        and pod.metadata.deletion_timestamp is None
        and (pod.spec.priority or 0) >= settings.expendable_pods_priority_cutoff
        and pod.status.nominated_node_name not in nodes
        and any(
            condition.type == "PodScheduled" and condition.status == "False" and condition.reason == UNSCHEDULABLE
            for condition in pod.status.conditions
        )
    ]


# -- expanders ---------------------------------------------------------------------------------------------------------


def best_option(
    options: Sequence[ScaleUpOption], settings: AutoscalerSettings, simulation: Simulation
) -> ScaleUpOption | None:
    """The option that the expander prefers; of equals the one whose pool comes first."""
    if not options:
        return None
    if settings.expander == "mostPods":
        return max(options, key=lambda option: option.gain)
    if settings.expander == "cheapest":
        return min(options, key=lambda option: option.nodes * option.pool.price_per_hour / option.gain)
    if settings.expander == "priority":
        ranks = {name: rank for rank, name in enumerate(settings.priorities)}
        return min(options, key=lambda option: ranks.get(option.pool.name, len(ranks)))
    return min(options, key=lambda option: _waste(option, simulation))


def _waste(option: ScaleUpOption, simulation: Simulation) -> float:
    """The shares of CPU and memory of the new nodes that the pods would not use, added up."""
    offered = node_allocatable(option.pool.make_node(0))
    pods = simulation.cluster.objects(api.Pod)
    asked = [pod_requests(pods[key]) for key in option.pods]
    return sum(_unused(offered, asked, resource, option.nodes) for resource in ("cpu", "memory"))


def _unused(offered: dict[str, int], asked: Iterable[dict[str, int]], resource: str, nodes: int) -> float:
    available = offered.get(resource, 0) * nodes
    if not available:
        return 0.0
    return (available - sum(requests.get(resource, 0) for requests in asked)) / available
