# SPDX-License-Identifier: Apache-2.0
"""The allocation that both plugins of this folder score: how much of each configured resource is, or would be, taken.

The amounts stand in the order of the configured resources. A resource that does not take part in the score of this pod
on this node has 0 everywhere, and the scoring functions pass over it.

Kernels are fast where amounts are ordinary. Where they are not (capacities from 64 Pi on, or negative amounts, which
quantities too great for an int64 turn into), the scalar form answers row by row, with Go's arithmetic. What comes out of
that may be out of bounds. The scalar engine then gives up on the pod; kernels, which answer for nodes that nobody may have
asked about, limit it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.config import ResourceSpec
from steersman.derived import Derived
from steersman.framework.columns import Depends, ScoreKernel
from steersman.framework.go_integers import int64
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import (
    Column,
    IntColumn,
    NodesView,
    Rows,
)
from steersman.framework.plugin import MAX_NODE_SCORE, MIN_NODE_SCORE
from steersman.framework.pod_resources import CPU, MEMORY, is_accounted, is_scalar
from steersman.kept import Kept
from steersman.plugins.node_resources.device_scores import DeviceAmounts

ERR_NO_RESOURCES: Final = "resources not found"

ScoreNode = Callable[[Sequence[int], Sequence[int], Sequence[int]], int]
"""Scores a node by what would be requested with the pod, what is allocated without it, and what the node offers."""

UsedAmount = Callable[[NodeInfo, str], int]
"""How much of a resource the pods on a node use."""


class Allocation(NamedTuple):
    """One amount per configured resource in each column."""

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
    """The state of the node with and without the pod, whose requests stand in the order of `resources`. `devices` may
    provide what the node does not offer."""
    requested, allocated, allocatable = [], [], []
    for spec, wanted in zip(resources, pod_requests, strict=True):
        offered = node.allocatable(spec.name) if takes_part(spec.name, wanted) else 0
        used = used_amount(node, spec.name) if offered else 0
        if not offered and wanted and devices is not None:
            offered, used = devices.of(node.node, spec.name)
        allocatable.append(offered)
        allocated.append(used)
        requested.append(int64(used + wanted) if offered else 0)
    return Allocation(tuple(requested), tuple(allocated), tuple(allocatable))


def takes_part(resource: str, wanted: int) -> bool:
    """Extended and other scalar resources count only for pods that request them; names without an account never."""
    return wanted != 0 if is_scalar(resource) else is_accounted(resource)


def requested_on(node: NodeInfo, resource: str) -> int:
    return node.requested(resource)


def requested_with_minimum_on(node: NodeInfo, resource: str) -> int:
    """Containers that request no cpu or memory count with the scheduler's minimum."""
    return node.nonzero_requested(resource) if resource in (CPU, MEMORY) else node.requested(resource)


# -- the vector form ---------------------------------------------------------------------------------------------------

FloatColumn = NDArray[np.float64]
Amounts = NDArray[np.int64]
"""int64[resources, rows]: a column of amounts for each resource."""

# Operations with such arrays take half the time of operations with plain numbers, which have to be converted every time.
ZERO: Final = np.array(0)
ONE: Final = np.array(1)
HUNDRED: Final = np.array(100)

#: Capacities below are ordinary: a hundred times one of them fits an int64.
ORDINARY_CAPACITY: Final = 1 << 56
#: Used and wanted amounts below are ordinary: the sum of two of them fits an int64.
_ORDINARY_USE: Final = 1 << 62

UsedColumn = Callable[[NodesView, str], Column]
"""The column of how much of a resource the pods on each node use."""


class ScoredResource(NamedTuple):
    """One configured resource that takes part in the score of the pod."""

    spec: ResourceSpec
    wanted: int
    offered: Column
    used: Column


LARGEST_OFFER = Kept(
    name="largest offers",
    attributes=("AllocationKernel._largest",),
    holds="the largest amount that any node offers of the scored resources",
    key="one for each kernel",
    stamps="end of the log of changed nodes (`Derived`)",
    bound="one number",
    twin="the greatest cell of the columns",
    held_equal="tests/plugins/node_resources/test_fit_score_columns.py",
)


class AllocationKernel(ScoreKernel):
    """Scores rows by the amounts of the resources that take part; `score_node` is the scalar form."""

    depends = Depends.NODE_PODS

    def __init__(self, resources: Sequence[ScoredResource], view: NodesView, score_node: ScoreNode) -> None:
        self.resources = resources
        #: The same for one row: weight, wanted, offered, used.
        self.cells = tuple((r.spec.weight, r.wanted, r.offered.cell, r.used.cell) for r in resources)
        self._score_node = score_node
        self._capacity = view.capacity
        self._wants_ordinary = bool(resources) and all(0 <= r.wanted < _ORDINARY_USE for r in resources)
        self._offered = [resource.offered.values for resource in resources]
        self._used = [resource.used.values for resource in resources]
        self._node_log = view.node_log
        #: The largest of the offered amounts.
        self._largest: Derived[int] = Derived()
        #: What the pod wants of each resource, as a column of `Amounts`.
        self.wanted = np.array([[resource.wanted] for resource in resources] if self._wants_ordinary else [], np.int64)

    def rows(self, rows: Rows) -> IntColumn:
        if self._wants_ordinary:
            largest = self._largest.at(self._node_log.end, lambda: max(map(_largest, self._offered)))
            used = self._taken(self._used, rows)
            if largest < ORDINARY_CAPACITY and _largest(used) < _ORDINARY_USE:
                return self.scores(self._taken(self._offered, rows), used, largest)
        return np.array([self.row(row) for row in np.arange(self._capacity)[rows].tolist()], np.int64)

    def _taken(self, columns: Sequence[IntColumn], rows: Rows) -> Amounts:
        """The given rows of the columns, together: one operation for all resources takes half the time."""
        amounts = np.empty((len(columns), self._capacity if isinstance(rows, slice) else len(rows)), np.int64)
        for index, column in enumerate(columns):
            amounts[index] = column[rows]
        return amounts

    @abstractmethod
    def scores(self, offered: Amounts, used: Amounts, largest: int) -> IntColumn:
        """Scores of some rows by what they offer of each resource, `largest` at most, and what is used of it; all of
        it ordinary."""

    def scalar_score(self, row: int) -> int:
        """The score of the row by the scalar form, within bounds."""
        offered = [cell[row] for _, _, cell, _ in self.cells]
        used = [cell[row] for _, _, _, cell in self.cells]
        requested = [int64(amount + wanted) for amount, (_, wanted, _, _) in zip(used, self.cells, strict=True)]
        return min(max(self._score_node(requested, used, offered), MIN_NODE_SCORE), MAX_NODE_SCORE)


def scored_resources(
    specs: Sequence[ResourceSpec], requests: Sequence[int], view: NodesView, used_column: UsedColumn
) -> tuple[ScoredResource, ...]:
    """The columns of the resources that take part in the score of a pod with these requests, in configured order."""
    return tuple(
        ScoredResource(spec, wanted, view.allocatable(spec.name), used_column(view, spec.name))
        for spec, wanted in zip(specs, requests, strict=True)
        if takes_part(spec.name, wanted)
    )


def requested_column(view: NodesView, resource: str) -> Column:
    return view.requested(resource)


def requested_with_minimum_column(view: NodesView, resource: str) -> Column:
    """Containers that request no cpu or memory count with the scheduler's minimum."""
    return view.nonzero_requested(resource) if resource in (CPU, MEMORY) else view.requested(resource)


def _largest(amounts: Amounts) -> int:
    """Read as unsigned numbers, negative ones are the largest of all."""
    return int(np.maximum.reduce(amounts.view(np.uint64), axis=None, initial=0))
