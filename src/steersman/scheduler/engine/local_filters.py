# SPDX-License-Identifier: Apache-2.0
"""The filters of one pod, if each depends only on the node and the pods on it.

Built from a signature. With them a what-if question about many nodes needs no plugin calls: a
kernel either depends on the node alone, or has a rule. Preemption needs less (`RowFilters`): other
filters return limits on the pods of a node.

The columnar engine uses them for nodes to which other pods are nominated (`NominatedPodsFilter`): a
pod must leave resources for pods ahead of it, and also fit without them. Rejections by local
filters are found by a few operations on the columns of `state.nominations`. If other filters
follow, the remaining nodes are evaluated one by one where needed: a node that does not pass without
the nominated pods does not pass with them, and only a diagnosis needs to know which rejection comes
first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from steersman.framework import (
    AddedPods,
    BoolColumn,
    ClusterFilterKernel,
    Depends,
    FilterKernel,
    NeedsPorts,
    NeedsResources,
    PodInfo,
    PodLimits,
    ReasonColumn,
    Status,
)
from steersman.scheduler.engine.evaluation_plan import FilterStep, Plan
from steersman.scheduler.engine.report import RowIndex, rows_by_status
from steersman.scheduler.engine.row_totals import FilterColumn
from steersman.scheduler.engine.signatures import SignatureEntry
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.nominations import NominatedAhead

# -- filters of one pod ---------------------------------------------------------------------------


class LocalFilters(msgspec.Struct, frozen=True):
    """The filters in configured order, without those that are skipped or never reject."""

    table: NodeTable
    steps: tuple[tuple[FilterStep, FilterColumn], ...]

    def objection(self, row: int, added: Sequence[PodInfo]) -> Status | None:
        """Return the first rejection by the row if these pods were added."""
        for step, column in self.steps:
            static = column.kernel.rule is None
            reason = int(column.cell[row]) if static else column.kernel.row_with(row, added)
            if reason:
                return step.statuses[reason].with_plugin(step.name)
        return None

    def rejected_with(self, added: AddedPods) -> RowIndex:
        """Return the rows, all of which pass now, that would not pass with the added pods."""
        refused = np.zeros(len(added.rows), np.bool_)
        for _, column in self.steps:
            if column.kernel.rule is not None:
                refused |= _reasons_with(column, added) != 0
        return added.rows[refused]

    def objections(self, added: AddedPods) -> dict[Status, RowIndex]:
        """Return the rejections with the added pods: rows by status."""
        groups: dict[Status, list[RowIndex]] = {}
        passing = np.ones(len(added.rows), np.bool_)
        for step, column in self.steps:
            reasons = _reasons_with(column, added)
            reasons[~passing] = 0
            for reason in set(reasons[reasons != 0].tolist()):
                groups.setdefault(step.statuses[reason].with_plugin(step.name), []).append(
                    added.rows[reasons == reason]
                )
            passing &= reasons == 0
        return {status: np.concatenate(pieces) for status, pieces in groups.items()}

    def rejected_by_node(self) -> BoolColumn:
        """Return the mask of rows that do not pass regardless of their pods. Values for rows
        without a node are unspecified."""
        rejected = np.zeros(self.table.capacity, np.bool_)
        for _, column in self.steps:
            if column.kernel.rule is None:
                rejected |= column.values != 0
        return rejected

    def room(self) -> NeedsResources | None:
        return next((c.kernel.rule for _, c in self.steps if isinstance(c.kernel.rule, NeedsResources)), None)

    def ports(self) -> NeedsPorts | None:
        return next((c.kernel.rule for _, c in self.steps if isinstance(c.kernel.rule, NeedsPorts)), None)


def _reasons_with(column: FilterColumn, added: AddedPods) -> ReasonColumn:
    before: ReasonColumn = column.values[added.rows].astype(np.int32, copy=False)
    return before if column.kernel.rule is None else column.kernel.rows_with(added, before)


def local_filters(plan: Plan, entry: SignatureEntry, table: NodeTable, skipped: Collection[str]) -> LocalFilters | None:
    """Return the filters, or None if one that is not skipped is not node-local and has no rule."""
    if entry.promised_filters or any(s.is_live and s.name not in skipped for s in plan.filters):
        return None
    leading, are_all = _leading(entry, table, skipped)
    return leading if are_all else None


class RowFilters(msgspec.Struct, frozen=True):
    """The filters of one pod, if each is local or gives its limits (`framework.pod_limits`)."""

    #: The local ones.
    local: LocalFilters
    #: All in configured order: the column of a local filter, or the limits of another.
    steps: tuple[FilterColumn | PodLimits, ...]
    #: Plugin names of the steps.
    names: tuple[str, ...]


def row_filters(
    plan: Plan,
    entry: SignatureEntry,
    table: NodeTable,
    skipped: Collection[str],
    coming: Callable[[], Iterable[PodInfo]],
) -> RowFilters | None:
    """Return the filters, or None if one that is not skipped gives no limits. `coming` are
    hypothetical pods on the node, in addition to existing ones."""
    is_uncertain = any(not isinstance(k, ClusterFilterKernel) or k.broken_rows for k in entry.promised_filters)
    if is_uncertain or any(s.is_live and s.name not in skipped for s in plan.filters):
        return None
    local: list[tuple[FilterStep, FilterColumn]] = []
    steps: list[FilterColumn | PodLimits] = []
    names: list[str] = []
    for step, part in entry.filters:
        if part is None or step.name in skipped:
            continue
        names.append(step.name)
        if isinstance(part, ClusterFilterKernel):
            limits = part.pod_limits(coming())
            if limits is None:
                return None
            steps.append(limits)
        elif _is_local(part.kernel):
            part.sync()
            local.append((step, part))
            steps.append(part)
        else:
            return None
    return RowFilters(LocalFilters(table, tuple(local)), tuple(steps), tuple(names))


def leading_filters(entry: SignatureEntry, table: NodeTable, skipped: Collection[str]) -> LocalFilters:
    """Return the local filters before the first that is not local. If a pod is decided by kernels
    alone, no later filter is called for a row that one of them rejects."""
    return _leading(entry, table, skipped)[0]


def _leading(entry: SignatureEntry, table: NodeTable, skipped: Collection[str]) -> tuple[LocalFilters, bool]:
    """Return the filters before the first that is not local, and whether these are all."""
    steps: list[tuple[FilterStep, FilterColumn]] = []
    for step, part in entry.filters:
        if part is None or step.name in skipped:
            continue
        if isinstance(part, ClusterFilterKernel) or not _is_local(part.kernel):
            return LocalFilters(table, tuple(steps)), False
        part.sync()
        steps.append((step, part))
    return LocalFilters(table, tuple(steps)), True


def _is_local(kernel: FilterKernel) -> bool:
    return kernel.depends is Depends.NODE or kernel.rule is not None


# -- nominated pods -------------------------------------------------------------------------------

Examine = Callable[[int, Sequence[PodInfo]], Status | None]
"""Returns the first rejection by a row, with and without these pods on it."""

#: Up to this many nodes, evaluating one by one is cheaper than vector operations.
MAX_SINGLE_NODES = 4
_NONE: RowIndex = np.zeros(0, np.intp)


class NominatedPodsFilter:
    """Rejects rows without enough resources for nominated pods ahead of the pod. Valid as long as
    the evaluation."""

    __slots__ = ("_ahead", "_are_all", "_ask", "_leading", "_objections")

    def __init__(self, ahead: NominatedAhead, leading: LocalFilters | None, are_all: bool, ask: Examine) -> None:
        """`leading` are the first filters, or all of them if `are_all`; None if nodes must be
        evaluated one by one."""
        #: Without the pods on rows that have been evaluated one by one.
        self._ahead = ahead
        self._leading = leading
        self._are_all = are_all
        self._ask = ask
        #: Rejections of rows that were evaluated one by one.
        self._objections: dict[int, Status] = {}

    def examine(self, rows: BoolColumn) -> None:
        """Evaluate each of the rows with such pods, unless columns decide."""
        if self._are_all:
            return
        for row, others in self._ahead.restricted_to(rows).items():
            status = self._ask(row, others)
            if status is not None:
                self._objections[row] = status
        self._ahead = self._ahead.restricted_to(~rows)

    def rejected(self, feasible: BoolColumn) -> RowIndex:
        """Return the rows, of those that pass now, that are rejected because of nominated pods."""
        by_columns = self._rejected_by_columns(feasible)
        if self._are_all:
            return by_columns
        self.examine(_without(feasible, by_columns))
        return np.concatenate([by_columns, np.array([row for row in self._objections if feasible[row]], np.intp)])

    def _rejected_by_columns(self, feasible: BoolColumn) -> RowIndex:
        """Return the rows that the leading filters reject with the nominated pods."""
        leading = self._leading
        if leading is None or not feasible[self._ahead.rows].any():
            return _NONE
        some = self._ahead.restricted_to(feasible)
        if len(some) > MAX_SINGLE_NODES:
            return leading.rejected_with(some)
        return np.array([row for row, others in some.items() if leading.objection(row, others) is not None], np.intp)

    def objections(self, rows: BoolColumn) -> Iterator[Mapping[Status, RowIndex]]:
        """Yield statuses of those rows with such pods. No row occurs twice."""
        left = rows
        if self._leading is not None:
            found = self._leading.objections(self._ahead.restricted_to(rows))
            left = _without(rows, *found.values())
            yield found
        self.examine(left)
        yield rows_by_status({row: status for row, status in self._objections.items() if rows[row]})


def _without(rows: BoolColumn, *others: RowIndex) -> BoolColumn:
    left = rows.copy()
    for other in others:
        left[other] = False
    return left
