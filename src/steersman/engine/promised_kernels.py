# SPDX-License-Identifier: Apache-2.0
"""Scalar plugins that promise what their answers depend on, as kernels: cached like the in-tree ones.

A plugin makes the promise with `depends = Depends.NODE` or `Depends.NODE_PODS`, and names what it looks at in the pod with
`fragment(pod)`. Without the promise it is asked in every cycle.

Such a kernel asks about every node, also about those that another plugin rejects. A plugin that breaks there must not
fail the pod, so faults are kept by row and matter only where the node does.

A plugin that normalises its scores looks at all feasible nodes together. Its raw scores are kept, and it is asked to
normalise them in every cycle.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from steersman.api import Pod
from steersman.engine.columns import FragmentColumn
from steersman.engine.scalar import check_score, normalised_scores
from steersman.framework.columns import (
    ClusterScoreKernel,
    Depends,
    Feasible,
    FilterKernel,
    Normalize,
    ScoreKernel,
    StatusTable,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.go_integers import MAX_INT64, MIN_INT64
from steersman.framework.nodes_view import (
    ALL_ROWS,
    IntColumn,
    NodesView,
    ReasonColumn,
    Rows,
)
from steersman.framework.plugin import NodeScore
from steersman.framework.pod_info import PodInfo
from steersman.runtime.faults import CycleAborted
from steersman.runtime.methods import FilterMethod
from steersman.runtime.profile import ScoreCall
from steersman.state.node_table import NodeTable


def promise(plugin: object) -> Depends | None:
    """The promise of the plugin: what its answers depend on; None: it promises nothing."""
    depends = getattr(plugin, "depends", None)
    return depends if isinstance(depends, Depends) else None


def fragment(plugin: object, pod: PodInfo) -> Hashable:
    """The part of the pod that the plugin looks at; the whole pod when it does not say. In a tuple: a plugin that looks at
    nothing may say None, which kernels say when they are not to be shared."""
    function = getattr(plugin, "fragment", None)
    return (function(pod),) if callable(function) else WholePod(pod.pod)


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
    """Asks the scalar score, row by row. Scores that the plugin normalises may be out of bounds before."""

    def __init__(self, call: ScoreCall, pod: PodInfo, view: NodesView, depends: Depends) -> None:
        self.depends = depends
        self.normalize = Normalize.NONE
        self._call = call
        self._pod = pod
        self._view = view
        self._state = CycleState()
        #: By row: what was wrong when the plugin was last asked. The row's score is 0 then.
        self.faults: dict[int, CycleAborted] = {}
        #: By row: scores before normalisation that no column can hold. The row's score is 0 then.
        self.beyond_int64: dict[int, int] = {}

    def row(self, row: int) -> int:
        self.beyond_int64.pop(row, None)
        try:
            score = self._call.run(self._state, self._pod, self._view.info(row))
            if self._call.normalize is None:
                check_score(self._call.name, score)
        except CycleAborted as fault:
            self.faults[row] = fault
            return 0
        self.faults.pop(row, None)
        if not MIN_INT64 <= score <= MAX_INT64:
            self.beyond_int64[row] = score
            return 0
        return score

    def rows(self, rows: Rows) -> IntColumn:
        index, alive = _indices(self._view, rows), self._view.alive
        return np.fromiter((self.row(r) if alive[r] else 0 for r in index.tolist()), np.int64, len(index))


class PromisedNormalizedScore(ClusterScoreKernel):
    """The raw scores of a `PromisedScore`, kept by row, and the plugin's normalisation of those that are feasible."""

    def __init__(self, raw: FragmentColumn[ScoreKernel], call: ScoreCall, pod: PodInfo, table: NodeTable) -> None:
        assert isinstance(raw.kernel, PromisedScore)
        self._raw = raw
        self._asked = raw.kernel
        self._call = call
        self._pod = pod
        self._table = table

    @property
    def faults(self) -> Mapping[int, CycleAborted]:
        """By row: what is wrong with the raw score now."""
        self._raw.sync()
        return self._asked.faults

    def skipped(self, feasible: Feasible) -> bool:
        return False

    def raw(self, feasible: Feasible) -> IntColumn:
        self._raw.sync()
        beyond = self._asked.beyond_int64
        if not beyond:
            return self._raw.values.astype(np.int64, copy=False)
        column = self._raw.values.astype(object)
        for row, score in beyond.items():
            column[row] = score
        return column

    def normalized(self, feasible: Feasible) -> IntColumn:
        """CycleAborted when the plugin cannot normalise the scores, or leaves one out of bounds."""
        rows, names = feasible.rows, self._table.names
        raw = self.raw(feasible)[rows].tolist()
        entries = [NodeScore(names[row], score) for row, score in zip(rows.tolist(), raw, strict=True)]
        column = np.zeros(self._table.capacity, np.int64)
        column[rows] = normalised_scores(self._call, CycleState(), self._pod, entries)
        return column


def _indices(view: NodesView, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.arange(view.capacity)[rows] if rows is ALL_ROWS or isinstance(rows, slice) else rows
