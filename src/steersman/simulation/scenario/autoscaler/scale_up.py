# SPDX-License-Identifier: Apache-2.0
"""Scale-up: finds the pool to grow for pending pods and the number of nodes, by trials.

The number of nodes is the smallest that helps as many pods as the whole pool would: it is doubled
until no more pods are helped, then found by bisection. An expander chooses between the pools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.framework import node_allocatable, pod_requests
from steersman.simulation.node_pools import ClusterPools, NodePool, pool_of
from steersman.simulation.scenario.document import AutoscalerSettings
from steersman.simulation.simulation import Simulation

MAX_NODES: Final = 1000
"""Maximum growth of a pool at a time, as with cluster-autoscaler's --max-nodes-per-scaleup."""
UNSCHEDULABLE: Final = "Unschedulable"


_replace = msgspec.structs.replace


class ScaleUpOption(NamedTuple):
    """A possible growth of a pool."""

    pool: NodePool
    zone: str | None
    nodes: int
    #: Number of additional pods with a node.
    gain: int
    #: Pods placed on the new nodes, possibly including some that upcoming nodes could have taken.
    pods: tuple[str, ...]


class ScaleUp:
    """The options for pending pods at one time. `upcoming` are booting nodes."""

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
        #: Number of pods that existing and upcoming nodes help.
        self._helped_anyway = len(placements_with(simulation, upcoming, waiting))

    @property
    def left(self) -> int:
        """Number of pods that existing and upcoming nodes do not help."""
        return len(self._waiting) - self._helped_anyway

    def size(self, pool: NodePool) -> int:
        """Return the number of existing and upcoming nodes of the pool."""
        return self._sizes[pool.name]

    def options(self) -> list[ScaleUpOption]:
        """Return an option for each pool that helps at least one pod, in the order of the pools."""
        found = (self._best_zone(pool) for pool in self._pools if self.left)
        return [option for option in found if option is not None]

    def _best_zone(self, pool: NodePool) -> ScaleUpOption | None:
        """Return the growth across all zones, or else in the first zone where it helps a pod."""
        zones: tuple[str | None, ...] = (None, *pool.zones) if len(pool.zones) > 1 else (None,)
        return next((option for zone in zones if (option := self._option(pool, zone)) is not None), None)

    def _option(self, pool: NodePool, zone: str | None) -> ScaleUpOption | None:
        room = MAX_NODES if pool.max is None else min(MAX_NODES, pool.max - self.size(pool))
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
        """Return a number of nodes that helps as many pods as twice the number would."""
        # The first trial has a node in every zone, because one zone alone may not help any pod.
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
    """Return the keys of unschedulable pods, except expendable and nominated ones."""
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
            condition.type == api.POD_SCHEDULED and condition.status == "False" and condition.reason == UNSCHEDULABLE
            for condition in pod.status.conditions
        )
    ]


def placements_with(simulation: Simulation, nodes: Sequence[api.Node], pods: Collection[str]) -> dict[str, str]:
    """Return pod key → node if these nodes were added now; DaemonSet pods are placed first."""
    fork = simulation.fork()
    names = {node.metadata.name for node in nodes}
    # Cordoned at first, which pods of DaemonSets tolerate, so that they come before pending pods.
    fork.add([_replace(node, spec=_replace(node.spec, unschedulable=True)) for node in nodes])
    fork.settle()
    for name in names:
        fork.uncordon(name)
    fork.schedule_now()
    found = fork.cluster.objects(api.Pod)
    return {key: found[key].spec.node_name for key in pods if key in found and found[key].spec.node_name}


# -- expanders ---------------------------------------------------------------------------------------------------------


def best_option(
    options: Sequence[ScaleUpOption], settings: AutoscalerSettings, simulation: Simulation
) -> ScaleUpOption | None:
    """Return the option that the expander prefers; ties go to the first pool."""
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
    """Return the sum of the unused shares of CPU and memory of the new nodes."""
    offered = node_allocatable(option.pool.make_node(0))
    pods = simulation.cluster.objects(api.Pod)
    requests = [pod_requests(pods[key]) for key in option.pods]
    return sum(_unused(offered, requests, resource, option.nodes) for resource in ("cpu", "memory"))


def _unused(offered: dict[str, int], requested: Iterable[dict[str, int]], resource: str, nodes: int) -> float:
    available = offered.get(resource, 0) * nodes
    if not available:
        return 0.0
    return (available - sum(requests.get(resource, 0) for requests in requested)) / available
