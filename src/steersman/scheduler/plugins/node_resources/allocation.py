# SPDX-License-Identifier: Apache-2.0
"""The used and allocatable amounts of the configured resources, which both plugins score.

The amounts are in the order of the configured resources. A resource that does not take part in the
score of this pod on this node has 0 everywhere, and the scoring functions skip it.

Kernels are fast for ordinary amounts. For others (capacities from 64 Pi on, or negative amounts,
the result of quantities beyond int64), the scalar form scores row by row with Go's arithmetic. Its
result may be out of bounds: the scalar engine then fails the pod, but kernels clamp it, since they
also score nodes that are not candidates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, Memo
from steersman.config import ResourceSpec
from steersman.framework import (
    CPU,
    MAX_NODE_SCORE,
    MEMORY,
    MIN_NODE_SCORE,
    Column,
    Depends,
    IntColumn,
    NodeInfo,
    NodesView,
    Rows,
    ScoreKernel,
    int64,
    is_accounted,
    is_scalar,
)
from steersman.scheduler.plugins.node_resources.device_scores import DeviceAmounts

ERR_NO_RESOURCES: Final = "resources not found"

ScoreNode = Callable[[Sequence[int], Sequence[int], Sequence[int]], int]
"""Scores a node by amounts requested with the pod, allocated without it, and allocatable."""

UsedAmount = Callable[[NodeInfo, str], int]
"""Returns how much of a resource the pods on a node use."""


class Allocation(NamedTuple):
    """The amounts on a node, one per configured resource."""

    requested: tuple[int, ...]
    allocated: tuple[int, ...]
    allocatable: tuple[int, ...]


def allocation(
    resources: Sequence[ResourceSpec],
    node: NodeInfo,
    pod_requests: Sequence[int],
    used_amount: UsedAmount,
    devices: DeviceAmounts | None = None,
) -> Allocation:
    """Return the amounts on the node with and without the pod, whose requests are in the order of
    `resources`. `devices` may provide resources that the node does not offer."""
    requested, allocated, allocatable = [], [], []
    for spec, wanted in zip(resources, pod_requests, strict=True):
        offered = node.allocatable(spec.name) if takes_part(spec.name, wanted) else 0
        used = used_amount(node, spec.name) if offered else 0
        if not offered and wanted and devices is not None:
            offered, used = devices.amounts_on(node.node, spec.name)
        allocatable.append(offered)
        allocated.append(used)
        requested.append(int64(used + wanted) if offered else 0)
    return Allocation(tuple(requested), tuple(allocated), tuple(allocatable))


def takes_part(resource: str, wanted: int) -> bool:
    """Return whether the resource is scored: scalar ones only if requested, unknown ones never."""
    return wanted != 0 if is_scalar(resource) else is_accounted(resource)


def requested_on(node: NodeInfo, resource: str) -> int:
    return node.requested(resource)


def requested_with_minimum_on(node: NodeInfo, resource: str) -> int:
    """Return the requested amount, with a minimum for containers without cpu or memory requests."""
    return node.nonzero_requested(resource) if resource in (CPU, MEMORY) else node.requested(resource)


# -- the vector form ---------------------------------------------------------------------------------------------------

FloatColumn = NDArray[np.float64]
Amounts = NDArray[np.int64]
"""int64[resources, rows]: a column of amounts for each resource."""

# Operations with such arrays take half the time: plain numbers have to be converted every time.
ZERO: Final = np.array(0)
ONE: Final = np.array(1)
HUNDRED: Final = np.array(100)

#: Capacities below this are ordinary: a hundred times such a capacity fits an int64.
ORDINARY_CAPACITY: Final = 1 << 56
#: Used and wanted amounts below this are ordinary: the sum of two of them fits an int64.
_ORDINARY_USE: Final = 1 << 62

UsedColumn = Callable[[NodesView, str], Column]
"""Returns the column of the amounts of a resource that the pods on each node use."""


class ScoredResource(NamedTuple):
    """One configured resource that takes part in the score of the pod."""

    spec: ResourceSpec
    wanted: int
    offered: Column
    used: Column


LARGEST_OFFER = CacheSpec(
    name="largest offers",
    attributes=("AllocationKernel._largest",),
    contents="the largest amount that any node offers of the scored resources",
    key="one for each kernel",
    invalidation="end of the log of changed nodes (`Memo`)",
    limit="one number",
    reference="the greatest cell of the columns",
    checked_by="tests/plugins/node_resources/test_fit_score_columns.py",
)


class AllocationKernel(ScoreKernel):
    """Scores rows by the amounts of the scored resources; `score_node` is the scalar form."""

    depends = Depends.NODE_PODS

    def __init__(self, resources: Sequence[ScoredResource], view: NodesView, score_node: ScoreNode) -> None:
        self.resources = resources
        #: Weight, wanted amount, offered cell and used cell of each resource, for `row`.
        self.cells = tuple((r.spec.weight, r.wanted, r.offered.cell, r.used.cell) for r in resources)
        self._score_node = score_node
        self.reads_only_amounts = all(resource.spec.name in (CPU, MEMORY) for resource in resources)
        self._capacity = view.capacity
        self._wants_ordinary = bool(resources) and all(0 <= r.wanted < _ORDINARY_USE for r in resources)
        self._offered = [resource.offered.values for resource in resources]
        self._used = [resource.used.values for resource in resources]
        self._node_log = view.node_log
        #: The largest of the offered amounts.
        self._largest: Memo[int] = Memo()
        #: The pod's request for each resource, as a column of `Amounts`.
        self.wanted = np.array([[resource.wanted] for resource in resources] if self._wants_ordinary else [], np.int64)

    def rows(self, rows: Rows) -> IntColumn:
        if self._wants_ordinary:
            largest = self._largest.get(self._node_log.end, lambda: max(map(_largest, self._offered)))
            used = self._taken(self._used, rows)
            if largest < ORDINARY_CAPACITY and _largest(used) < _ORDINARY_USE:
                return self.scores(self._taken(self._offered, rows), used, largest)
        return np.array([self.row(row) for row in np.arange(self._capacity)[rows].tolist()], np.int64)

    def _taken(self, columns: Sequence[IntColumn], rows: Rows) -> Amounts:
        """Stack these rows of the columns: one operation for all resources takes half the time."""
        amounts = np.empty((len(columns), self._capacity if isinstance(rows, slice) else len(rows)), np.int64)
        for index, column in enumerate(columns):
            amounts[index] = column[rows]
        return amounts

    @abstractmethod
    def scores(self, offered: Amounts, used: Amounts, largest: int) -> IntColumn:
        """Return the scores of rows with these ordinary amounts of each resource. No offered amount
        exceeds `largest`."""

    def scalar_score(self, row: int) -> int:
        """Return the score of the row by the scalar form, clamped to the valid range."""
        offered = [cell[row] for _, _, cell, _ in self.cells]
        used = [cell[row] for _, _, _, cell in self.cells]
        requested = [int64(amount + wanted) for amount, (_, wanted, _, _) in zip(used, self.cells, strict=True)]
        return min(max(self._score_node(requested, used, offered), MIN_NODE_SCORE), MAX_NODE_SCORE)


def scored_resources(
    specs: Sequence[ResourceSpec], requests: Sequence[int], view: NodesView, used_column: UsedColumn
) -> tuple[ScoredResource, ...]:
    """Return the columns of the scored resources for these requests, in configured order."""
    return tuple(
        ScoredResource(spec, wanted, view.allocatable(spec.name), used_column(view, spec.name))
        for spec, wanted in zip(specs, requests, strict=True)
        if takes_part(spec.name, wanted)
    )


def requested_column(view: NodesView, resource: str) -> Column:
    return view.requested(resource)


def requested_with_minimum_column(view: NodesView, resource: str) -> Column:
    """Return the column of requests; containers without cpu or memory requests count a minimum."""
    return view.nonzero_requested(resource) if resource in (CPU, MEMORY) else view.requested(resource)


def _largest(amounts: Amounts) -> int:
    """Return the largest amount. As unsigned numbers, negative ones are larger than all others."""
    return int(np.maximum.reduce(amounts.view(np.uint64), axis=None, initial=0))
