# SPDX-License-Identifier: Apache-2.0
"""The nodes as they would be without any pod of lower priority, all at once. The first half of the vector dry run.

Works where a pod's filters are local, or say what pods of a node mean to them (`engine.local_filters.RowFilters`): then a
node helps exactly if it passes the filters that look at the node alone, has the room and the ports without those pods, but
with the pods nominated to it, and if the others have nothing against those who are left. The second half puts pods back:
`reprieve` on many nodes at once, `reprieve_in_order` on one where their order is not that of the table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.engine.local_filters import RowFilters
from steersman.framework.nodes_view import BoolColumn, IntColumn
from steersman.framework.pod_info import PodInfo, PodShape
from steersman.framework.pod_limits import PodDemand, PodLimit, PodLimits
from steersman.plugins.node_ports import ports_conflict
from steersman.preemption.candidates import Candidate, by_importance
from steersman.preemption.victim_table import RowIndex, VictimTable
from steersman.state.nominations import NominatedAhead, Nominations


class LimitAfterRemoval:
    """A limit with all less important pods gone."""

    def __init__(self, limit: PodLimit, victims: VictimTable, priority: int) -> None:
        self.weight = limit.weight
        self.counted = limit.counted
        #: int64 by cell of the pool; None: no pod counts.
        self.weights = None if limit.weight is None else victims.weights(limit.weight)
        #: int64 by row: what the removable pods weigh, and what could be there besides the preemptor; negative: it does not
        #: suffice.
        self.held: IntColumn = np.zeros(len(limit.spare), np.int64)
        if self.weights is not None:
            self.held = victims.summed_below(priority, self.weights) * limit.counted
        self.spare: IntColumn = limit.spare + self.held

    def weight_of(self, pod: PodInfo, row: int) -> int:
        """The weight of the pod on the row."""
        return self.weight.of(pod) if self.weight is not None and self.counted[row] else 0


class DemandAfterRemoval:
    """A demand with all less important pods gone."""

    def __init__(self, demand: PodDemand, victims: VictimTable, priority: int) -> None:
        self.demand = demand
        weights = victims.weights(demand.weight)
        no_weight = np.zeros(len(victims.pods), np.int64)
        self._gone = no_weight if weights is None else victims.summed_below(priority, weights)
        #: int64 by row: what pods that are nominated to a node will bring.
        self._coming = no_weight.copy()

    def unmet(self, *, with_nominated: bool = False) -> BoolColumn:
        """Rows on which it is not met; a pod may not rest on those that are nominated."""
        return self.demand.unmet_without(self._gone - self._coming if with_nominated else self._gone)

    def add_nominated(self, row: int, pods: Sequence[PodInfo]) -> None:
        self._coming[row] += sum(map(self.demand.weight.of, pods))


class LimitedStep:
    """The answers of a filter that is not local, with all less important pods gone."""

    def __init__(self, said: PodLimits, victims: VictimTable, priority: int) -> None:
        self.demand = None if said.demand is None else DemandAfterRemoval(said.demand, victims, priority)
        self.limits = [LimitAfterRemoval(limit, victims, priority) for limit in said.limits]
        self._rows = len(victims.pods)

    def make_room_for(self, nominated: NominatedAhead) -> None:
        """Counts the pods that are nominated to nodes as if they were there."""
        for row, pods in nominated.items():
            for limit in self.limits:
                limit.spare[row] -= sum([limit.weight_of(pod, row) for pod in pods])
            if self.demand is not None:
                self.demand.add_nominated(row, pods)

    def ways_to_fail(self) -> IntColumn:
        """By row: a number for the first objection while nominated pods are there; 0: it has none."""
        ways = np.zeros(self._rows, np.int64)
        for way in range(len(self.limits), 0, -1):
            ways[self.limits[way - 1].spare < 0] = way
        if self.demand is not None:
            ways[self.demand.unmet(with_nominated=True)] = len(self.limits) + 1
        return ways


class Removal:
    """One preemptor against the table, with all less important pods gone. All columns are by row."""

    def __init__(self, pod: PodInfo, filters: RowFilters, victims: VictimTable, nominations: Nominations) -> None:
        self.pod = pod
        self.filters = filters
        self.local = local = filters.local
        self.victims = victims
        self._table = local.table
        room = local.room()
        #: The checked resources and what the pod needs of each.
        self.needs: tuple[tuple[str, int], ...] = room.amounts if room is not None else ()
        self.counts_pods = room is not None
        below = victims.below(pod.priority, [resource for resource, _ in self.needs])
        #: int64: pods that could go, and what they hold of each resource.
        self.removable = below.count
        self._held = below.amounts
        #: int64: pods that could be there besides the preemptor; negative: not even it.
        self.spare_pods = self._table.allowed_pods.values - self._table.pod_count.values + self.removable - 1
        #: int64 by resource: what would be left beyond the pod's need; negative: does not suffice.
        self.spare = {resource: self._free(resource) + self._held[resource] - need for resource, need in self.needs}
        ports = local.ports()
        self._ports = ports.ports if ports is not None else ()
        self._port_conflicts: dict[PodShape, bool] = {}
        #: bool: a port is taken by somebody who stays; or by anybody.
        self.port_taken: BoolColumn = np.zeros(self._table.capacity, np.bool_)
        self._port_in_use: BoolColumn = np.zeros(self._table.capacity, np.bool_)
        self._mark_taken_ports()
        #: By step of the filters: what those that are not local say.
        self.limited = {
            index: LimitedStep(step, victims, pod.priority)
            for index, step in enumerate(filters.steps)
            if isinstance(step, PodLimits)
        }
        self.limits = [limit for step in self.limited.values() for limit in step.limits]
        self._make_room_for(nominations)

    def helps(self) -> BoolColumn:
        """Rows on which the pod fits once all less important pods are gone."""
        fits = (self.removable > 0) & ~self.local.rejected_by_node() & ~self.port_taken
        if self.counts_pods:
            fits &= self.spare_pods >= 0
        for column in self.spare.values():
            fits &= column >= 0
        for limit in self.limits:
            fits &= limit.spare >= 0
        for step in self.limited.values():
            if step.demand is not None:
                fits &= ~step.demand.unmet()
        return fits

    def fits_already(self) -> BoolColumn:
        """Rows on which nobody would have to go after all; only of rows on which the removal helps."""
        fits = ~self._port_in_use
        if self.counts_pods:
            fits &= self.spare_pods >= self.removable
        for resource, column in self.spare.items():
            fits &= column >= self._held[resource]
        for limit in self.limits:
            fits &= limit.spare >= limit.held
        return fits

    def suffices(self, rows: RowIndex, priority: int) -> BoolColumn:
        """For each of the rows: whether the pod may fit if only pods up to that priority go. Ports and limits are not looked
        at."""
        going = self.victims.below(priority + 1, self.spare)
        enough = np.ones(self._table.capacity, np.bool_)
        if self.counts_pods:
            enough &= self.spare_pods >= self.removable - going.count
        for resource, column in self.spare.items():
            enough &= column >= self._held[resource] - going.amounts[resource]
        return enough[rows]

    def conflicts(self, pod: PodInfo) -> bool:
        """Whether the pod holds a host port that the preemptor wants."""
        shape = pod.shape
        if not self._ports or not shape.host_ports:
            return False
        known = self._port_conflicts.get(shape)
        if known is None:
            known = self._port_conflicts[shape] = ports_conflict(self._ports, shape.host_ports)
        return known

    def cells(self, rows: RowIndex) -> tuple[RowIndex, RowIndex]:
        """Where the removable pods of the rows begin in the pool, and how many there are: they are the last of a row."""
        count = self.removable[rows].astype(np.intp)
        return self.victims.first[rows] + self.victims.count[rows] - count, count

    def port_conflict_cells(self, rows: RowIndex) -> NDArray[np.intp]:
        """Cells of the pool whose pods hold a port that the preemptor wants, on these rows."""
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
        """Marks taken ports. As upstream has it, a port is free once one user has gone, even if somebody else holds it too."""
        if not self._ports:
            return
        for row in self._table.sparse.used_ports:
            pods = self.victims.pods[row]
            freed = {port for pod in pods if pod.priority < self.pod.priority for port in pod.shape.host_ports}
            kept = [port for port in self._table.sparse.used_ports[row] if port not in freed]
            self.port_taken[row] = ports_conflict(self._ports, kept)
            self._port_in_use[row] = ports_conflict(self._ports, self._table.sparse.used_ports[row])

    def _make_room_for(self, nominations: Nominations) -> None:
        """Leaves room for pods that are at least as important and nominated to a node: they will be there, too."""
        nominated = nominations.ahead_of(self.pod)
        self.spare_pods[nominated.rows] -= nominated.counts
        for resource, column in self.spare.items():
            column[nominated.rows] -= nominated.amounts(resource)
        for step in self.limited.values():
            step.make_room_for(nominated)
        for position in nominated.with_ports() if self._ports else ():
            if any(map(self.conflicts, nominated.pods(position))):
                self.port_taken[nominated.rows[position]] = True


# -- one row -----------------------------------------------------------------------------------------------------------


def reprieve_in_order(
    removal: Removal, row: int, violating: Sequence[PodInfo], others: Sequence[PodInfo], now: float
) -> Candidate:
    """The row as a candidate when `violating` pods are put back before the `others`.

    Rows are looked at one by one where a disruption budget would be violated, or where the start of some pods is not known.
    """
    room = _Room(removal, row)
    lost = [pod for pod in violating if not room.takes(pod)]
    violations = len(lost)
    lost += [pod for pod in others if not room.takes(pod)]
    victims = by_importance(lost, now) if violating and others else lost
    return Candidate(removal.local.table.names[row], tuple(victims), violations)


class _Room:
    """The room left on a row for pods that are put back."""

    def __init__(self, removal: Removal, row: int) -> None:
        self._removal = removal
        self._spare = {resource: int(column[row]) for resource, column in removal.spare.items()}
        self._spare_pods = int(removal.spare_pods[row])
        self._limits = [(limit, int(limit.spare[row])) for limit in removal.limits]
        self._row = row

    def takes(self, pod: PodInfo) -> bool:
        """Puts the pod back if it fits."""
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
