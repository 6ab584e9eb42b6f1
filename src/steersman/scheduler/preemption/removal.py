# SPDX-License-Identifier: Apache-2.0
"""All nodes without their pods of lower priority: the first half of the vectorised dry run.

Works if a pod's filters are local, or have limits on the pods of a node
(`engine.local_filters.RowFilters`): then removal helps exactly if the node passes the filters that
depend on the node alone, has enough resources and free ports without those pods, but with the pods
nominated to it, and the other filters accept the remaining pods. The second half adds pods back:
`reprieve` on many nodes at once, `reprieve_in_order` on one whose order is not that of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steersman.framework import BoolColumn, IntColumn, PodDemand, PodInfo, PodLimit, PodLimits, PodShape
from steersman.scheduler.engine.local_filters import RowFilters
from steersman.scheduler.plugins.node_ports import ports_conflict
from steersman.scheduler.preemption.candidates import Candidate, by_importance
from steersman.scheduler.preemption.victim_table import RowIndex, VictimTable
from steersman.scheduler.state.nominations import NominatedAhead, Nominations


class LimitAfterRemoval:
    """A limit after the removal of all less important pods."""

    def __init__(self, limit: PodLimit, victims: VictimTable, priority: int) -> None:
        self.weight = limit.weight
        self.counted = limit.counted
        #: int64 by cell of the pool; None if pods do not count.
        self.weights = None if limit.weight is None else victims.weights(limit.weight)
        #: int64 by row: weight of the removable pods, and spare weight beside the preemptor;
        #: negative if exceeded.
        self.held: IntColumn = np.zeros(len(limit.spare), np.int64)
        if self.weights is not None:
            self.held = victims.summed_below(priority, self.weights) * limit.counted
        self.spare: IntColumn = limit.spare + self.held

    def make_room_for(self, nominated: NominatedAhead) -> None:
        """Count the pods that are nominated to nodes as existing; those of a template weigh the
        same."""
        if self.weight is None:
            return
        known: dict[object, int] = {}
        for (row, pods), counts in zip(nominated.items(), self.counted[nominated.rows].tolist(), strict=True):
            for pod in pods if counts else ():
                weight = known.get(pod.template)
                if weight is None:
                    weight = known[pod.template] = self.weight.weigh(pod)
                if weight:
                    self.spare[row] -= weight

    def weight_of(self, pod: PodInfo, row: int) -> int:
        """Return the weight of the pod on the row."""
        return self.weight.weigh(pod) if self.weight is not None and self.counted[row] else 0


class DemandAfterRemoval:
    """A demand after the removal of all less important pods."""

    def __init__(self, demand: PodDemand, victims: VictimTable, priority: int) -> None:
        self.demand = demand
        weights = victims.weights(demand.weight)
        no_weight = np.zeros(len(victims.pods), np.int64)
        self._gone = no_weight if weights is None else victims.summed_below(priority, weights)
        #: int64 by row: weight of pods nominated to the node.
        self._coming = no_weight.copy()

    def unmet(self, *, with_nominated: bool = False) -> BoolColumn:
        """Return the rows on which it is not met; a pod must not depend on nominated ones."""
        return self.demand.unmet_without(self._gone - self._coming if with_nominated else self._gone)

    def add_nominated(self, row: int, pods: Sequence[PodInfo]) -> None:
        self._coming[row] += sum(map(self.demand.weight.weigh, pods))


class LimitedStep:
    """Verdicts of a filter with limits, after the removal of all less important pods."""

    def __init__(self, limits: PodLimits, victims: VictimTable, priority: int) -> None:
        self.demand = None if limits.demand is None else DemandAfterRemoval(limits.demand, victims, priority)
        self.limits = [LimitAfterRemoval(limit, victims, priority) for limit in limits.limits]
        self._rows = len(victims.pods)

    def make_room_for(self, nominated: NominatedAhead) -> None:
        """Count the pods that are nominated to nodes as existing."""
        for limit in self.limits:
            limit.make_room_for(nominated)
        if self.demand is not None:
            for row, pods in nominated.items():
                self.demand.add_nominated(row, pods)

    def ways_to_fail(self) -> IntColumn:
        """Return a number by row for the first rejection including nominated pods; 0 for none."""
        ways = np.zeros(self._rows, np.int64)
        for way in range(len(self.limits), 0, -1):
            ways[self.limits[way - 1].spare < 0] = way
        if self.demand is not None:
            ways[self.demand.unmet(with_nominated=True)] = len(self.limits) + 1
        return ways


class Removal:
    """One preemptor and the table after the removal of all less important pods. All columns are by
    row."""

    def __init__(self, pod: PodInfo, filters: RowFilters, victims: VictimTable, nominations: Nominations) -> None:
        self.pod = pod
        self.filters = filters
        self.local = local = filters.local
        self.victims = victims
        self._table = local.table
        room = local.room()
        #: The checked resources with the pod's requests.
        self.needs: tuple[tuple[str, int], ...] = room.amounts if room is not None else ()
        self.counts_pods = room is not None
        below = victims.below(pod.priority, [resource for resource, _ in self.needs])
        #: int64: number of removable pods, and their requests by resource.
        self.removable = below.count
        self._held = below.amounts
        #: int64: number of pods possible beside the preemptor; negative if not even it is.
        self.spare_pods = self._table.allowed_pods.values - self._table.pod_count.values + self.removable - 1
        #: int64 by resource: free amount beyond the pod's request; negative if it does not suffice.
        self.spare = {resource: self._free(resource) + self._held[resource] - need for resource, need in self.needs}
        ports = local.ports()
        self._ports = ports.ports if ports is not None else ()
        self._port_conflicts: dict[PodShape, bool] = {}
        #: bool: a port is used by a pod that stays; or by any pod.
        self.port_taken: BoolColumn = np.zeros(self._table.capacity, np.bool_)
        self._port_in_use: BoolColumn = np.zeros(self._table.capacity, np.bool_)
        self._mark_taken_ports()
        self._nominated = nominations.ahead_of(pod)
        self._make_room_for(self._nominated)

    @cached_property
    def limited(self) -> dict[int, LimitedStep]:
        """Filters with limits by step, computed on demand, because every pod is weighed."""
        steps = {
            index: LimitedStep(step, self.victims, self.pod.priority)
            for index, step in enumerate(self.filters.steps)
            if isinstance(step, PodLimits)
        }
        for step in steps.values():
            step.make_room_for(self._nominated)
        return steps

    @cached_property
    def limits(self) -> list[LimitAfterRemoval]:
        """The limits of all steps."""
        return [limit for step in self.limited.values() for limit in step.limits]

    @property
    def demands(self) -> dict[int, DemandAfterRemoval]:
        """The demands by step of the filters."""
        return {at: step.demand for at, step in self.limited.items() if step.demand is not None}

    def helps(self, among: BoolColumn) -> BoolColumn:
        """Return the rows in the mask on which the pod fits after the removal of all less important
        pods."""
        fits = among & (self.removable > 0) & ~self.local.rejected_by_node() & ~self.port_taken
        if self.counts_pods:
            fits &= self.spare_pods >= 0
        for column in self.spare.values():
            fits &= column >= 0
        if not fits.any():
            return fits
        for limit in self.limits:
            fits &= limit.spare >= 0
        for demand in self.demands.values():
            fits &= ~demand.unmet()
        return fits

    def fits_already(self) -> BoolColumn:
        """Return the rows on which the pod fits without any removal; only valid for rows that
        `helps` returned."""
        fits = ~self._port_in_use
        if self.counts_pods:
            fits &= self.spare_pods >= self.removable
        for resource, column in self.spare.items():
            fits &= column >= self._held[resource]
        for limit in self.limits:
            fits &= limit.spare >= limit.held
        return fits

    def suffices(self, rows: RowIndex, priority: int) -> BoolColumn:
        """Return, for each of the rows, whether the pod may fit if only pods up to this priority
        are removed. Ignores ports and limits."""
        going = self.victims.below(priority + 1, self.spare)
        enough = np.ones(self._table.capacity, np.bool_)
        if self.counts_pods:
            enough &= self.spare_pods >= self.removable - going.count
        for resource, column in self.spare.items():
            enough &= column >= self._held[resource] - going.amounts[resource]
        return enough[rows]

    def conflicts(self, pod: PodInfo) -> bool:
        """Return whether the pod uses a host port of the preemptor."""
        shape = pod.shape
        if not self._ports or not shape.host_ports:
            return False
        known = self._port_conflicts.get(shape)
        if known is None:
            known = self._port_conflicts[shape] = ports_conflict(self._ports, shape.host_ports)
        return known

    def cells(self, rows: RowIndex) -> tuple[RowIndex, RowIndex]:
        """Return the first cell and number of removable pods of each row; they are the last ones of
        the row."""
        count = self.removable[rows].astype(np.intp)
        return self.victims.first[rows] + self.victims.count[rows] - count, count

    def port_conflict_cells(self, rows: RowIndex) -> NDArray[np.intp]:
        """Return the cells of pods on these rows that use a port of the preemptor."""
        if not self._ports:
            return np.zeros(0, np.intp)
        found = [
            int(self.victims.first[row]) + index
            for row in rows.tolist()
            for index, pod in enumerate(self.victims.pods[row])
            if self.conflicts(pod)
        ]
        return np.array(found, np.intp)

    def _free(self, resource: str) -> IntColumn:
        return self._table.allocatable(resource).values - self._table.requested(resource).values

    def _mark_taken_ports(self) -> None:
        """Mark used ports. As in upstream, a port is free once one of its users is removed, even if
        another pod uses it too."""
        if not self._ports:
            return
        for row in self._table.sparse.used_ports:
            pods = self.victims.pods[row]
            freed = {port for pod in pods if pod.priority < self.pod.priority for port in pod.shape.host_ports}
            remaining = [port for port in self._table.sparse.used_ports[row] if port not in freed]
            self.port_taken[row] = ports_conflict(self._ports, remaining)
            self._port_in_use[row] = ports_conflict(self._ports, self._table.sparse.used_ports[row])

    def _make_room_for(self, nominated: NominatedAhead) -> None:
        """Subtract the resources of nominated pods that are at least as important."""
        self.spare_pods[nominated.rows] -= nominated.counts
        for resource, column in self.spare.items():
            column[nominated.rows] -= nominated.amounts(resource)
        for position in nominated.with_ports() if self._ports else ():
            if any(map(self.conflicts, nominated.pods(position))):
                self.port_taken[nominated.rows[position]] = True


# -- one row --------------------------------------------------------------------------------------


def reprieve_in_order(
    removal: Removal, row: int, violating: Sequence[PodInfo], others: Sequence[PodInfo], now: float
) -> Candidate:
    """Return the row as a candidate after adding back `violating` pods before the `others`.

    Used for rows where a disruption budget would be violated, or where the start of some pods is
    unknown.
    """
    room = _Room(removal, row)
    lost = [pod for pod in violating if not room.takes(pod)]
    violations = len(lost)
    lost += [pod for pod in others if not room.takes(pod)]
    victims = by_importance(lost, now) if violating and others else lost
    return Candidate(removal.local.table.names[row], tuple(victims), violations)


class _Room:
    """Free resources of a row to which pods are added back."""

    def __init__(self, removal: Removal, row: int) -> None:
        self._removal = removal
        self._spare = {resource: int(column[row]) for resource, column in removal.spare.items()}
        self._spare_pods = int(removal.spare_pods[row])
        self._limits = [(limit, int(limit.spare[row])) for limit in removal.limits]
        self._row = row

    def takes(self, pod: PodInfo) -> bool:
        """Add the pod back if it fits."""
        if self._removal.conflicts(pod) or (self._removal.counts_pods and self._spare_pods < 1):
            return False
        if any(pod.requests(resource) > spare for resource, spare in self._spare.items()):
            return False
        left = [(limit, spare - limit.weight_of(pod, self._row)) for limit, spare in self._limits]
        if any(spare < 0 for _, spare in left):
            return False
        self._limits = left
        self._spare_pods -= 1
        for resource in self._spare:
            self._spare[resource] -= pod.requests(resource)
        return True
