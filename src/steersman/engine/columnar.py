# SPDX-License-Identifier: Apache-2.0
"""The fast engine: signatures answer for all nodes at once; plugins without a vector form are asked where it matters.

A pod's signature (see `engine.signature`) is looked up, or put together from the kernels of the profile's columnar plugins.
On top of it come, in this order: the restriction of PreFilter, nodes with nominated pods (`local_filters`), and plugins that
must be asked per cycle. Diagnosis and reports read the same kernels again, in configured order.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.derived import Derived
from steersman.engine import scalar
from steersman.engine.best_rows import rows_of_greatest
from steersman.engine.evaluation import (
    Choice,
    Evaluation,
    FeasibleTotals,
    NodeStatuses,
    PreFilterOutcome,
    RankedTotals,
    ScoreTable,
    not_restricted_to,
)
from steersman.engine.live_plugins import live_rejections, pre_filter, state_of_skipping_plugins
from steersman.engine.local_filters import (
    LocalFilters,
    NominatedPodsFilter,
    RowFilters,
    leading_filters,
    local_filters,
    row_filters,
)
from steersman.engine.plan import FilterStep, Plan
from steersman.engine.report import (
    RowIndex,
    RowStatuses,
    diagnose_rows,
    has_nothing_to_score,
    objections_of_all,
    objections_of_kernels,
    rows_by_status,
    score_table,
)
from steersman.engine.row_totals import Totals
from steersman.engine.sampling import Sampling
from steersman.engine.signatures import Signatures
from steersman.engine.totals_digest import DigestedTotals
from steersman.framework.columns import Feasible
from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import Objects
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import BoolColumn
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.graph_copy import copied_attributes, no_value
from steersman.kept import Kept
from steersman.rng import Rng
from steersman.runtime.profile import Profile
from steersman.state.node_table import NodeTable
from steersman.state.nominations import Nominations, nominated_ahead_of
from steersman.state.row_info import LiveNodes

Rows = Sequence[int] | NDArray[np.intp]


ROW_NAMES = Kept(
    name="names by row",
    attributes=("ColumnarEngine._names",),
    holds="the nodes' names, for reports",
    key="row",
    stamps="end of the log of changed nodes (`Derived`)",
    bound="one for each profile",
    twin="`NodeTable.names`",
)


@copied_attributes(latest=no_value)
class ColumnarEngine:
    """One per profile: evaluates pods against the table."""

    def __init__(self, plan: Plan, table: NodeTable, objects: Objects, sampling: Sampling) -> None:
        self.plan = plan
        self.table = table
        self.signatures = Signatures(plan, table, objects)
        self.sampling = sampling
        #: The latest evaluation; the state may have changed since.
        self.latest: ColumnarEvaluation | None = None
        self._names: Derived[tuple[str, ...]] = Derived()

    def evaluate(self, pod: PodInfo, nominations: Nominations) -> ColumnarEvaluation:
        self.latest = ColumnarEvaluation(self, pod, nominations)
        return self.latest

    def names(self) -> tuple[str, ...]:
        """The nodes' names by row, as they are now."""
        return self._names.at(self.table.node_log.end, lambda: tuple(self.table.names))


class ColumnarEvaluation(Evaluation):
    """Filters when it is made; scores when asked. Where the signature says all there is to say, it is made with nothing but the
    best rows and the number of feasible ones; everything else is worked out when somebody asks for it."""

    #: Of a complete signature, or a pod that can run on one node: the feasible rows with the greatest total. None: to be
    #: looked for.
    _best_rows: Rows | None = None
    #: None: the signature's own, to be asked for.
    _passing: Feasible | None = None
    _outcome: PreFilterOutcome | None = None
    _scalar_state: CycleState | None = None
    #: The row of the nominated node when the pod does not fit there; it was looked at, whatever PreFilter admits.
    _refused_nomination: int | None = None
    #: What was found against it; None: what the kernels say.
    _refusal: Status | None = None
    #: None: nobody is nominated anywhere.
    _nominated_pods: NominatedPodsFilter | None = None
    _scores: ScoreTable | None = None
    #: With the scores of plugins that are asked in every cycle, once they were added.
    _live_totals: Totals | None = None
    _local: LocalFilters | None = None
    _asked_for_local = False

    def __init__(self, engine: ColumnarEngine, pod: PodInfo, nominations: Nominations) -> None:
        self._engine = engine
        self._table = engine.table
        self.pod = pod
        self._entry = entry = engine.signatures.of(pod)
        self._nominations = nominations
        self.state = CycleState()
        by_kernels = not nominations.by_node and not pod.nominated_node and engine.sampling.is_off
        if by_kernels and entry.is_complete:
            self._best_rows, self.feasible_count = entry.signature.best_of_all()
        elif by_kernels and entry.is_pinned:
            self._best_rows = self._pinned_rows()
            self.feasible_count = len(self._best_rows)
        else:
            self._passing = entry.signature.feasible() if by_kernels and entry.is_plain else self._filter()
            self.feasible_count = self._passing.count

    def _pinned_rows(self) -> Rows:
        """The row of the one node on which the pod can run, if it is feasible."""
        row = self._table.row_of(self.pod.pinned_to)
        return (row,) if row is not None and self._entry.signature.is_feasible(row) else ()

    @property
    def _feasible(self) -> Feasible:
        if self._passing is None:
            signature = self._entry.signature
            self._passing = (
                signature.feasible_at(self._table.row_of(self.pod.pinned_to))
                if self._entry.is_pinned
                else signature.feasible()
            )
        return self._passing

    # -- PreFilter and Filter ----------------------------------------------------------------------------------------

    @property
    def pre_filter(self) -> PreFilterOutcome:
        if self._outcome is None:
            self._outcome = pre_filter(self._profile, self._entry, self.state, self.pod, self._nodes())
        return self._outcome

    @property
    def _profile(self) -> Profile:
        return self._engine.plan.profile

    def _filter(self) -> Feasible:
        if self.pre_filter.status is not None:
            return Feasible(np.full(self._table.capacity, -1), 0)
        signature = self._entry.signature
        nominated = self._table.row_of(self.pod.nominated_node)
        if nominated is not None and self._passes(nominated, signature.feasible()):
            self.nominated_path = True
            only = np.ones(self._table.capacity, np.bool_)
            only[nominated] = False
            return signature.feasible(only)
        self._refused_nomination = nominated
        outside = self._outside()
        feasible = signature.feasible(outside)
        self._ask_again_where_broken()
        feasible = self._without_nominated_rows(feasible)
        feasible = self._without_live_rejections(feasible)
        return self._engine.sampling.sample(feasible, self._table, signature, outside, nominated)

    def _outside(self) -> BoolColumn | None:
        """Rows outside of the restriction of PreFilter."""
        names = self.pre_filter.node_names
        if names is None:
            return None
        outside = np.ones(self._table.capacity, np.bool_)
        for name in names:
            row = self._table.row_of(name)
            if row is not None:
                outside[row] = False
        return outside

    def _ask_again_where_broken(self) -> None:
        """CycleAborted when a plugin that made a promise breaks on a node that no plugin before it rejects."""
        broken = {row for kernel in self._entry.promised_filters for row in kernel.broken_rows}
        if broken:
            for row in self._table.live_rows():
                if row in broken and self._is_candidate(row):
                    self._examine(row, self._nominated_ahead(row))

    def _is_candidate(self, row: int) -> bool:
        return row == self._refused_nomination or self._is_inside(row)

    def _is_inside(self, row: int) -> bool:
        """Whether PreFilter admits the node."""
        names = self.pre_filter.node_names
        return names is None or self._table.names[row] in names

    def _without_nominated_rows(self, feasible: Feasible) -> Feasible:
        """Nodes to which other pods are nominated must have room for those as well."""
        if not self._nominations.by_node:
            return feasible
        self._nominated_pods = nominated_pods = self._nominated_pods_filter()
        if not self._entry.is_plain:
            # Plugins that may break are asked wherever the plain engine asks them.
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
        """Whether the nominated node fits. Kernels need not know of nodes outside of the restriction of PreFilter."""
        inside = self._is_candidate(row)
        if inside and feasible.penalty[row] != 0:
            return False
        others = self._nominated_ahead(row)
        if inside and not others and not self._entry.live_filters:
            return True
        self._refusal = self._examine(row, others)
        return self._refusal is None

    def _nominated_ahead(self, row: int) -> list[PodInfo]:
        """Pods nominated to the node for which the pod must leave room."""
        return nominated_ahead_of(self.pod, self._nominations.on(self._table.names[row]))

    def _examine(self, row: int, others: Sequence[PodInfo]) -> Status | None:
        """The objection against one node, with and without nominated pods; by the scalar engine where kernels cannot tell."""
        local = self.local_filters() if self._is_inside(row) else None
        if local is not None:
            # Of filters that only count what is there, none objects without these pods that does not object with them.
            return local.objection(row, others)
        node = self._table.info(row)
        return scalar.filter_with_nominated(self._profile, self.scalar_state(), self.pod, node, others)

    def local_filters(self) -> LocalFilters | None:
        """The filters that decide, if all of them look at nothing but the node. None as well when PreFilter has something
        against the pod, or a node outside of its restriction was looked at."""
        if not self._looks_inside_only():
            return None
        if not self._asked_for_local:
            self._asked_for_local = True
            self._local = local_filters(self._engine.plan, self._entry, self._table, self.pre_filter.skipped)
        return self._local

    def row_filters(self, coming: Callable[[], Iterable[PodInfo]]) -> RowFilters | None:
        """The filters that decide, if all say how they follow from the pods of a node; `coming` are pods that may be there
        later. None when PreFilter has something against the pod, or a node outside of its restriction was looked at."""
        if not self._looks_inside_only():
            return None
        return row_filters(self._engine.plan, self._entry, self._table, self.pre_filter.skipped, coming)

    def _looks_inside_only(self) -> bool:
        """Whether PreFilter has nothing against the pod, and no node outside of its restriction was looked at."""
        refused = self._refused_nomination
        return self.pre_filter.status is None and (refused is None or self._is_inside(refused))

    def scalar_state(self) -> CycleState:
        """PreFilter state as the scalar engine makes it: kernels do not write any."""
        if self._scalar_state is None:
            self._scalar_state = CycleState()
            scalar.pre_filter(self._profile, self._scalar_state, self.pod, self._nodes())
        return self._scalar_state

    def deferred_state(self) -> CycleState:
        """The state for PostFilter, made when somebody looks at it. What plugins leave there that the pod does not concern is
        there at once: it costs little, and one of them may look for it in every preemption."""
        state = super().deferred_state()
        if self.pre_filter.status is None:
            state.entries.update(state_of_skipping_plugins(self._profile, self.pod, self._nodes()))
        return state

    def _nodes(self) -> Sequence[NodeInfo]:
        return LiveNodes(self._table)

    # -- answers -----------------------------------------------------------------------------------------------------

    def feasible(self) -> Sequence[str]:
        names = self._table.names
        return [names[row] for row in self._feasible.rows.tolist()]

    def statuses(self) -> NodeStatuses:
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
        """The objections of each filter that the pod concerns to the nodes that are looked at, in configured order; `statuses`
        says which objection decides, and what nominated pods add to it. Nothing where PreFilter has rejected the pod."""
        if self.pre_filter.status is not None:
            return {}
        return objections_of_all(self._engine.plan, self._entry, self._table, self.state, self.pod, self._candidates())

    def known_objections(self) -> Mapping[str, Mapping[str, Status]]:
        """The objections that kernels know. Nothing where PreFilter restricts the nodes, since kernels need not know of the
        others."""
        outcome, plan, names = self.pre_filter, self._engine.plan, self._table.names
        if outcome.status is not None or outcome.node_names is not None:
            return {}
        found = objections_of_kernels(plan, self._entry, self.state, self._table.alive)
        return {
            plugin: {names[row]: status for status, rows in groups.items() for row in rows.tolist()}
            for plugin, groups in found.items()
        }

    def _candidates(self) -> BoolColumn:
        """The rows that are looked at: those that PreFilter admits, and the nominated one."""
        candidates = self._table.alive.copy()
        outside = self._outside()
        if outside is not None:
            candidates &= ~outside
        if self._refused_nomination is not None:
            candidates[self._refused_nomination] = True
        return candidates

    def _overruled(self, candidates: BoolColumn) -> Iterator[Mapping[Status, RowIndex]]:
        """Statuses of single nodes that overrule the kernels: live plugins and nominated pods."""
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
        """The totals of the feasible nodes, as if the excluded rows had not been looked at; zeros where fewer than two are left
        and nothing is scored. CycleAborted when a plugin is broken."""
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
        """The plugins that have nothing to score. Kernels say so without their scores; other plugins have to be asked."""
        if self.feasible_count < 2 or self._scores is not None or self._entry.live_scores:
            return super().score_skipped()
        return frozenset(step.name for step, part in self._entry.scores if has_nothing_to_score(part, self._feasible))

    def _require_scores(self) -> None:
        """CycleAborted when a plugin that made a promise breaks on a feasible node."""
        for kernel in self._entry.promised_scores:
            if kernel.faults:
                for row in self._table.live_rows():
                    if row in kernel.faults and self._feasible.penalty[row] == 0:
                        raise kernel.faults[row]

    def restrict(self, names: Container[str]) -> None:
        lost = np.zeros(self._table.capacity, np.bool_)
        for row in self._feasible.rows.tolist():
            lost[row] = self._table.names[row] not in names
        if lost.any():
            self._passing = self._entry.signature.without(lost, self._feasible)
            self.feasible_count = self._passing.count
            self._best_rows = None

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
        """The feasible rows with the greatest total."""
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
    """Any of the best rows, as upstream breaks ties."""
    ties = len(rows)
    return Choice(names[rows[rng.randrange(ties) if ties > 1 else 0]], ties)
