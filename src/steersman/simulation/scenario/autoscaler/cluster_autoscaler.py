# SPDX-License-Identifier: Apache-2.0
"""The cluster autoscaler of a scenario: scans the cluster periodically, and adds or removes nodes.

A scan is upstream's loop: booted nodes arrive, drains continue, and a pool grows for pending pods
or else long unneeded nodes are removed. At most one pool grows and one node is drained at a time.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.base import counted
from steersman.simulation.node_pools import ClusterPools, pool_of
from steersman.simulation.scenario.actions import changed_taints
from steersman.simulation.scenario.autoscaler.scale_down import Drainability, ScaleDown, UnneededNode
from steersman.simulation.scenario.autoscaler.scale_up import ScaleUp, ScaleUpOption, best_option, unschedulable_pods
from steersman.simulation.scenario.document import AutoscalerSettings
from steersman.simulation.scenario.loading import AutoscalerTimes
from steersman.simulation.scenario.measurements import Measurements
from steersman.simulation.simulation import Simulation

TO_BE_DELETED: Final = "ToBeDeletedByClusterAutoscaler"
DELETION_CANDIDATE: Final = "DeletionCandidateOfClusterAutoscaler"
MAX_SOFT_TAINTS: Final = 10
"""Maximum number of soft taint changes per scan, as with --max-bulk-soft-taint-count."""
DELAY_AFTER_FAILURE: Final = 180.0
"""Scale-down pause after a failed drain, as with --scale-down-delay-after-failure."""


class _Drain(NamedTuple):
    """A node whose pods are being evicted."""

    pool: str
    #: Time at which the drain fails if pods are not terminating.
    deadline: float


class ClusterAutoscaler:
    """Autoscaler of one simulation. It uses public methods only, and describes its actions."""

    def __init__(
        self,
        simulation: Simulation,
        pools: ClusterPools,
        settings: AutoscalerSettings,
        times: AutoscalerTimes,
        measurements: Measurements,
    ) -> None:
        self._simulation = simulation
        self._pools = pools
        self._settings = settings
        self._times = times
        self._measurements = measurements
        self._scale_down = ScaleDown(simulation, pools, settings)
        #: Heap of booting nodes: (arrival time, serial number, node).
        self._booting: list[tuple[float, int, api.Node]] = []
        self._serials = count()
        #: Node → time since which it has been unneeded.
        self._unneeded_since: dict[str, float] = {}
        self._draining: dict[str, _Drain] = {}
        self._last_scale_up = float("-inf")
        self._last_failure = float("-inf")
        self._next_scan = times.scan_interval
        #: Version of the cluster after the last scan; time when a scan of it is needed again.
        self._seen_version = -1
        self._wakes_at = float("-inf")

    # -- time --------------------------------------------------------------------------------------------------------

    def next_time(self) -> float:
        """Return the time of the next scan or node arrival."""
        return min([self._next_scan, *(arrival for arrival, _, _ in self._booting[:1])])

    @property
    def is_at_rest(self) -> bool:
        """Whether another scan has no effect unless the cluster changes first."""
        is_seen = self._simulation.cluster.version == self._seen_version
        return is_seen and not self._booting and not self._draining and self._wakes_at == float("inf")

    def fill_pools(self) -> list[str]:
        """Fill every pool to its minimum size, at the start."""
        lines = []
        sizes = Counter(map(pool_of, self._simulation.cluster.objects(api.Node).values()))
        for pool in self._pools:
            missing = pool.min - sizes[pool.name]
            if missing > 0:
                taken = self._simulation.cluster.objects(api.Node)
                self._simulation.add(self._pools.new_nodes(pool, missing, taken))
                lines.append(
                    f"pool {pool.name} begins with {counted(missing, 'more node')}: it has at least {pool.min}"
                )
        return lines

    def act(self) -> list[str]:
        """Perform all due actions, and return a line for each."""
        now = self._simulation.now
        lines = self._arrive(now)
        if now < self._next_scan:
            return lines
        self._next_scan = now + self._times.scan_interval
        if self._simulation.cluster.version == self._seen_version and now < self._wakes_at:
            return lines
        return [*lines, *self._scan(now)]

    def _scan(self, now: float) -> list[str]:
        lines = self._go_on_draining(now)
        grown = self._grow(now)
        if grown:
            lines += grown
            self._wakes_at = now
        elif self._settings.scale_down:
            lines += self._shrink(now)
        else:
            self._wakes_at = float("inf")
        deadlines = [drain.deadline for drain in self._draining.values() if drain.deadline > now]
        self._wakes_at = min([self._wakes_at, *deadlines])
        self._seen_version = self._simulation.cluster.version
        return lines

    # -- more nodes --------------------------------------------------------------------------------------------------

    def _arrive(self, now: float) -> list[str]:
        arrived: list[api.Node] = []
        while self._booting and self._booting[0][0] <= now:
            arrived.append(heapq.heappop(self._booting)[2])
        if not arrived:
            return []
        self._simulation.add(arrived)
        self._measurements.nodes_added += len(arrived)
        names = [node.metadata.name for node in arrived]
        return [f"{_nodes(names)} arrived"]

    def _grow(self, now: float) -> list[str]:
        upcoming = [node for _, _, node in sorted(self._booting, key=lambda item: item[:2])]
        waiting = unschedulable_pods(self._simulation, self._settings)
        if not waiting:
            return []
        scale_up = ScaleUp(self._simulation, self._pools, upcoming, waiting)
        option = best_option(scale_up.options(), self._settings, self._simulation)
        if option is None:
            return []
        self._ask_for(option, upcoming, now)
        self._last_scale_up = now
        size = scale_up.size(option.pool)
        pods = counted(option.gain, "pod")
        return [f"pool {option.pool.name} grows from {size} to {size + option.nodes} nodes for {pods}"]

    def _ask_for(self, option: ScaleUpOption, upcoming: Sequence[api.Node], now: float) -> None:
        taken = {*self._simulation.cluster.objects(api.Node), *(node.metadata.name for node in upcoming)}
        for node in self._pools.new_nodes(option.pool, option.nodes, taken, option.zone):
            heapq.heappush(self._booting, (now + option.pool.boot_seconds, next(self._serials), node))

    # -- fewer nodes -------------------------------------------------------------------------------------------------

    def _shrink(self, now: float) -> list[str]:
        unneeded = self._scale_down.unneeded(self._draining)
        names = {node.name for node in unneeded}
        since = {node.name: self._unneeded_since.get(node.name, now) for node in unneeded}
        self._unneeded_since = since
        cool = max(
            self._last_scale_up + self._times.scale_down_delay_after_add, self._last_failure + DELAY_AFTER_FAILURE
        )
        removable = self._within_limits(unneeded)
        due = {node.name: max(cool, since[node.name] + self._delay(node.name)) for node in removable}
        lines = self._remove([node for node in removable if due[node.name] <= now], now)
        self._mark_candidates(names - self._draining.keys())
        later = [self._scale_down.next_recheck(), *(moment for moment in due.values() if moment > now)]
        self._wakes_at = now if lines else min(later)
        return lines

    def _delay(self, name: str) -> float:
        return self._pools[pool_of(self._simulation.cluster.get(api.Node, name))].scale_down_delay_seconds

    def _within_limits(self, unneeded: Sequence[UnneededNode]) -> list[UnneededNode]:
        """Return unneeded nodes whose removal respects `min`; draining nodes count as removed."""
        sizes = Counter(
            pool_of(node)
            for name, node in self._simulation.cluster.objects(api.Node).items()
            if name not in self._draining
        )
        found = []
        for node in unneeded:
            pool = self._pools[pool_of(self._simulation.cluster.get(api.Node, node.name))]
            if sizes[pool.name] > pool.min:
                sizes[pool.name] -= 1
                found.append(node)
        return found

    def _remove(self, nodes: Sequence[UnneededNode], now: float) -> list[str]:
        """Delete empty nodes up to the bulk limit; drain a node with pods if no other drains."""
        lines: list[str] = []
        empty = [node.name for node in nodes if not node.pods][: self._settings.max_empty_bulk_delete]
        if empty:
            self._delete(empty)
            lines.append(f"{_nodes(empty)} removed, empty")
        with_pods = next((node for node in nodes if node.pods), None)
        if with_pods is not None and not self._draining:
            self._set_taint(with_pods.name, f"{TO_BE_DELETED}={int(now)}:NoSchedule")
            pool = pool_of(self._simulation.cluster.get(api.Node, with_pods.name))
            self._draining[with_pods.name] = _Drain(pool, now + self._times.max_pod_eviction_time)
            self._simulation.drain(with_pods.name)
            lines.append(f"node {with_pods.name} is drained: {counted(len(with_pods.pods), 'pod')} would fit elsewhere")
        return lines

    def _go_on_draining(self, now: float) -> list[str]:
        lines: list[str] = []
        nodes = self._simulation.cluster.objects(api.Node)
        for name, drain in list(self._draining.items()):
            left = self._pods_left(name)
            if name not in nodes:
                del self._draining[name]
            elif not left:
                del self._draining[name]
                self._delete([name])
                lines.append(f"node {name} removed")
            elif now >= drain.deadline and any(pod.metadata.deletion_timestamp is None for pod in left):
                del self._draining[name]
                self._last_failure = now
                self._take_taint(name, TO_BE_DELETED)
                self._simulation.uncordon(name)
                lines.append(f"node {name} stays: {counted(len(left), 'pod')} could not be evicted")
        return lines

    def _pods_left(self, name: str) -> list[api.Pod]:
        drainability = Drainability(self._simulation.cluster, self._settings)
        pods = self._simulation.cluster.objects(api.Pod).values()
        return [pod for pod in pods if pod.spec.node_name == name and drainability.has_to_go(pod)]

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._simulation.delete(f"node/{name}")
            self._unneeded_since.pop(name, None)
        self._measurements.nodes_removed += len(names)

    # -- taints ------------------------------------------------------------------------------------------------------

    def _mark_candidates(self, unneeded: set[str]) -> None:
        """Add soft taints, which new pods avoid, to unneeded nodes; remove them from others."""
        changes = 0
        for name, node in list(self._simulation.cluster.objects(api.Node).items()):
            is_marked = any(taint.key == DELETION_CANDIDATE for taint in node.spec.taints)
            if changes >= MAX_SOFT_TAINTS or is_marked == (name in unneeded):
                continue
            changes += 1
            if is_marked:
                self._take_taint(name, DELETION_CANDIDATE)
            else:
                self._set_taint(name, f"{DELETION_CANDIDATE}={int(self._simulation.now)}:PreferNoSchedule")

    def _set_taint(self, name: str, taint: str) -> None:
        self._change_taints(name, [taint], [])

    def _take_taint(self, name: str, key: str) -> None:
        self._change_taints(name, [], [key])

    def _change_taints(self, name: str, add: list[str], remove: list[str]) -> None:
        node = self._simulation.cluster.get(api.Node, name)
        taints = [msgspec.to_builtins(taint) for taint in changed_taints(node.spec.taints, add, remove)]
        self._simulation.patch(f"node/{name}", {"spec": {"taints": taints}})


def _nodes(names: Sequence[str]) -> str:
    return f"node {names[0]}" if len(names) == 1 else f"{len(names)} nodes {names[0]} … {names[-1]}"
