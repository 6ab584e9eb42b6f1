"""Scalar plugins that promise what their answers depend on, as kernels: cached like the in-tree ones.

A plugin makes the promise with `depends = Depends.NODE` or `Depends.NODE_PODS`, and names what it looks at in the pod with
`fragment(pod)`. Without the promise it is asked in every cycle.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from steersman.cycle.scalar import check_score
from steersman.framework.columns import (
    ALL_ROWS,
    Depends,
    FilterKernel,
    IntColumn,
    NodesView,
    Normalize,
    ReasonColumn,
    Rows,
    ScoreKernel,
    StatusTable,
)
from steersman.framework.cycle_state import CycleState
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
    return function(pod) if callable(function) else pod.uid


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

    def row(self, row: int) -> int:
        status = self._run(self._state, self._pod, self._view.info(row))
        if status is None:
            return 0
        if not status.is_rejected:
            raise CycleAborted(status)
        return self._statuses.id_of(status)

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

    def row(self, row: int) -> int:
        score = self._run(self._state, self._pod, self._view.info(row))
        check_score(self._name, score)
        return score

    def rows(self, rows: Rows) -> IntColumn:
        index, alive = _indices(self._view, rows), self._view.alive
        return np.fromiter((self.row(r) if alive[r] else 0 for r in index.tolist()), np.int64, len(index))


def _indices(view: NodesView, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.arange(view.capacity)[rows] if rows is ALL_ROWS or isinstance(rows, slice) else rows
