# SPDX-License-Identifier: Apache-2.0
"""TaintToleration: keeps pods away from nodes with taints that they do not tolerate.

Filter rejects nodes with an untolerated NoSchedule or NoExecute taint; Score counts the untolerated
PreferNoSchedule taints, fewer being better. PreFilter, since v1.37, does nothing. The vector form
evaluates each distinct set of taints once and gathers the results by row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from steersman import api
from steersman.api import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    Taint,
    Toleration,
    find_untolerated_taint,
    tolerates,
)
from steersman.framework import (
    MAX_NODE_SCORE,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    ColumnarFilter,
    ColumnarScore,
    CycleState,
    EnqueueExtensions,
    EventResource,
    FilterKernel,
    FilterPlugin,
    Handle,
    IntColumn,
    NodeInfo,
    NodeScore,
    NodesView,
    Normalize,
    PodInfo,
    PreScorePlugin,
    QueueingHint,
    ReasonColumn,
    Rows,
    ScoreKernel,
    ScorePlugin,
    Status,
    StatusTable,
    TaintSets,
    changed,
    default_normalize_score,
    error,
    unresolvable,
)

ERR_REASON = "node(s) had untolerated taint(s)"
STATE_KEY = "PreScoreTaintToleration"
COMPARISON_OPERATORS_GATE = "TaintTolerationComparisonOperators"
REJECTING_EFFECTS: Final = frozenset({NO_SCHEDULE, NO_EXECUTE})


class SoftTolerations(msgspec.Struct, frozen=True):
    """The tolerations that can match a PreferNoSchedule taint, passed from PreScore to Score."""

    tolerations: tuple[api.Toleration, ...]


class TaintToleration(FilterPlugin, PreScorePlugin, ScorePlugin, ColumnarFilter, ColumnarScore, EnqueueExtensions):
    """Rejects nodes with untolerated taints and scores the others by PreferNoSchedule taints."""

    name = "TaintToleration"

    def __init__(self, args: None, handle: Handle) -> None:
        self._comparison_operators = handle.gates.enabled(COMPARISON_OPERATORS_GATE)
        self.statuses = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        """Do nothing: profiles of v1.37 list the plugin at this point."""

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if self._tolerates_all(pod.spec.tolerations, node.node.spec.taints) else unresolvable(ERR_REASON)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        soft = tuple(each for each in pod.spec.tolerations if each.effect in ("", PREFER_NO_SCHEDULE))
        state.write(STATE_KEY, SoftTolerations(soft))
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int | Status:
        soft = state.read(STATE_KEY, SoftTolerations)
        if soft is None:
            return error(f'failed to read "{STATE_KEY}" from cycleState: not found')
        return self._untolerated_soft_taints(soft.tolerations, node.node.spec.taints)

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> Status | None:
        default_normalize_score(MAX_NODE_SCORE, True, scores)
        return None

    def filter_fragment(self, pod: PodInfo) -> Tolerations:
        return hard_tolerations(pod.spec.tolerations, REJECTING_EFFECTS, self._comparison_operators)

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel:
        tolerations, reason = tuple(self.filter_fragment(pod)), self.statuses.id_of(unresolvable(ERR_REASON))
        return UntoleratedTaints(view.taints, lambda taints: 0 if self._tolerates_all(tolerations, taints) else reason)

    def score_fragment(self, pod: PodInfo) -> Tolerations:
        return soft_tolerations(pod.spec.tolerations, self._comparison_operators)

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel:
        tolerations = tuple(self.score_fragment(pod))
        return UntoleratedSoftTaints(view.taints, lambda taints: self._untolerated_soft_taints(tolerations, taints))

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        node_event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        toleration_event = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
        return (
            ClusterEventWithHint(node_event, self.after_node_change),
            ClusterEventWithHint(toleration_event, self.after_toleration_added),
        )

    def after_node_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the pod tolerates the node's taints, and the node is new or did not fit."""
        before, now = changed(api.Node, old, new)
        tolerations = waiting.spec.tolerations
        was_tolerated = before is not None and self._tolerates_all(tolerations, before.spec.taints)
        if not was_tolerated and self._tolerates_all(tolerations, now.spec.taints):
            return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def after_toleration_added(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue after any new toleration of the pod: the nodes that it makes feasible are not known
        here."""
        _, now = changed(api.Pod, old, new)
        return QueueingHint.QUEUE if now.metadata.uid == waiting.metadata.uid else QueueingHint.SKIP

    def _tolerates_all(self, tolerations: tuple[api.Toleration, ...], taints: tuple[api.Taint, ...]) -> bool:
        untolerated = find_untolerated_taint(
            taints, tolerations, REJECTING_EFFECTS, comparison_operators=self._comparison_operators
        )
        return untolerated is None

    def _untolerated_soft_taints(self, tolerations: tuple[api.Toleration, ...], taints: tuple[api.Taint, ...]) -> int:
        soft_taints = (taint for taint in taints if taint.effect == PREFER_NO_SCHEDULE)
        return sum(not self._tolerated(taint, tolerations) for taint in soft_taints)

    def _tolerated(self, taint: api.Taint, tolerations: tuple[api.Toleration, ...]) -> bool:
        return any(tolerates(each, taint, comparison_operators=self._comparison_operators) for each in tolerations)


# -- the vector form ---------------------------------------------------------------------------------------------------

Tolerations = frozenset[Toleration]


def hard_tolerations(
    tolerations: Iterable[Toleration], effects: Collection[str], comparison_operators: bool
) -> Tolerations:
    """Return the tolerations that can match these effects; equal for equivalent lists."""
    relevant = (each for each in tolerations if not each.effect or each.effect in effects)
    return _canonical(relevant, comparison_operators)


def soft_tolerations(tolerations: Iterable[Toleration], comparison_operators: bool) -> Tolerations:
    """Return the tolerations that can match a PreferNoSchedule taint, without their effect."""
    relevant = (
        Toleration(key=each.key, operator=each.operator, value=each.value)
        for each in tolerations
        if each.effect in ("", PREFER_NO_SCHEDULE)
    )
    return _canonical(relevant, comparison_operators)


def _canonical(tolerations: Iterable[Toleration], comparison_operators: bool) -> Tolerations:
    """Return normalised tolerations without order, times and those that never match a taint."""
    operators = {"Equal", "Exists", "Lt", "Gt"} if comparison_operators else {"Equal", "Exists"}
    plain = (
        Toleration(
            key=each.key,
            operator=each.operator or "Equal",
            value="" if each.operator == "Exists" else each.value,
            effect=each.effect,
        )
        for each in tolerations
    )
    return frozenset(each for each in plain if each.operator in operators)


class TaintSetNumbers:
    """A number per set of taints, computed when the set is first seen."""

    def __init__(self, taints: TaintSets, judge: Callable[[tuple[Taint, ...]], int]) -> None:
        self._sets = taints.sets
        self._ids = taints.ids
        self._id_cell = taints.ids.data
        self._judge = judge
        self._answers: list[int] = []

    def rows(self, rows: Rows) -> IntColumn:
        self._judge_new_sets()
        return np.array(self._answers, np.int64).take(self._ids[rows])

    def row(self, row: int) -> int:
        set_id: int = self._id_cell[row]
        if set_id >= len(self._answers):
            self._judge_new_sets()
        return self._answers[set_id]

    def _judge_new_sets(self) -> None:
        self._answers += map(self._judge, self._sets[len(self._answers) :])


class UntoleratedTaints(FilterKernel):
    """Rejects nodes by their taints. `judge` returns the reason id for a set of taints, or 0."""

    def __init__(self, taints: TaintSets, judge: Callable[[tuple[Taint, ...]], int]) -> None:
        self._answers = TaintSetNumbers(taints, judge)

    def rows(self, rows: Rows) -> ReasonColumn:
        return self._answers.rows(rows).astype(np.int32)

    def row(self, row: int) -> int:
        return self._answers.row(row)


class UntoleratedSoftTaints(ScoreKernel):
    """Scores nodes by taints. `judge` counts a set's untolerated PreferNoSchedule taints."""

    normalize = Normalize.DEFAULT_REVERSE

    def __init__(self, taints: TaintSets, judge: Callable[[tuple[Taint, ...]], int]) -> None:
        self._answers = TaintSetNumbers(taints, judge)

    def rows(self, rows: Rows) -> IntColumn:
        return self._answers.rows(rows)

    def row(self, row: int) -> int:
        return self._answers.row(row)
