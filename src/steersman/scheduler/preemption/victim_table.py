# SPDX-License-Identifier: Apache-2.0
"""The pods of all nodes as columns, each node's most important first, for the vectorised dry run.

Follows the logs of the node table: only rows that changed since the last preemption are rewritten.
Created with the first preemption.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.api import timestamps
from steersman.base import CacheSpec, ChangeLog
from steersman.base.graph_copy import copied_attributes, shallow, two_levels
from steersman.framework import BoolColumn, IntColumn, PodInfo, PodTemplate, PodWeight
from steersman.scheduler.preemption.candidates import as_equals
from steersman.scheduler.state.node_table import NodeTable

RowIndex = NDArray[np.intp]
Times = NDArray[np.float64]

_MIN_POOL = 256
_SPARE = 4
#: Preemptors have few priorities; sums are cached for the most recent ones.
_MAX_SUMS = 16


class PodsBelow:
    """Number and requests of the pods of lower priority by row."""

    def __init__(self, priority: int) -> None:
        self.priority = priority
        #: int64[rows].
        self.count: IntColumn = np.zeros(0, np.int64)
        #: int64[rows] by resource.
        self.amounts: dict[str, IntColumn] = {}

    def write(self, row: int, pods: Sequence[PodInfo]) -> None:
        """Update the sums of a row; `pods` are all pods on it."""
        lower = [pod.shape.requests for pod in pods if pod.priority < self.priority]
        self.count[row] = len(lower)
        for resource, column in self.amounts.items():
            column[row] = sum([requests.get(resource, 0) for requests in lower])


class PodKinds:
    """Kinds of pods in the pool: pods of one template are of one kind."""

    def __init__(self, cells: int) -> None:
        #: intp[pool]: index into `samples`.
        self.ids: RowIndex = np.zeros(cells, np.intp)
        #: A pod of each kind.
        self.samples: list[PodInfo] = []
        self._known: dict[PodTemplate, int] = {}

    def write(self, begin: int, pods: Sequence[PodInfo]) -> None:
        """Set the kinds of the cells from `begin` on."""
        self.ids[begin : begin + len(pods)] = [self._id(pod) for pod in pods]

    def _id(self, pod: PodInfo) -> int:
        known = self._known.get(pod.template)
        if known is None:
            known = self._known[pod.template] = len(self.samples)
            self.samples.append(pod)
        return known


VICTIMS = CacheSpec(
    name="victims by row",
    attributes=("VictimTable.pods", "VictimTable.priority", "VictimTable._positions", "VictimTable._below"),
    contents="the pods of a row by importance, and sums of those below a priority",
    key="row; priority",
    invalidation="positions in the logs of changed rows and of pods that started: those rows are rewritten",
    limit="pods on rows; sums for 16 most recent priorities",
    reference="the pods of the row, sorted",
    checked_by="tests/preemption/test_victim_table.py",
    is_inline=True,
)
WEIGHTS = CacheSpec(
    name="weights of pods",
    attributes=("VictimTable._kinds", "VictimTable._weights"),
    contents="which pods on rows are of one template, and what these add to a limit or a demand",
    key="cell of a pod; weight and template",
    invalidation="rewriting of the row; epoch of namespaces; all templates are dropped when they outnumber the cells",
    limit="as many templates as cells; the latest 16 weights",
    reference="`PodWeight.weigh`",
    checked_by="tests/preemption/test_columns_equal_plain_search_of_sociable_pods.py",
    is_inline=True,
)


@copied_attributes(pods=two_levels, _space=shallow)
class VictimTable:
    """The pods of one node table by importance. Exact after `sync()`.

    A row's pods are the cells `first[row]` to `first[row] + count[row]` of the pool's columns, and
    `pods[row]`.
    """

    def __init__(self, table: NodeTable, *, has_groups: bool = False) -> None:
        """`has_groups` says whether `grouped` is needed."""
        self._table = table
        self._has_groups = has_groups
        #: intp[rows]: first cell, number of cells, and reserved cells of each row in the pool.
        self.first: RowIndex = np.zeros(0, np.intp)
        self.count: RowIndex = np.zeros(0, np.intp)
        self._space: list[int] = []
        #: The row's pods, most important first. Pods with unknown start come last among equals.
        self.pods: list[list[PodInfo]] = []
        #: bool[rows]: the start of some pods of the row is known and of others not, so that the
        #: order depends on the time.
        self.mixed: BoolColumn = np.zeros(0, np.bool_)
        #: bool[rows]: some pods of the row belong to groups, so that they may not be evicted alone.
        self.grouped: BoolColumn = np.zeros(0, np.bool_)
        #: int64[pool]: priorities.
        self.priority: IntColumn = np.zeros(_MIN_POOL, np.int64)
        #: float64[pool]: start in seconds since the epoch; NaN if unknown.
        self.start: Times = np.zeros(_MIN_POOL, np.float64)
        #: int64[pool] by resource: requests of the pod.
        self._amounts: dict[str, IntColumn] = {}
        #: Sums by priority, most recently used last.
        self._below: dict[int, PodsBelow] = {}
        self._pool_end = 0
        #: Number of cells abandoned by rows that were moved.
        self._wasted = 0
        self._positions = (-1, -1)
        #: Kinds of the pods; None until weights are needed.
        self._kinds: PodKinds | None = None
        #: Weights by kind, possibly without the newest kinds. Most recently used last.
        self._weights: dict[PodWeight, list[int]] = {}
        self._namespaces_epoch = -1
        #: Rows written by the latest `sync`; None for all.
        self.rewritten: Iterable[int] | None = None

    def amounts(self, resource: str) -> IntColumn:
        """Return the requests of a resource by cell, computed on first use. Call `sync` before."""
        column = self._amounts.get(resource)
        if column is None:
            column = self._amounts[resource] = np.zeros(len(self.priority), np.int64)
            for row, pods in enumerate(self.pods):
                start = self.first[row]
                column[start : start + len(pods)] = [pod.requests(resource) for pod in pods]
        return column

    def weights(self, weight: PodWeight) -> IntColumn | None:
        """Return the weights of the pods by cell, or None if all are 0. Call `sync` before."""
        kinds = self._synced_kinds()
        if self._namespaces_epoch != self._table.namespaces_epoch:
            self._namespaces_epoch = self._table.namespaces_epoch
            self._weights.clear()
        known = self._weights.pop(weight, None) or []
        known += [weight.weigh(pod) for pod in kinds.samples[len(known) :]]
        self._weights[weight] = known
        if len(self._weights) > _MAX_SUMS:
            del self._weights[next(iter(self._weights))]
        return np.array(known, np.int64)[kinds.ids] if any(known) else None

    def _synced_kinds(self) -> PodKinds:
        """Return the kinds of the pods by cell, computed on first use."""
        if self._kinds is None:
            self._kinds = PodKinds(len(self.priority))
            self._weights.clear()
            for row, pods in enumerate(self.pods):
                self._kinds.write(int(self.first[row]), pods)
        return self._kinds

    def summed_below(self, priority: int, column: IntColumn) -> IntColumn:
        """Return the sum of a column over the pods of lower priority by row."""
        return self._summed(column * (self.priority < priority))

    def below(self, priority: int, resources: Iterable[str]) -> PodsBelow:
        """Return the sums over the pods of lower priority by row; read-only. Call `sync` before."""
        sums = self._below.pop(priority, None)

        if sums is None:
            sums = PodsBelow(priority)
            sums.count = self._summed((self.priority < priority).astype(np.int64))
        for resource in resources:
            if resource not in sums.amounts:
                sums.amounts[resource] = self._summed(self.amounts(resource) * (self.priority < priority))
        self._below[priority] = sums
        if len(self._below) > _MAX_SUMS:
            del self._below[next(iter(self._below))]
        return sums

    def _summed(self, values: IntColumn) -> IntColumn:
        """Return the sum over the cells of each row."""
        total = np.zeros(len(self.pods), np.int64)
        rows = self.count.nonzero()[0]
        if len(rows):
            bounds = np.empty(2 * len(rows), np.intp)
            bounds[::2] = self.first[rows]
            bounds[1::2] = self.first[rows] + self.count[rows]
            # Every bound must be inside the array; sums between the end of a row and the start of
            # the next are dropped.
            total[rows] = np.add.reduceat(np.append(values, 0), bounds)[::2]
        return total

    def sync(self) -> None:
        """Update from the logs of the node table."""
        table = self._table
        positions = (table.log.end, table.start_log.end)
        changed = _union(table.log, table.start_log, self._positions)
        self._positions = positions
        self._add_rows()
        if self._kinds is not None and len(self._kinds.samples) > len(self.priority):
            # Most kinds are those of deleted pods.
            self._kinds = None
        if changed is None or self._wasted > len(self.priority) // 2:
            self._rewrite_all()
        else:
            for row in changed:
                self._write(row)
        self.rewritten = changed

    def _add_rows(self) -> None:
        missing = self._table.capacity - len(self.pods)
        if missing > 0:
            self._below.clear()
            self.first = np.concatenate([self.first, np.zeros(missing, np.intp)])
            self.count = np.concatenate([self.count, np.zeros(missing, np.intp)])
            self.mixed = np.concatenate([self.mixed, np.zeros(missing, np.bool_)])
            self.grouped = np.concatenate([self.grouped, np.zeros(missing, np.bool_)])
            self._space += [0] * missing
            self.pods += [[] for _ in range(missing)]

    def _rewrite_all(self) -> None:
        self._kinds = None
        self._pool_end = self._wasted = 0
        self._space = [0] * len(self.pods)
        for row in range(len(self.pods)):
            self._write(row)

    def _write(self, row: int) -> None:
        starts = {uid: _start(pod) for uid, pod in self._table.pods_on[row].items()}
        here = as_equals(self._table.pods_on[row].values())
        pods = self.pods[row] = sorted(here, key=lambda pod: (-pod.priority, starts[pod.uid]))
        count = len(pods)
        if count > self._space[row]:
            self._make_space(row, count + _SPARE)
        begin = int(self.first[row])
        cells = slice(begin, begin + count)
        self.count[row] = count
        self.priority[cells] = [pod.priority for pod in pods]
        known = [starts[pod.uid] for pod in pods]
        self.start[cells] = [math.nan if start == math.inf else start for start in known]
        self.mixed[row] = math.inf in known and any(start != math.inf for start in known)
        if self._has_groups:
            self.grouped[row] = any(pod.spec.scheduling_group is not None for pod in pods)
        for resource, column in self._amounts.items():
            column[cells] = [pod.requests(resource) for pod in pods]
        if self._kinds is not None:
            self._kinds.write(begin, pods)
        for sums in self._below.values():
            sums.write(row, pods)

    def _make_space(self, row: int, cells: int) -> None:
        """Move a row to the end of the pool and reserve `cells` cells for it."""
        needed = self._pool_end + cells
        if needed > len(self.priority):
            size = needed + needed // 2
            self.priority = np.resize(self.priority, size)
            self.start = np.resize(self.start, size)
            self._amounts = {name: np.resize(column, size) for name, column in self._amounts.items()}
            if self._kinds is not None:
                self._kinds.ids = np.resize(self._kinds.ids, size)
        self._wasted += self._space[row]
        self.first[row] = self._pool_end
        self._space[row] = cells
        self._pool_end = needed


def _start(pod: PodInfo) -> float:
    """Return the start of a pod for sorting; infinity if it has not started."""
    started = pod.pod.status.start_time
    return math.inf if started is None else timestamps.parse(started)


def _union(log: ChangeLog[int], starts: ChangeLog[int], positions: tuple[int, int]) -> set[int] | None:
    """Return the rows in either log since these positions; None if one no longer reaches back."""
    changed, started = log.since(positions[0]), starts.since(positions[1])
    return None if changed is None or started is None else {*changed, *started}
