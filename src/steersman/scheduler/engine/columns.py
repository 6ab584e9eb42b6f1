# SPDX-License-Identifier: Apache-2.0
"""Columns of kernel results, updated by the change log; and scores relative to the greatest among
the feasible rows.

One column per plugin and fragment, shared by every signature with that fragment. For up to
`MAX_SINGLE_ROWS` changed rows the kernel's `row` is called for each, above that `rows` for all of
them; after too many changes the whole column is recomputed. Normalised scores depend on which rows
are feasible: a signature adds them to its other scores, and renormalises them when a row becomes
feasible or infeasible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, ChangeLog
from steersman.framework import ALL_ROWS, AnyIntColumn, Depends, FilterKernel, Normalize, ScoreKernel
from steersman.scheduler.state.node_table import NodeTable

#: Up to this many changed rows, single cells are cheaper than a vector operation.
MAX_SINGLE_ROWS = 24

KernelT = TypeVar("KernelT", bound=FilterKernel | ScoreKernel)


FRAGMENT_COLUMNS = CacheSpec(
    name="fragment columns",
    attributes=("FragmentColumn.values", "FragmentColumn.position", "FragmentColumn._epoch"),
    contents="the verdict or score of one kernel for every row",
    key="plugin, fragment of the pod (`Signatures` has the tables)",
    invalidation=(
        "position in the log of changed rows, or of changed nodes if the kernel is node-local: those rows are "
        "re-evaluated; the kernel's epoch: all rows are"
    ),
    limit="those of cached signatures, and 64 spare ones (`WeakValueCache`)",
    reference="`kernel.rows` of all rows",
    is_inline=True,
)


class FragmentColumn(Generic[KernelT]):
    """Results of one kernel for every row. Exact after `sync()` for all rows that have a node."""

    __slots__ = (
        "__weakref__",
        "_epoch",
        "_has_epoch",
        "_log",
        "_nodes",
        "answer",
        "cell",
        "kernel",
        "position",
        "values",
    )

    def __init__(self, kernel: KernelT, table: NodeTable) -> None:
        self.kernel = kernel
        #: The kernel's result for one row that has a node.
        self.answer: Callable[[int], int] = kernel.row
        self._has_epoch = has_epoch(kernel)
        self._nodes = table.nodes
        self._log: ChangeLog[int] = table.log if kernel.depends is Depends.NODE_PODS else table.node_log
        #: Position in the log and epoch of the kernel at which the column was exact. A signature
        #: that follows the log may write the result for the next row itself.
        self.position = self._log.end
        self._epoch = kernel.epoch()
        self.values: AnyIntColumn = _all_rows(kernel, table)
        self.cell = self.values.data

    def sync(self) -> None:
        log = self._log
        end = log.end
        behind = end - self.position
        if behind == 1:
            # The common case after placing a pod: one changed row.
            row = log.entries[-1]
            if self._nodes[row] is not None:
                self.cell[row] = self.answer(row)
            self.position = end
        elif behind:
            self._catch_up(log)
        if self._has_epoch and self._epoch != self.kernel.epoch():
            self._recompute()

    def follow(self, position: int, rows: Collection[int] | NDArray[np.intp]) -> None:
        """Update like `sync`, given the rows that changed since `position`; an array if they are
        many."""
        if self.position != position:
            self.sync()
            return
        if isinstance(rows, np.ndarray):
            self.values[rows] = self.kernel.rows(rows)
        else:
            self._update_few(rows)
        self.position = self._log.end
        if self._has_epoch and self._epoch != self.kernel.epoch():
            self._recompute()

    def _catch_up(self, log: ChangeLog[int]) -> None:
        rows = log.since(self.position)
        if rows is None or len(rows) > len(self.values) // 2:
            self._recompute()
        elif len(rows) <= MAX_SINGLE_ROWS:
            self._update_few(rows)
        else:
            index: NDArray[np.intp] = np.fromiter(rows, np.intp, len(rows))
            self.values[index] = self.kernel.rows(index)
        self.position = log.end

    def _update_few(self, rows: Collection[int]) -> None:
        nodes, answer, cell = self._nodes, self.answer, self.cell
        for row in rows:
            if nodes[row] is not None:
                cell[row] = answer(row)

    def _recompute(self) -> None:
        self.values[:] = self.kernel.rows(ALL_ROWS)
        self._epoch = self.kernel.epoch()


def _all_rows(kernel: FilterKernel | ScoreKernel, table: NodeTable) -> AnyIntColumn:
    """Return the results for all rows in a new array; those of equal rows are computed once."""
    classes = table.row_classes() if kernel.reads_only_amounts else None
    if classes is None:
        # A copy, because the kernel may return an array that must not be modified.
        return np.array(kernel.rows(ALL_ROWS), order="C")
    members, class_of = classes
    values: AnyIntColumn = kernel.rows(members)
    return values.take(class_of)


def has_epoch(kernel: FilterKernel | ScoreKernel) -> bool:
    """Return whether the kernel's results may change for a reason outside the row."""
    return type(kernel).epoch not in (FilterKernel.epoch, ScoreKernel.epoch)


MAX_SCORE = 100

ScoreColumn = FragmentColumn[ScoreKernel]


class WeightedColumn:
    """A score column with its weight in the profile."""

    __slots__ = ("column", "normalize", "weight")

    def __init__(self, column: ScoreColumn, weight: int) -> None:
        self.column = column
        self.weight = weight
        self.normalize = column.kernel.normalize


RELATIVE_SCORES = CacheSpec(
    name="relative scores",
    attributes=("RelativeScores.values", "RelativeScores._maxima"),
    contents="the weighted sum of the scores that are normalised over the feasible rows",
    key="one for each signature",
    invalidation="the greatest raw scores among the feasible rows; after any change if a column follows pods",
    limit="one for each signature",
    reference="rebuilt from the columns",
)


class RelativeScores:
    """The weighted sum of several columns, normalised for a set of feasible rows."""

    __slots__ = ("_dtype", "_follows_pods", "_maxima", "_parts", "cell", "values")

    def __init__(
        self, parts: Sequence[WeightedColumn], penalty: AnyIntColumn, dtype: type[np.signedinteger[Any]]
    ) -> None:
        self._parts = parts
        self._dtype = dtype
        self._follows_pods = any(part.column.kernel.depends is Depends.NODE_PODS for part in parts)
        self._maxima = self._maxima_of(penalty)
        #: dtype[capacity], and its memoryview.
        self.values = self._sum(self._maxima)
        self.cell = self.values.data

    def update(self, penalty: AnyIntColumn) -> None:
        """Update the scores for the rows without penalty."""
        maxima = self._maxima_of(penalty)
        if maxima != self._maxima or self._follows_pods:
            self._maxima = maxima
            self.values = self._sum(maxima)
            self.cell = self.values.data

    def for_rows(self, penalty: AnyIntColumn) -> AnyIntColumn:
        """Return the scores for another set of feasible rows; read-only."""
        maxima = self._maxima_of(penalty)
        return self.values if maxima == self._maxima and not self._follows_pods else self._sum(maxima)

    def _maxima_of(self, penalty: AnyIntColumn) -> list[int]:
        """Return the greatest raw scores among the rows without penalty, at least 0."""
        return [max(0, int(np.add(part.column.values, penalty, dtype=np.int64).max(initial=0))) for part in self._parts]

    def _sum(self, maxima: Sequence[int]) -> AnyIntColumn:
        total = np.zeros(len(self._parts[0].column.values), self._dtype)
        for part, greatest in zip(self._parts, maxima, strict=True):
            total += np.multiply(
                normalise(part.column.values, greatest, part.normalize), part.weight, dtype=self._dtype
            )
        return total


def normalise(raw: AnyIntColumn, greatest: int, how: Normalize) -> AnyIntColumn:
    """Scale raw scores to 0..100 relative to the greatest among the feasible rows; see
    `Normalize`."""
    if how is Normalize.NONE:
        return raw
    reverse = how is Normalize.DEFAULT_REVERSE
    if greatest <= 0:
        return np.full_like(raw, MAX_SCORE) if reverse else raw
    scaled = MAX_SCORE * raw // greatest
    return MAX_SCORE - scaled if reverse else scaled
