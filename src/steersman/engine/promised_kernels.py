# SPDX-License-Identifier: Apache-2.0
"""Scalar plugins that promise what their answers depend on, as kernels: cached like the in-tree ones.

A plugin makes the promise with `depends = Depends.NODE` or `Depends.NODE_PODS`, and names what it looks at in the pod with
`fragment(pod)`. Without the promise it is asked in every cycle.

Such a kernel asks about every node, also about those that another plugin rejects. A plugin that breaks there must not
fail the pod, so faults are kept by row and matter only where the node does.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from steersman.api import Pod
from steersman.engine.scalar import check_score
from steersman.framework.columns import (
    Depends,
    FilterKernel,
    Normalize,
    ScoreKernel,
    StatusTable,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.nodes_view import (
    ALL_ROWS,
    IntColumn,
    NodesView,
    ReasonColumn,
    Rows,
)
from steersman.framework.pod_info import PodInfo
from steersman.runtime.faults import CycleAborted
from steersman.runtime.methods import FilterMethod, ScoreMethod


def promise(plugin: object) -> Depends | None:
    """What the plugin promises that its answers depend on; None: nothing."""
    depends = getattr(plugin, "depends", None)
    return depends if isinstance(depends, Depends) else None


def fragment(plugin: object, pod: PodInfo) -> Hashable:
    """What the plugin looks at in the pod; the whole pod when it does not say."""
    function = getattr(plugin, "fragment", None)
    return function(pod) if callable(function) else WholePod(pod.pod)


class WholePod:
    """A pod as it is now: equal only to itself, since any change of the pod makes another object."""

    __slots__ = ("_pod",)

    def __init__(self, pod: Pod) -> None:
        self._pod = pod

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WholePod) and other._pod is self._pod

    def __hash__(self) -> int:
        return id(self._pod)


class PromisedFilter(FilterKernel):
    """Asks the scalar filter, row by row."""

    def __init__(
        self, run: FilterMethod, pod: PodInfo, view: NodesView, statuses: StatusTable, depends: Depends
    ) -> None:
        self.depends = depends
        self._run = run
        self._pod = pod
        self._view = view
        self._statuses = statuses
        self._state = CycleState()
        #: Rows for which the plugin broke when it was last asked. They count as rejected.
        self.broken_rows: set[int] = set()

    def row(self, row: int) -> int:
        status = self._run(self._state, self._pod, self._view.info(row))
        if status is None or status.is_rejected:
            self.broken_rows.discard(row)
        else:
            self.broken_rows.add(row)
        return 0 if status is None else self._statuses.id_of(status)

    def rows(self, rows: Rows) -> ReasonColumn:
        index, alive = _indices(self._view, rows), self._view.alive
        return np.fromiter((self.row(r) if alive[r] else 0 for r in index.tolist()), np.int32, len(index))


class PromisedScore(ScoreKernel):
    """Asks the scalar score, row by row."""

    def __init__(self, run: ScoreMethod, pod: PodInfo, view: NodesView, depends: Depends, name: str) -> None:
        self.depends = depends
        self.normalize = Normalize.NONE
        self._name = name
        self._run = run
        self._pod = pod
        self._view = view
        self._state = CycleState()
        #: By row: what was wrong when the plugin was last asked. The row's score is 0 then.
        self.faults: dict[int, CycleAborted] = {}

    def row(self, row: int) -> int:
        try:
            score = self._run(self._state, self._pod, self._view.info(row))
            check_score(self._name, score)
        except CycleAborted as fault:
            self.faults[row] = fault
            return 0
        self.faults.pop(row, None)
        return score

    def rows(self, rows: Rows) -> IntColumn:
        index, alive = _indices(self._view, rows), self._view.alive
        return np.fromiter((self.row(r) if alive[r] else 0 for r in index.tolist()), np.int64, len(index))


def _indices(view: NodesView, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.arange(view.capacity)[rows] if rows is ALL_ROWS or isinstance(rows, slice) else rows
