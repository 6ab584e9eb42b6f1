"""What both score kernels of this folder read: the columns of `allocation`, and the way out of int64 arithmetic.

A kernel scores all rows at once as long as what the nodes offer is ordinary. Amounts from 64 Pi on, and negative ones,
which quantities too great for an int64 turn into, go row by row through Python's integers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.config import ResourceSpec
from steersman.framework.columns import Column, Depends, IntColumn, NodesView, Rows, ScoreKernel
from steersman.framework.pod_resources import CPU, MEMORY
from steersman.plugins.node_resources.allocation import takes_part

FloatColumn = NDArray[np.float64]

#: A hundred times anything below fits an int64.
_ORDINARY: Final = 1 << 56

UsedColumn = Callable[[NodesView, str], Column]
"""The column of how much of a resource the pods on each node use."""


class ScoredResource(NamedTuple):
    """One configured resource that takes part in the score of the pod."""

    weight: int
    wanted: int
    offered: Column
    used: Column


class AllocationKernel(ScoreKernel):
    """Scores rows by the amounts of the resources that take part."""

    depends = Depends.NODE_PODS

    def __init__(self, resources: Sequence[ScoredResource], view: NodesView) -> None:
        self.resources = resources
        #: The same for one row.
        self.cells = tuple((r.weight, r.wanted, r.offered.cell, r.used.cell) for r in resources)
        self._row_numbers = np.arange(view.capacity)

    @abstractmethod
    def scores(self, offered: Sequence[IntColumn], used: Sequence[IntColumn], largest: int) -> IntColumn:
        """Scores of some rows by what they offer of each resource, `largest` at most, and what is used of it."""

    def rows(self, rows: Rows) -> IntColumn:
        offered = [resource.offered.values[rows] for resource in self.resources]
        largest = max(map(_largest, offered), default=_ORDINARY)
        if largest >= _ORDINARY:
            return np.array([self.row(row) for row in self._row_numbers[rows].tolist()], np.int64)
        return self.scores(offered, [resource.used.values[rows] for resource in self.resources], largest)


def scored_resources(
    specs: Sequence[ResourceSpec], requests: Sequence[int], view: NodesView, used_column: UsedColumn
) -> tuple[ScoredResource, ...]:
    """The columns of the resources that take part in the score of a pod with these requests, in configured order."""
    return tuple(
        ScoredResource(spec.weight, wanted, view.allocatable(spec.name), used_column(view, spec.name))
        for spec, wanted in zip(specs, requests, strict=True)
        if takes_part(spec.name, wanted)
    )


def requested_column(view: NodesView, resource: str) -> Column:
    return view.requested(resource)


def requested_with_minimum_column(view: NodesView, resource: str) -> Column:
    """Containers that request no cpu or memory count with the scheduler's minimum."""
    return view.nonzero_requested(resource) if resource in (CPU, MEMORY) else view.requested(resource)


def filled(used: IntColumn, wanted: int, offered: IntColumn) -> IntColumn:
    """What would be requested with the pod, at most what is offered: min(used + wanted, offered) without overflow."""
    amount = np.minimum(used, offered - wanted)
    amount += wanted
    return amount


def _largest(amounts: IntColumn) -> int:
    """Read as unsigned numbers, negative ones are the largest of all."""
    return int(np.maximum.reduce(amounts.view(np.uint64), initial=0))
