# SPDX-License-Identifier: Apache-2.0
"""The vector dry run: all nodes at once, where the pod's filters say how their answers follow from the pods on a node.

      row filters ─► Removal (who helps) ─► as many as the search wants ─┬─► reprieve, pruned by priority ─┬─► best
                                                                         └─► node by node: budgets ────────┘

`dry_run.search_plainly` is its plain twin: it is used whenever the answer here is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from steersman.cycle.what_if import ProfileWhatIf
from steersman.derived import Derived
from steersman.engine.evaluation import NodeStatuses
from steersman.engine.report import RowStatuses
from steersman.framework.columns import NeedsRoom
from steersman.framework.nodes_view import BoolColumn, IntColumn
from steersman.framework.pod_limits import PodLimits
from steersman.framework.status import Code, Status
from steersman.kept import Kept
from steersman.preemption.candidates import Candidate, CandidateChoice, by_importance, pick
from steersman.preemption.disruption_budgets import Budgets
from steersman.preemption.dry_run import NOT_HELPFUL, DryRunQuestion, DryRuns
from steersman.preemption.removal import Removal, reprieve_in_order
from steersman.preemption.reprieve import Reprieved, rank, reprieve
from steersman.preemption.victim_table import RowIndex, VictimTable
from steersman.state.node_table import NodeTable

#: Bits of a key that say in which way a step fails; those above say which step.
_WAY_BITS = 48

IsProtected: TypeAlias = Callable[[int, Budgets], bool]


NODE_ORDER = Kept(
    name="order of nodes",
    attributes=("ColumnDryRun._order",),
    holds="the rows in the order in which preemption looks at nodes",
    key="one for each profile",
    stamps="end of the log of changed nodes (`Derived`)",
    bound="one column",
    twin="`NodeTable.live_rows`",
    held_equal="tests/preemption/test_columns_equal_plain_search.py",
)


class ColumnDryRun:
    """The vector dry runs of one plugin instance: keeps the table of victims from one preemption to the next."""

    def __init__(self) -> None:
        self._victims: VictimTable | None = None
        self._order: Derived[RowIndex] = Derived()
        self._protected_rows: dict[int, bool] = {}
        self._protectors: object = None

    def prepare(self, table: NodeTable) -> None:
        """Brings the table of victims up to date."""
        self._synced(table)

    def search(self, question: DryRunQuestion) -> DryRuns | None:
        """The candidates among all nodes; None when the plain search has to find them."""
        statuses, what_if = question.statuses, question.what_if
        if not isinstance(statuses, RowStatuses) or not isinstance(what_if, ProfileWhatIf):
            return None
        filters = what_if.row_filters(question.pod)
        if filters is None:
            return None
        table = filters.local.table
        resolvable = _resolvable(table, statuses)
        if not resolvable.any():
            return DryRuns(table.node_count, 0, (), 0, None, NodeStatuses(None, NOT_HELPFUL))
        removal = Removal(question.pod, filters, self._synced(table), what_if.nominations())
        helping = resolvable & removal.helps()
        if (helping & removal.fits_already()).any():
            return None
        return self._answer(question, removal, resolvable, helping)

    def _answer(
        self, question: DryRunQuestion, removal: Removal, resolvable: BoolColumn, helping: BoolColumn
    ) -> DryRuns | None:
        table = removal.local.table
        nodes = self._in_order(table, resolvable)
        offset, enough = question.search.bounds(len(nodes))
        nodes = np.roll(nodes, -offset)
        run = _ColumnSearch(removal, question, self._is_protected)
        rows = run.enough_of(nodes[helping[nodes]], enough)
        why_not = NodeStatuses(None, NOT_HELPFUL)
        if question.detailed or not len(rows):
            rejected = rejections(removal, resolvable & ~helping, question)
            if rejected is None:
                return None
            why_not = RowStatuses(rejected, tuple(table.names), NOT_HELPFUL)
        choice, candidates = run.outcome(rows) if len(rows) else (None, ())
        return DryRuns(table.node_count, len(nodes), candidates, len(rows), choice, why_not)

    def _synced(self, table: NodeTable) -> VictimTable:
        if self._victims is None:
            self._victims = VictimTable(table)
        self._victims.sync()
        rewritten = self._victims.rewritten
        if rewritten is None:
            self._protected_rows.clear()
        else:
            for row in rewritten:
                self._protected_rows.pop(row, None)
        return self._victims

    def _in_order(self, table: NodeTable, rows: BoolColumn) -> RowIndex:
        """The rows in the order of the cluster's nodes."""
        order = self._order.at(table.node_log.end, lambda: np.fromiter(table.live_rows(), np.intp))
        return order[rows[order]]

    def _is_protected(self, row: int, budgets: Budgets) -> bool:
        """Whether any pod of the row is of interest to a disruption budget."""
        if self._protectors != budgets.selectors:
            self._protectors = budgets.selectors
            self._protected_rows.clear()
        known = self._protected_rows.get(row)
        if known is None:
            assert self._victims is not None
            known = self._protected_rows[row] = any(map(budgets.select, self._victims.pods[row]))
        return known


class _ColumnSearch:
    """One preemption on its way from the rows that help to the best of them."""

    def __init__(self, removal: Removal, question: DryRunQuestion, is_protected: IsProtected) -> None:
        self._removal = removal
        self._budgets = question.budgets
        self._now = question.now
        self._detailed = question.detailed
        self._is_protected = is_protected
        self._table = removal.local.table
        #: Rows whose pods are not put back in the order of the table, as candidates.
        self._singles: dict[int, Candidate] = {}

    def enough_of(self, helping: RowIndex, enough: int) -> RowIndex:
        """The first rows, as many as wanted; and if all of these violate budgets, the next that does not."""
        rows = helping[:enough]
        for row in self._suspects(rows):
            self._examine(row)
        violating = sum(candidate.pdb_violations > 0 for candidate in self._singles.values())
        if len(rows) < enough or violating < len(rows):
            return rows
        for row in helping[enough:].tolist():
            self._examine(row)
            if self._violations(row) == 0:
                return np.append(rows, row)
        return rows

    def outcome(self, rows: RowIndex) -> tuple[CandidateChoice, Sequence[Candidate]]:
        """The best of the rows, of which there is at least one; and the candidates that are known in full."""
        alone = np.isin(rows, list(self._singles)) if self._singles else np.zeros(len(rows), np.bool_)
        singles = [self._singles[row] for row in rows[alone].tolist()]
        others = rows[~alone]
        if not len(others):
            return pick(singles, self._now), singles
        reprieved = reprieve(self._removal, others, self._now, prune=not self._detailed)
        if not self._detailed:
            choice = rank(singles, reprieved, partial(self._candidate, reprieved), self._table.names, self._now)
            return choice, [choice.candidate]
        candidates = singles + [self._candidate(reprieved, position) for position in range(len(others))]
        return pick(candidates, self._now), candidates

    def _suspects(self, rows: RowIndex) -> list[int]:
        """The rows that may have to be examined on their own."""
        suspects: list[int] = (rows if self._budgets else rows[self._removal.victims.mixed[rows]]).tolist()
        return suspects

    def _examine(self, row: int) -> None:
        mixed = bool(self._removal.victims.mixed[row])
        if not mixed and not self._is_protected(row, self._budgets):
            return
        priority = self._removal.pod.priority
        removable = [pod for pod in self._table.pods_on[row].values() if pod.priority < priority]
        violating, others = self._budgets.split(by_importance(removable, self._now))
        if mixed or violating:
            self._singles[row] = reprieve_in_order(self._removal, row, violating, others, self._now)

    def _violations(self, row: int) -> int:
        single = self._singles.get(row)
        return 0 if single is None else single.pdb_violations

    def _candidate(self, reprieved: Reprieved, position: int) -> Candidate:
        row = int(reprieved.rows[position])
        first, pods = int(self._removal.victims.first[row]), self._removal.victims.pods[row]
        victims = tuple(pods[cell - first] for cell in reprieved.victims_of(position))
        return Candidate(self._table.names[row], victims)


def _resolvable(table: NodeTable, statuses: RowStatuses) -> BoolColumn:
    """The rows that do not fit now, but might without some of their pods."""
    mask = np.zeros(table.capacity, np.bool_)
    for status, rows in statuses.rows.items():
        if status.code is Code.UNSCHEDULABLE:
            mask[rows] = True
    return mask


# -- why rows would not do ---------------------------------------------------------------------------------------------


def rejections(removal: Removal, rejected: BoolColumn, question: DryRunQuestion) -> dict[Status, RowIndex] | None:
    """The rows that would not do even without any less important pod, by status.

    Rows that fail in the same way get the same status, which the plain dry run of one of them finds: there are few ways.
    None when the plain dry run does not agree that one is to be rejected.
    """
    keys = _ways_to_fail(removal, rejected)
    rows = rejected.nonzero()[0]
    groups: dict[Status, list[RowIndex]] = {}
    for key in np.unique(keys[rows]).tolist():
        alike = rows[keys[rows] == key]
        status = question.about(removal.local.table.info(int(alike[0])))
        if not isinstance(status, Status):
            return None
        groups.setdefault(status, []).append(alike)
    return {status: np.concatenate(pieces) for status, pieces in groups.items()}


def _ways_to_fail(removal: Removal, rejected: BoolColumn) -> IntColumn:
    """A key by row, equal for rows whose first objection is the same; 0: there is nobody to remove."""
    keys = np.zeros(len(rejected), np.int64)
    undecided = rejected & (removal.removable > 0)
    for index, ways in enumerate(_ways_by_step(removal), start=1):
        failing = undecided & (ways != 0)
        keys[failing] = (index << _WAY_BITS) + ways[failing]
        undecided &= ~failing
    return keys


def _ways_by_step(removal: Removal) -> Iterator[IntColumn]:
    """By row, for one filter after the other: a number for the objection that it has, 0 for none. With the pods that are
    nominated to a node; and after that without them, which makes a difference to demands only."""
    for index, step in enumerate(removal.filters.steps):
        if isinstance(step, PodLimits):
            yield removal.limited[index].ways_to_fail()
        elif step.kernel.rule is None:
            yield step.values.astype(np.int64)
        elif isinstance(step.kernel.rule, NeedsRoom):
            yield _shortages(removal)
        else:
            yield removal.port_taken.astype(np.int64)
    for limited in removal.limited.values():
        if limited.demand is not None:
            yield limited.demand.unmet().astype(np.int64)


def _shortages(removal: Removal) -> IntColumn:
    """One bit for the number of pods, and two for each resource: too little left, and too little altogether."""
    ways = (removal.spare_pods < 0).astype(np.int64)
    for index, (resource, need) in enumerate(removal.needs):
        lacking = removal.spare[resource] < 0
        hopeless = lacking & (removal.local.table.allocatable(resource).values < need)
        ways += lacking.astype(np.int64) << (2 * index + 1)
        ways += hopeless.astype(np.int64) << (2 * index + 2)
    return ways
