# SPDX-License-Identifier: Apache-2.0
"""The fast engine: signatures evaluate all nodes at once; plugins without kernels are called where
they matter.

A pod's signature (see `engine.signature`) is looked up, or built from the kernels of the profile's
columnar plugins. Applied on top, in this order: the restriction of PreFilter, nodes with nominated
pods (`local_filters`), and plugins that must be called in every cycle. Diagnosis and reports read
the same kernels again, in configured order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, FirstByName, Memo, Rng
from steersman.base.graph_copy import copied_attributes, no_value
from steersman.framework import BoolColumn, CycleState, Feasible, NodeInfo, Objects, PodInfo, Status
from steersman.scheduler.engine import scalar
from steersman.scheduler.engine.best_rows import rows_of_greatest
from steersman.scheduler.engine.evaluation import (
    Choice,
    Evaluation,
    FeasibleTotals,
    NodeStatuses,
    PlacementTrial,
    PreFilterOutcome,
    RankedTotals,
    ScoreTable,
    new_state,
    not_restricted_to,
)
from steersman.scheduler.engine.evaluation_plan import FilterStep, Plan
from steersman.scheduler.engine.live_plugins import live_rejections, pre_filter, state_of_skipping_plugins
from steersman.scheduler.engine.local_filters import (
    LocalFilters,
    NominatedPodsFilter,
    RowFilters,
    leading_filters,
    local_filters,
    row_filters,
)
from steersman.scheduler.engine.phase_clock import PhaseClock
from steersman.scheduler.engine.report import (
    RowIndex,
    RowStatuses,
    diagnose_rows,
    has_nothing_to_score,
    objections_of_all,
    objections_of_kernels,
    rows_by_status,
    score_table,
)
from steersman.scheduler.engine.row_totals import Totals
from steersman.scheduler.engine.sampling import Sampling
from steersman.scheduler.engine.signatures import SignatureEntry, Signatures
from steersman.scheduler.engine.totals_digest import DigestedTotals
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.nominations import Nominations, nominated_ahead_of
from steersman.scheduler.state.row_info import LiveNodes

Rows = Sequence[int] | NDArray[np.intp]

Version: TypeAlias = tuple[object, ...]
"""All that the rejections of a pod depend on if kernels alone decide."""


ROW_NAMES = CacheSpec(
    name="names by row",
    attributes=("ColumnarEngine._names",),
    contents="the nodes' names, for reports",
    key="row",
    invalidation="end of the log of changed nodes (`Memo`)",
    limit="one for each profile",
    reference="`NodeTable.names`",
)


REJECTIONS = CacheSpec(
    name="rejections of the last pod",
    attributes=("ColumnarEngine.latest",),
    contents="the evaluation of a pod that fits nowhere, for the next replica",
    key="one for each profile",
    invalidation="a different signature or priority; any change of nodes, nominations or objects",
    limit="one evaluation",
    reference="`ColumnarEvaluation` of the replica",
    checked_by="tests/equivalence/test_rejected_replicas_agree.py",
)


@copied_attributes(latest=no_value, clock=no_value)
class ColumnarEngine:
    """Evaluates pods against the table; one per profile."""

    def __init__(self, plan: Plan, table: NodeTable, objects: Objects, sampling: Sampling) -> None:
        self.plan = plan
        self.table = table
        self.signatures = Signatures(plan, table, objects)
        self.sampling = sampling
        self._objects = objects
        #: Measures evaluations, if set.
        self.clock: PhaseClock | None = None
        #: The latest evaluation; the state may have changed since.
        self.latest: ColumnarEvaluation | None = None
        self._names: Memo[tuple[str, ...]] = Memo()

    def evaluate(
        self, pod: PodInfo, nominations: Nominations, trial: PlacementTrial | None = None
    ) -> ColumnarEvaluation:
        """Evaluate the pod. If the pod before was rejected by all nodes and nothing has changed
        since, the result is reused for its replica."""
        clock, signatures, latest = self.clock, self.signatures, self.latest
        entry = signatures.get(pod) if clock is None else clock.find_signature(signatures, pod)
        version = None if trial is not None else self._version(entry, pod, nominations)
        if version is not None and latest is not None and latest.version == version and not latest.feasible_count:
            self.latest = latest.for_replica(pod)
        else:
            self.latest = ColumnarEvaluation(self, entry, pod, nominations, trial)
            self.latest.version = version
        return self.latest

    def _version(self, entry: SignatureEntry, pod: PodInfo, nominations: Nominations) -> Version | None:
        """Return the version of the pod's rejections, or None if they may change otherwise or
        the pod's own nomination matters."""
        if not entry.follows_state or not self.sampling.is_off or pod.nominated_node or nominations.includes(pod):
            return None
        if self.clock is not None and self.clock.is_sampled:
            return None
        return entry, pod.priority, self.table.log.end, nominations.version, self._objects.changes

    def names(self) -> tuple[str, ...]:
        """Return the nodes' names by row."""
        return self._names.get(self.table.node_log.end, lambda: tuple(self.table.names))


class ColumnarEvaluation(Evaluation):
    """One evaluation: filters when it is created, scores on demand. If the signature is complete,
    it only has the best rows and the number of feasible ones; everything else is computed on first
    use."""

    #: See `ColumnarEngine.evaluate`; None if the evaluation cannot be reused.
    version: Version | None = None
    #: Feasible rows with the greatest total, for a complete signature or a pinned pod; None if not
    #: computed.
    _best_rows: Rows | None = None
    #: Feasible rows; None if not yet requested from the signature.
    _passing: Feasible | None = None
    _outcome: PreFilterOutcome | None = None
    _scalar_state: CycleState | None = None
    #: Row of the nominated node if the pod does not fit there; it was evaluated even if PreFilter
    #: excludes it.
    _refused_nomination: int | None = None
    #: Rejection by that node; None if the kernels' verdict holds.
    _refusal: Status | None = None
    #: None if no pod is nominated to any node.
    _nominated_pods: NominatedPodsFilter | None = None
    _statuses: NodeStatuses | None = None
    _scores: ScoreTable | None = None
    #: Totals including the scores of plugins that are called in every cycle.
    _live_totals: Totals | None = None
    _local: LocalFilters | None = None
    _has_built_local = False

    def __init__(
        self,
        engine: ColumnarEngine,
        entry: SignatureEntry,
        pod: PodInfo,
        nominations: Nominations,
        trial: PlacementTrial | None = None,
    ) -> None:
        self._engine = engine
        self._table = engine.table
        self.pod = pod
        self._entry = entry
        self._nominations = nominations
        self._trial = trial
        #: Rows outside of the placement of the pod's group.
        self._excluded = None if trial is None else trial.outside
        self.state = new_state(trial)
        by_kernels = not nominations.by_node and not pod.nominated_node and engine.sampling.is_off
        if self._excluded is None and by_kernels and entry.is_complete:
            self._best_rows, self.feasible_count = entry.signature.best_of_all()
        elif self._excluded is None and by_kernels and entry.is_pinned:
            self._best_rows = self._pinned_rows()
            self.feasible_count = len(self._best_rows)
        else:
            is_plain = by_kernels and entry.is_plain
            self._passing = entry.signature.feasible(self._excluded) if is_plain else self._filter()
            self.feasible_count = self._passing.count
        if engine.clock is not None and engine.clock.is_sampled:
            self.pre_filter  # noqa: B018 what is not needed for this pod is timed as well

    def for_replica(self, pod: PodInfo) -> ColumnarEvaluation:
        """Return this evaluation for another pod of the same version, with all rejections."""
        made = copy(self)
        made.pod, made.state, made._scalar_state = pod, self.state.clone(), None
        return made

    def _pinned_rows(self) -> Rows:
        """Return the row of the node that the pod is pinned to, if it is feasible."""
        row = self._table.row_of(self.pod.pinned_to)
        return (row,) if row is not None and self._entry.signature.is_feasible(row) else ()

    @property
    def _feasible(self) -> Feasible:
        if self._passing is None:
            signature = self._entry.signature
            self._passing = (
                signature.feasible_at(self._table.row_of(self.pod.pinned_to))
                if self._entry.is_pinned
                else signature.feasible(self._excluded)
            )
        return self._passing

    # -- PreFilter and Filter ---------------------------------------------------------------------

    @property
    def pre_filter(self) -> PreFilterOutcome:
        if self._outcome is None:
            clock = self._engine.clock
            self._outcome = pre_filter(self._profile, self._entry, self.state, self.pod, self._nodes(), clock)
        return self._outcome

    @property
    def _profile(self) -> Profile:
        return self._engine.plan.profile

    def _filter(self) -> Feasible:
        if self.pre_filter.status is not None:
            return Feasible(np.full(self._table.capacity, -1), 0)
        signature = self._entry.signature
        nominated = self._table.row_of(self.pod.nominated_node)
        if nominated is not None and self._excluded is not None and self._excluded[nominated]:
            nominated = None
        if nominated is not None and self._passes(nominated, signature.feasible()):
            self.nominated_path = True
            only = np.ones(self._table.capacity, np.bool_)
            only[nominated] = False
            return signature.feasible(only)
        self._refused_nomination = nominated
        outside = self._outside()
        feasible = signature.feasible(outside)
        self._raise_internal_errors()
        feasible = self._without_nominated_rows(feasible)
        feasible = self._without_live_rejections(feasible)
        all_nodes = None if self._trial is None or self._trial.node_names is None else len(self._trial.node_names)
        return self._engine.sampling.sample(feasible, self._table, signature, outside, nominated, all_nodes)

    def _outside(self) -> BoolColumn | None:
        """Return the rows excluded by PreFilter or the placement."""
        names = self.pre_filter.node_names
        if names is None:
            return self._excluded
        outside = np.ones(self._table.capacity, np.bool_)
        for name in names:
            row = self._table.row_of(name)
            if row is not None:
                outside[row] = False
        return outside if self._excluded is None else outside | self._excluded

    def _raise_internal_errors(self) -> None:
        """Raise CycleAborted if a plugin with a promise has an internal error on a node that no
        earlier plugin rejects."""
        broken = {row for kernel in self._entry.promised_filters for row in kernel.broken_rows}
        if broken:
            for row in self._table.live_rows():
                if row in broken and self._is_candidate(row):
                    self._examine(row, self._nominated_ahead(row))

    def _is_candidate(self, row: int) -> bool:
        return row == self._refused_nomination or self._is_inside(row)

    def _is_inside(self, row: int) -> bool:
        """Return whether PreFilter and the placement admit the node."""
        if self._excluded is not None and self._excluded[row]:
            return False
        names = self.pre_filter.node_names
        return names is None or self._table.names[row] in names

    def _without_nominated_rows(self, feasible: Feasible) -> Feasible:
        """Remove rows without enough resources for pods nominated there."""
        if not self._nominations.by_node:
            return feasible
        self._nominated_pods = nominated_pods = self._nominated_pods_filter()
        if not self._entry.is_plain:
            # Plugins that may have internal errors are called wherever the scalar engine calls
            # them.
            nominated_pods.examine(self._candidates())
        rows = nominated_pods.rejected(feasible.mask)
        if not len(rows):
            return feasible
        lost = np.zeros(self._table.capacity, np.bool_)
        lost[rows] = True
        return self._entry.signature.without(lost, feasible)

    def _nominated_pods_filter(self) -> NominatedPodsFilter:
        ahead = self._nominations.ahead_of(self.pod)
        local = self.local_filters()
        if local is not None or not self._entry.is_plain:
            return NominatedPodsFilter(ahead, local, local is not None, self._examine)
        leading = leading_filters(self._entry, self._table, self.pre_filter.skipped)
        return NominatedPodsFilter(ahead, leading, False, self._examine)

    def _without_live_rejections(self, feasible: Feasible) -> Feasible:
        live = self._live_filters()
        if not live:
            return feasible
        lost = live_rejections(live, self.state, self.pod, self._table, feasible.rows)
        return self._entry.signature.without(lost, feasible) if lost.any() else feasible

    def _live_filters(self) -> list[FilterStep]:
        return [s for s in self._entry.live_filters if s.name not in self.pre_filter.skipped]

    def _passes(self, row: int, feasible: Feasible) -> bool:
        """Return whether the nominated node fits. Kernels need not know about nodes excluded by
        PreFilter."""
        inside = self._is_candidate(row)
        if inside and feasible.penalty[row] != 0:
            return False
        others = self._nominated_ahead(row)
        if inside and not others and not self._entry.live_filters:
            return True
        self._refusal = self._examine(row, others)
        return self._refusal is None

    def _nominated_ahead(self, row: int) -> list[PodInfo]:
        """Return the pods nominated to the node for which the pod must leave resources."""
        return nominated_ahead_of(self.pod, self._nominations.pods_on(self._table.names[row]))

    def _examine(self, row: int, others: Sequence[PodInfo]) -> Status | None:
        """Return the rejection by one node, with and without nominated pods; by the scalar engine
        if kernels cannot decide."""
        local = self.local_filters() if self._is_inside(row) else None
        if local is not None:
            # For filters that only count existing pods, a rejection without the nominated pods
            # implies one with them.
            return local.objection(row, others)
        node = self._table.info(row)
        return scalar.filter_with_nominated(self._profile, self.scalar_state(), self.pod, node, others)

    def local_filters(self) -> LocalFilters | None:
        """Return the filters of the pod if all are node-local. None also if PreFilter rejected the
        pod, or a node excluded by PreFilter was evaluated."""
        if not self._evaluated_admitted_only():
            return None
        if not self._has_built_local:
            self._has_built_local = True
            self._local = local_filters(self._engine.plan, self._entry, self._table, self.pre_filter.skipped)
        return self._local

    def row_filters(self, coming: Callable[[], Iterable[PodInfo]]) -> RowFilters | None:
        """Return the filters of the pod if each is node-local or gives limits; `coming` are pods
        that may be added later. None also if PreFilter rejected the pod, or a node excluded by
        PreFilter was evaluated."""
        if not self._evaluated_admitted_only():
            return None
        return row_filters(self._engine.plan, self._entry, self._table, self.pre_filter.skipped, coming)

    def _evaluated_admitted_only(self) -> bool:
        """Return whether PreFilter did not reject the pod, and no node excluded by it was
        evaluated."""
        refused = self._refused_nomination
        return self.pre_filter.status is None and (refused is None or self._is_inside(refused))

    def scalar_state(self) -> CycleState:
        """Return the state written by PreFilter in the scalar engine; kernels write none."""
        if self._scalar_state is None:
            self._scalar_state = new_state(self._trial)
            scalar.pre_filter(self._profile, self._scalar_state, self.pod, self._nodes())
        return self._scalar_state

    def deferred_state(self) -> CycleState:
        """Return the state for PostFilter, filled on first use.

        Entries of plugins that skip this pod are added immediately: they are cheap, and preemption
        reads one of them every time.
        """
        state = super().deferred_state()
        if self.pre_filter.status is None:
            state.entries.update(state_of_skipping_plugins(self._profile, self.pod, self._nodes()))
        return state

    def _nodes(self) -> Sequence[NodeInfo]:
        return LiveNodes(self._table)

    # -- results ----------------------------------------------------------------------------------

    def feasible(self) -> Sequence[str]:
        names = self._table.names
        return [names[row] for row in self._feasible.rows.tolist()]

    def statuses(self) -> NodeStatuses:
        if self._statuses is None:
            self._statuses = self._find_statuses()
        return self._statuses

    def _find_statuses(self) -> NodeStatuses:
        outcome = self.pre_filter
        if outcome.status is not None:
            return NodeStatuses(absent=outcome.status)
        if self.nominated_path:
            return NodeStatuses()
        candidates = self._candidates()
        overruled = self._overruled(candidates)
        rows = diagnose_rows(self._engine.plan, self._entry, self._table, self.state, self.pod, candidates, overruled)
        absent: Status | None = None
        if outcome.node_names is not None:
            refused = self._refused_nomination
            refusals = () if refused is None else (status for status, found in rows.items() if refused in found)
            absent = not_restricted_to(outcome.restricting, refusals)
        return RowStatuses(rows, self._engine.names(), absent)

    def objections(self) -> Mapping[str, Mapping[Status, RowIndex]]:
        """Return the rejections of the evaluated nodes by each filter that applies to the pod, in
        configured order. Empty if PreFilter rejected the pod.

        `statuses` has the decisive rejections and those caused by nominated pods.
        """
        if self.pre_filter.status is not None:
            return {}
        return objections_of_all(self._engine.plan, self._entry, self._table, self.state, self.pod, self._candidates())

    def known_objections(self) -> Mapping[str, Mapping[str, Status]]:
        """Return the rejections that kernels know. Empty if PreFilter restricts the nodes, because
        kernels need not know about the others."""
        outcome, plan, names = self.pre_filter, self._engine.plan, self._table.names
        if outcome.status is not None or outcome.node_names is not None:
            return {}
        found = objections_of_kernels(plan, self._entry, self.state, self._table.alive)
        return {
            plugin: {names[row]: status for status, rows in groups.items() for row in rows.tolist()}
            for plugin, groups in found.items()
        }

    def _candidates(self) -> BoolColumn:
        """Return the evaluated rows: those that PreFilter admits, and the nominated one."""
        candidates = self._table.alive.copy()
        outside = self._outside()
        if outside is not None:
            candidates &= ~outside
        if self._refused_nomination is not None:
            candidates[self._refused_nomination] = True
        return candidates

    def _overruled(self, candidates: BoolColumn) -> Iterator[Mapping[Status, RowIndex]]:
        """Yield statuses of single nodes that override the kernels: live plugins and nominated
        pods."""
        others = candidates.copy()
        refused = self._refused_nomination
        if refused is not None and self._refusal is not None:
            others[refused] = False
            yield rows_by_status({refused: self._refusal})
        if self._nominated_pods is not None:
            yield from self._nominated_pods.objections(others)

    def scores(self) -> ScoreTable | None:
        if self._scores is None and self.feasible_count > 1:
            self._require_scores()
            self._scores = score_table(
                self._engine.plan, self._entry, self._table, self.state, self.pod, self._feasible
            )
        return self._scores

    @property
    def scores_are_relative(self) -> bool:
        """Whether the total of a node depends on which other nodes are feasible."""
        return bool(self._entry.live_scores) or self._entry.signature.is_relative(self._feasible)

    def feasible_totals(self, excluded: BoolColumn | None = None) -> FeasibleTotals:
        """Return the totals of the feasible nodes, as if the excluded rows had not been evaluated;
        zeros if fewer than two are left. Raises CycleAborted for an internal error of a plugin."""
        signature = self._entry.signature
        feasible = self._feasible if excluded is None else signature.without(excluded, self._feasible)
        rows = feasible.rows
        if feasible.count < 2:
            return FeasibleTotals(rows, np.zeros(len(rows), np.int64))
        self._require_scores()
        if self._entry.live_scores:
            table = score_table(self._engine.plan, self._entry, self._table, self.state, self.pod, feasible)
            return FeasibleTotals(rows, np.asarray(table.total, np.int64))
        return FeasibleTotals(rows, signature.totals(feasible)[rows].astype(np.int64))

    def score_skipped(self) -> frozenset[str]:
        """Return the plugins that skip scoring. Kernels know without computing scores; other
        plugins have to be called."""
        if self.feasible_count < 2 or self._scores is not None or self._entry.live_scores:
            return super().score_skipped()
        return frozenset(step.name for step, part in self._entry.scores if has_nothing_to_score(part, self._feasible))

    def _require_scores(self) -> None:
        """Raise CycleAborted if a plugin with a promise has an internal error on a feasible
        node."""
        for kernel in self._entry.promised_scores:
            if kernel.faults:
                for row in self._table.live_rows():
                    if row in kernel.faults and self._feasible.penalty[row] == 0:
                        raise kernel.faults[row]

    def restrict(self, names: Iterable[str]) -> None:
        lost = np.zeros(self._table.capacity, np.bool_)
        lost[self._feasible.rows] = True
        lost[[row for name in names if (row := self._table.row_of(name)) is not None]] = False
        if lost.any():
            self._passing = self._entry.signature.without(lost, self._feasible)
            self.feasible_count = self._passing.count
            self._best_rows = self.version = None

    def ranked_totals(self, node: str) -> RankedTotals | None:
        row = self._table.row_of(node)
        if self.feasible_count < 2 or row is None:
            return None
        totals = self._live_totals if self._entry.live_scores else self._entry.signature.ranked
        return None if totals is None else RankedTotals(totals, row)

    def digested_totals(self, node: str) -> DigestedTotals | None:
        row = self._table.row_of(node)
        if self.feasible_count < 2 or row is None:
            return None
        if self._entry.live_scores:
            return super().digested_totals(node)
        return self._entry.signature.digested(row)

    def choose(self, rng: Rng) -> Choice:
        best = self._best_rows
        if best is None:
            best = self._best()
        return one_of(best, self._table.names, rng)

    def _best(self) -> Rows:
        """Return the feasible rows with the greatest total."""
        entry = self._entry
        if self.feasible_count == 1:
            return self._feasible.rows
        if entry.live_scores:
            return rows_of_greatest(self._with_live_scores())
        if entry.promised_scores:
            self._require_scores()
        return entry.signature.best(self._feasible)

    def _with_live_scores(self) -> Totals:
        table = self.scores()
        assert table is not None
        column = np.full(self._table.capacity, np.iinfo(np.int64).min, np.int64)
        column[self._feasible.rows] = table.total
        self._live_totals = column
        return column


def one_of(rows: Rows, names: Sequence[str], rng: Rng) -> Choice:
    """Return a random one of the best rows, as upstream breaks ties."""
    ties = len(rows)
    if ties > 1 and isinstance(rng, FirstByName):
        return Choice(min(names[row] for row in rows), ties)
    return Choice(names[rows[rng.randrange(ties) if ties > 1 else 0]], ties)
