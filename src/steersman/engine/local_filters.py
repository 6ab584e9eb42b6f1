# SPDX-License-Identifier: Apache-2.0
"""The filters that matter for one pod, when each of them looks at nothing but the node and the pods on it.

Put together from a signature. With them a what-if question about many nodes needs no plugin: a kernel either depends on the
node alone, or says its rule. Preemption does with less (`RowFilters`): that filters which look further say what pods on a
node mean to them.

The columnar engine asks them about nodes to which other pods are nominated (`NominatedPodsFilter`): a pod must leave room for
those ahead of it, and fit without them as well. What local filters object to is found by a few operations on the columns of
`state.nominations`. If others come behind them, the nodes that are left are examined on their own, where it matters: one that
does not pass as it is does not pass with those pods, and only a diagnosis wants to know what comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from steersman.engine.plan import FilterStep, Plan
from steersman.engine.report import RowIndex, rows_by_status
from steersman.engine.row_totals import FilterColumn
from steersman.engine.signatures import SignatureEntry
from steersman.framework.columns import (
    AddedPods,
    ClusterFilterKernel,
    Depends,
    FilterKernel,
    NeedsPorts,
    NeedsRoom,
)
from steersman.framework.nodes_view import BoolColumn, ReasonColumn
from steersman.framework.pod_info import PodInfo
from steersman.framework.pod_limits import PodLimits
from steersman.framework.status import Status
from steersman.state.node_table import NodeTable
from steersman.state.nominations import NominatedAhead

# -- filters of one pod ------------------------------------------------------------------------------------------------


class LocalFilters(msgspec.Struct, frozen=True):
    """The steps in configured order, without those that are skipped or never object."""

    table: NodeTable
    steps: tuple[tuple[FilterStep, FilterColumn], ...]

    def objection(self, row: int, added: Sequence[PodInfo]) -> Status | None:
        """The first objection against the row if these pods were there as well."""
        for step, column in self.steps:
            static = column.kernel.rule is None
            reason = int(column.cell[row]) if static else column.kernel.row_with(row, added)
            if reason:
                return step.statuses[reason].of(step.name)
        return None

    def rejected_with(self, added: AddedPods) -> RowIndex:
        """The rows, all of which pass as they are, that would not pass if the added pods were there as well."""
        refused = np.zeros(len(added.rows), np.bool_)
        for _, column in self.steps:
            if column.kernel.rule is not None:
                refused |= _reasons_with(column, added) != 0
        return added.rows[refused]

    def objections(self, added: AddedPods) -> dict[Status, RowIndex]:
        """`objection` for many rows: those that have one, by status."""
        groups: dict[Status, list[RowIndex]] = {}
        passing = np.ones(len(added.rows), np.bool_)
        for step, column in self.steps:
            reasons = _reasons_with(column, added)
            reasons[~passing] = 0
            for reason in set(reasons[reasons != 0].tolist()):
                groups.setdefault(step.statuses[reason].of(step.name), []).append(added.rows[reasons == reason])
            passing &= reasons == 0
        return {status: np.concatenate(pieces) for status, pieces in groups.items()}

    def rejected_by_node(self) -> BoolColumn:
        """Rows that do not pass, whatever pods are there. Rows without a node: anything."""
        rejected = np.zeros(self.table.capacity, np.bool_)
        for _, column in self.steps:
            if column.kernel.rule is None:
                rejected |= column.values != 0
        return rejected

    def room(self) -> NeedsRoom | None:
        return next((c.kernel.rule for _, c in self.steps if isinstance(c.kernel.rule, NeedsRoom)), None)

    def ports(self) -> NeedsPorts | None:
        return next((c.kernel.rule for _, c in self.steps if isinstance(c.kernel.rule, NeedsPorts)), None)


def _reasons_with(column: FilterColumn, added: AddedPods) -> ReasonColumn:
    before: ReasonColumn = column.values[added.rows].astype(np.int32, copy=False)
    return before if column.kernel.rule is None else column.kernel.rows_with(added, before)


def local_filters(plan: Plan, entry: SignatureEntry, table: NodeTable, skipped: Collection[str]) -> LocalFilters | None:
    """None when a filter that is not skipped looks further, or does not say how its answer follows from the pods."""
    if entry.promised_filters or any(s.is_live and s.name not in skipped for s in plan.filters):
        return None
    leading, are_all = _leading(entry, table, skipped)
    return leading if are_all else None


class RowFilters(msgspec.Struct, frozen=True):
    """The filters that matter for one pod, when each of them is local or says its limits (`framework.pod_limits`)."""

    #: Those that are local.
    local: LocalFilters
    #: All in configured order: the column of a local filter, or the limits of another.
    steps: tuple[FilterColumn | PodLimits, ...]


def row_filters(
    plan: Plan,
    entry: SignatureEntry,
    table: NodeTable,
    skipped: Collection[str],
    coming: Callable[[], Iterable[PodInfo]],
) -> RowFilters | None:
    """None when a filter that is not skipped says nothing of the kind. `coming` gives the pods that may be thought to be on a
    node besides those that are."""
    if entry.promised_filters or any(s.is_live and s.name not in skipped for s in plan.filters):
        return None
    local: list[tuple[FilterStep, FilterColumn]] = []
    steps: list[FilterColumn | PodLimits] = []
    for step, part in entry.filters:
        if part is None or step.name in skipped:
            continue
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
    return RowFilters(LocalFilters(table, tuple(local)), tuple(steps))


def leading_filters(entry: SignatureEntry, table: NodeTable, skipped: Collection[str]) -> LocalFilters:
    """The filters before the first that looks further, where kernels alone decide: about a row that one of them objects to,
    none behind it is asked."""
    return _leading(entry, table, skipped)[0]


def _leading(entry: SignatureEntry, table: NodeTable, skipped: Collection[str]) -> tuple[LocalFilters, bool]:
    """The filters before the first that looks further, and whether there are no others."""
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


# -- room for nominated pods -------------------------------------------------------------------------------------------

Examine = Callable[[int, Sequence[PodInfo]], Status | None]
"""The first objection against a row, with and without these pods on it."""

#: Up to this many nodes, one after the other is cheaper than vector operations.
FEW = 4
_NONE: RowIndex = np.zeros(0, np.intp)


class NominatedPodsFilter:
    """Rejects the rows that a pod must leave to nominated pods ahead of it. Valid as long as the evaluation."""

    __slots__ = ("_ahead", "_are_all", "_ask", "_leading", "_objections")

    def __init__(self, ahead: NominatedAhead, leading: LocalFilters | None, are_all: bool, ask: Examine) -> None:
        """`leading` are the filters that are asked first, or all of them; None: nodes have to be examined on their own."""
        #: Without the pods on rows that have been examined.
        self._ahead = ahead
        self._leading = leading
        self._are_all = are_all
        self._ask = ask
        #: Objections against rows that were examined on their own.
        self._objections: dict[int, Status] = {}

    def examine(self, rows: BoolColumn) -> None:
        """Asks for each of the rows on which there are such pods, unless columns tell."""
        if self._are_all:
            return
        for row, others in self._ahead.among(rows).items():
            status = self._ask(row, others)
            if status is not None:
                self._objections[row] = status
        self._ahead = self._ahead.among(~rows)

    def rejected(self, feasible: BoolColumn) -> RowIndex:
        """The rows, of those that pass as they are, that the pod must leave to nominated pods."""
        by_columns = self._rejected_by_columns(feasible)
        if self._are_all:
            return by_columns
        self.examine(_without(feasible, by_columns))
        return np.concatenate([by_columns, np.array([row for row in self._objections if feasible[row]], np.intp)])

    def _rejected_by_columns(self, feasible: BoolColumn) -> RowIndex:
        """The rows of which the leading filters tell that there is no room for the nominated pods as well."""
        leading = self._leading
        if leading is None or not feasible[self._ahead.rows].any():
            return _NONE
        some = self._ahead.among(feasible)
        if len(some) > FEW:
            return leading.rejected_with(some)
        return np.array([row for row, others in some.items() if leading.objection(row, others) is not None], np.intp)

    def objections(self, rows: BoolColumn) -> Iterator[Mapping[Status, RowIndex]]:
        """Statuses of those of the rows on which there are such pods. No row occurs twice."""
        left = rows
        if self._leading is not None:
            found = self._leading.objections(self._ahead.among(rows))
            left = _without(rows, *found.values())
            yield found
        self.examine(left)
        yield rows_by_status({row: status for row, status in self._objections.items() if rows[row]})


def _without(rows: BoolColumn, *others: RowIndex) -> BoolColumn:
    left = rows.copy()
    for other in others:
        left[other] = False
    return left
