# SPDX-License-Identifier: Apache-2.0
"""The vectorised dry run: all nodes at once, if the pod's filters are local or give limits.

    row filters ─► Removal (which rows help) ─► `enough` rows ─┬─► reprieve, pruned by priority ─┬─► best
                                                               └─► one by one: budgets ──────────┘

`dry_run.search_node_by_node` is the reference, and the fallback if the result here is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from steersman.base import CacheSpec, Memo
from steersman.base.graph_copy import copied_attributes, no_value
from steersman.framework import BoolColumn, Code, IntColumn, NeedsResources, NodeInfo, PodInfo, PodLimits, Status
from steersman.scheduler.cycle.what_if import ProfileWhatIf
from steersman.scheduler.engine.evaluation import NodeStatuses
from steersman.scheduler.engine.report import RowStatuses
from steersman.scheduler.preemption.candidates import Candidate, CandidateChoice, by_importance, pick
from steersman.scheduler.preemption.disruption_budgets import Budgets
from steersman.scheduler.preemption.dry_run import NO_VICTIMS, NOT_HELPFUL, DryRunQuestion, DryRuns
from steersman.scheduler.preemption.removal import Removal, reprieve_in_order
from steersman.scheduler.preemption.reprieve import Reprieved, rank, reprieve
from steersman.scheduler.preemption.victim_table import RowIndex, VictimTable
from steersman.scheduler.state.node_table import NodeTable

#: Low bits of a key encode how a step fails, higher bits which step.
_WAY_BITS = 48

ProtectedPods: TypeAlias = Callable[[int], Sequence[PodInfo]]


NODE_ORDER = CacheSpec(
    name="order of nodes",
    attributes=("ColumnDryRun._order",),
    contents="the rows in the order in which preemption visits nodes",
    key="one for each profile",
    invalidation="end of the log of changed nodes (`Memo`)",
    limit="one column",
    reference="`NodeTable.live_rows`",
    checked_by="tests/preemption/test_columns_equal_plain_search.py",
)


FRUITLESS_SEARCH = CacheSpec(
    name="fruitless preemption",
    attributes=("ColumnDryRun._fruitless",),
    contents="the last dry runs without a candidate, for the next replica",
    key="one for each profile",
    invalidation="rejections of the pod other than those that the cycle reused (`ColumnarEngine.latest`)",
    limit="one result",
    reference="`ColumnDryRun._search`",
    checked_by="tests/equivalence/test_rejected_replicas_agree.py",
)


@copied_attributes(_fruitless=no_value)
class ColumnDryRun:
    """The vectorised dry runs of one plugin instance; keeps the table of victims between
    preemptions."""

    def __init__(self, *, has_groups: bool = False) -> None:
        """`has_groups` says whether pods may belong to groups (`victims.GroupedPods`)."""
        self._has_groups = has_groups
        self._victims: VictimTable | None = None
        self._order: Memo[RowIndex] = Memo()
        self._protected_pods: dict[int, Sequence[PodInfo]] = {}
        self._protectors: object = None
        self._fruitless: tuple[object, DryRuns] | None = None

    def prepare(self, table: NodeTable) -> None:
        """Update the table of victims."""
        self._synced(table)

    def search(self, question: DryRunQuestion) -> DryRuns | None:
        """Return the candidates among all nodes, or None if the scalar search must find them.

        A search without candidates is not repeated for a replica with the same rejections, but
        draws the same random numbers.
        """
        version = (question.statuses, question.detailed)
        if self._fruitless is not None and self._fruitless[0] == version:
            runs = self._fruitless[1]
            if runs.examined:
                question.search.bounds(runs.examined)
            return runs
        found = self._search(question)
        self._fruitless = None if found is None or found.candidate_count else (version, found)
        return found

    def _search(self, question: DryRunQuestion) -> DryRuns | None:
        statuses, what_if = question.statuses, question.what_if
        if not isinstance(statuses, RowStatuses) or not isinstance(what_if, ProfileWhatIf):
            return None
        if not what_if.has_evaluated(question.pod):
            return None
        table = what_if.table
        resolvable = _resolvable(table, statuses)
        if not resolvable.any():
            return DryRuns(table.node_count, 0, (), 0, None, NodeStatuses(None, NOT_HELPFUL))
        victims = self._synced(table)
        if self._has_groups and victims.grouped[resolvable].any():
            return None
        outranked = victims.below(question.pod.priority, ()).count > 0
        if not outranked[resolvable].any() and not _is_resolvable(statuses.absent):
            return _no_victims(question, table, resolvable)
        filters = what_if.row_filters(question.pod)
        if filters is None:
            return None
        removal = Removal(question.pod, filters, victims, what_if.nominations())
        helping = removal.helps(resolvable)
        if helping.any() and (helping & removal.fits_already()).any():
            return None
        return self._answer(question, removal, resolvable, helping)

    def _answer(
        self, question: DryRunQuestion, removal: Removal, resolvable: BoolColumn, helping: BoolColumn
    ) -> DryRuns | None:
        table = removal.local.table
        nodes = self._in_order(table, resolvable)
        offset, enough = question.search.bounds(len(nodes))
        nodes = np.roll(nodes, -offset)
        run = _ColumnSearch(removal, question, self._protected_by(question.budgets))
        rows = run.take_enough(nodes[helping[nodes]], enough)
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
            self._victims = VictimTable(table, has_groups=self._has_groups)
        self._victims.sync()
        rewritten = self._victims.rewritten
        if rewritten is None:
            self._protected_pods.clear()
        else:
            for row in rewritten:
                self._protected_pods.pop(row, None)
        return self._victims

    def _in_order(self, table: NodeTable, rows: BoolColumn) -> RowIndex:
        """Return the rows in the order of the cluster's nodes."""
        order = self._order.get(table.node_log.end, lambda: np.fromiter(table.live_rows(), np.intp))
        return order[rows[order]]

    def _protected_by(self, budgets: Budgets) -> ProtectedPods:
        """Return a function from a row to its pods that a disruption budget selects."""
        if self._protectors != budgets.selectors:
            self._protectors = budgets.selectors
            self._protected_pods.clear()
        known, victims = self._protected_pods, self._victims
        assert victims is not None

        def protected(row: int) -> Sequence[PodInfo]:
            pods = known.get(row)
            if pods is None:
                pods = known[row] = list(filter(budgets.select, victims.pods[row]))
            return pods

        return protected


class _ColumnSearch:
    """One preemption, from the helping rows to the best of them."""

    def __init__(self, removal: Removal, question: DryRunQuestion, protected: ProtectedPods) -> None:
        self._removal = removal
        self._budgets = question.budgets
        self._now = question.now
        self._detailed = question.detailed
        self._protected = protected
        self._table = removal.local.table
        #: Candidates of rows that were evaluated one by one, because their pods are not reprieved
        #: in the order of the table.
        self._singles: dict[int, Candidate] = {}

    def take_enough(self, helping: RowIndex, enough: int) -> RowIndex:
        """Return the first `enough` rows; if all of these violate budgets, also the next that does
        not."""
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
        """Return the best of the rows, which are not empty, and the candidates with known
        victims."""
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
        """Return the rows that may have to be evaluated one by one."""
        suspects: list[int] = (rows if self._budgets else rows[self._removal.victims.mixed[rows]]).tolist()
        return suspects

    def _examine(self, row: int) -> None:
        priority = self._removal.pod.priority
        outranked = [pod for pod in self._protected(row) if pod.priority < priority]
        violates = bool(outranked) and self._budgets.are_violated_by(outranked)
        if not violates and not self._removal.victims.mixed[row]:
            return
        removable = [pod for pod in self._table.pods_on[row].values() if pod.priority < priority]
        violating, others = self._budgets.split(by_importance(removable, self._now))
        self._singles[row] = reprieve_in_order(self._removal, row, violating, others, self._now)

    def _violations(self, row: int) -> int:
        single = self._singles.get(row)
        return 0 if single is None else single.pdb_violations

    def _candidate(self, reprieved: Reprieved, position: int) -> Candidate:
        row = int(reprieved.rows[position])
        first, pods = int(self._removal.victims.first[row]), self._removal.victims.pods[row]
        victims = tuple(pods[cell - first] for cell in reprieved.victims_of(position))
        return Candidate(self._table.names[row], victims)


def _no_victims(question: DryRunQuestion, table: NodeTable, resolvable: BoolColumn) -> DryRuns:
    """Return the result for a pod that outranks no pod on any of the nodes, drawing the same random
    numbers as any search."""
    rows = resolvable.nonzero()[0]
    question.search.bounds(len(rows))
    why_not = RowStatuses({NO_VICTIMS: rows}, tuple(table.names), NOT_HELPFUL)
    return DryRuns(table.node_count, len(rows), (), 0, None, why_not)


def _resolvable(table: NodeTable, statuses: RowStatuses) -> BoolColumn:
    """Return the rows that do not fit now, but might without some of their pods."""
    mask = np.zeros(table.capacity, np.bool_)
    for status, rows in statuses.rows.items():
        if _is_resolvable(status):
            mask[rows] = True
    return mask


def _is_resolvable(status: Status | None) -> bool:
    return status is not None and status.code is Code.UNSCHEDULABLE


# -- rejected rows --------------------------------------------------------------------------------


def rejections(removal: Removal, rejected: BoolColumn, question: DryRunQuestion) -> dict[Status, RowIndex] | None:
    """Return the rows that would not fit even without any less important pod, by status.

    Rows that fail in the same way get the same status, from the scalar dry run of one of them. It
    calls only the rejecting plugin, because PreFilter of others may visit every pod of the cluster.
    Returns None if the scalar dry run disagrees.
    """
    keys = _ways_to_fail(removal, rejected)
    rows = rejected.nonzero()[0]
    groups: dict[Status, list[RowIndex]] = {}
    for key in np.unique(keys[rows]).tolist():
        alike = rows[keys[rows] == key]
        status = _plain_status(removal, key, removal.local.table.info(int(alike[0])), question)
        if not isinstance(status, Status):
            return None
        groups.setdefault(status, []).append(alike)
    return {status: np.concatenate(pieces) for status, pieces in groups.items()}


def _plain_status(removal: Removal, key: int, node: NodeInfo, question: DryRunQuestion) -> Candidate | Status:
    """Return the status of a node that fails in this way, or the node as a candidate if the columns
    were wrong."""
    if key and isinstance(question.what_if, ProfileWhatIf):
        names, step = removal.filters.names, (key >> _WAY_BITS) - 1
        # The steps are followed by the demands without nominated pods.
        name = names[step] if step < len(names) else [names[at] for at in removal.demands][step - len(names)]
        status = question.about(node, question.what_if.of_plugin(name))
        if isinstance(status, Status) and status.is_rejected:
            return status
    return question.about(node)


def _ways_to_fail(removal: Removal, rejected: BoolColumn) -> IntColumn:
    """Return a key by row, equal for rows with the same first rejection; 0 if there is no pod to
    remove."""
    keys = np.zeros(len(rejected), np.int64)
    undecided = rejected & (removal.removable > 0)
    for index, ways in enumerate(_ways_by_step(removal), start=1):
        failing = undecided & (ways != 0)
        keys[failing] = (index << _WAY_BITS) + ways[failing]
        undecided &= ~failing
        if not undecided.any():
            break
    return keys


def _ways_by_step(removal: Removal) -> Iterator[IntColumn]:
    """Yield, for each filter in order, a number by row for its rejection, 0 for none: first with
    the pods nominated to the node, then without them, which matters to demands only."""
    for index, step in enumerate(removal.filters.steps):
        if isinstance(step, PodLimits):
            yield removal.limited[index].ways_to_fail()
        elif step.kernel.rule is None:
            yield step.values.astype(np.int64)
        elif isinstance(step.kernel.rule, NeedsResources):
            yield _shortages(removal)
        else:
            yield removal.port_taken.astype(np.int64)
    for demand in removal.demands.values():
        yield demand.unmet().astype(np.int64)


def _shortages(removal: Removal) -> IntColumn:
    """Return one bit for the number of pods, and two for each resource: not enough free, and not
    enough in total."""
    ways = (removal.spare_pods < 0).astype(np.int64)
    for index, (resource, need) in enumerate(removal.needs):
        lacking = removal.spare[resource] < 0
        hopeless = lacking & (removal.local.table.allocatable(resource).values < need)
        ways += lacking.astype(np.int64) << (2 * index + 1)
        ways += hopeless.astype(np.int64) << (2 * index + 2)
    return ways
