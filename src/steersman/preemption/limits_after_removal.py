# SPDX-License-Identifier: Apache-2.0
"""Answers of filters that are not local for every node once all pods of lower priority are gone: spreading and affinity.

Part of `removal`, for filters that say what pods of a node mean to them (`framework.pod_limits`). A limit is like a resource of
which pods take their weight, so that `reprieve` puts pods back as it does with resources; a demand that is met without the
removed pods is met whoever is put back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steersman.framework.nodes_view import BoolColumn, IntColumn
from steersman.framework.pod_info import PodInfo
from steersman.framework.pod_limits import PodDemand, PodLimit, PodLimits
from steersman.preemption.victim_table import VictimTable
from steersman.state.nominations import NominatedAhead


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
