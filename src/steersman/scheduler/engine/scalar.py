# SPDX-License-Identifier: Apache-2.0
"""The scalar engine: every plugin is called for every node, as in upstream.

The reference for the columnar engine, its fallback for what-if questions about single nodes, and
the engine of profiles that request it. Slow and readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from steersman.base import FirstByName, Rng
from steersman.framework import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    CycleState,
    NodeInfo,
    NodeScore,
    PodInfo,
    Status,
    invalid_score,
    is_skip,
)
from steersman.scheduler.engine.evaluation import (
    Choice,
    Evaluation,
    NodeStatuses,
    PlacementTrial,
    PluginScores,
    PreFilterOutcome,
    ScoreTable,
    merge,
    new_state,
    not_restricted_to,
)
from steersman.scheduler.runtime.faults import CycleAborted, as_fault
from steersman.scheduler.runtime.profile import Profile, ScoreCall, StatusCall
from steersman.scheduler.state.nominations import nominated_ahead_of
from steersman.scheduler.state.plain_node import PlainNodeInfo

#: Pods nominated to nodes, by node name.
Nominations = Mapping[str, Sequence[PodInfo]]


def pre_filter(profile: Profile, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PreFilterOutcome:
    outcome = merge((call.name, lambda call=call: call.run(state, pod, nodes)) for call in profile.pre_filter)  # type: ignore[misc]
    state.skip_filter = outcome.skipped
    return outcome


def filter_node(profile: Profile, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
    """Return the first rejection in configured order, or None if the pod fits."""
    for call in profile.filter:
        if call.name in state.skip_filter:
            continue
        status = call.run(state, pod, node)
        if status is not None:
            require_rejection(call.name, status)
            return status
    return None


def require_rejection(plugin: str, status: Status) -> None:
    """Raise CycleAborted for any status other than a rejection."""
    if not status.is_rejected:
        raise CycleAborted(as_fault("Filter", plugin, status))


def filter_with_nominated(
    profile: Profile, state: CycleState, pod: PodInfo, node: NodeInfo, nominated: Iterable[PodInfo]
) -> Status | None:
    """Return the first rejection with and without the pods of equal or higher priority nominated to
    the node: they may arrive, but the pod's affinity must not depend on them."""
    others = nominated_ahead_of(pod, nominated)
    if others:
        with_others = PlainNodeInfo.copy_of(node)
        assumed = state.clone()
        for other in others:
            with_others.add_pod(other)
            add_to_state(profile, assumed, pod, other, with_others)
        status = filter_node(profile, assumed, pod, with_others)
        if status is not None:
            return status
    return filter_node(profile, state, pod, node)


def add_to_state(profile: Profile, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
    for call in profile.pre_filter:
        if call.add_pod is not None and call.name not in state.skip_filter:
            status = call.add_pod(state, pod, added, node)
            if status is not None:
                raise CycleAborted(as_fault("AddPod", call.name, status))


def remove_from_state(profile: Profile, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
    for call in profile.pre_filter:
        if call.remove_pod is not None and call.name not in state.skip_filter:
            status = call.remove_pod(state, pod, removed, node)
            if status is not None:
                raise CycleAborted(as_fault("RemovePod", call.name, status))


def score_nodes(profile: Profile, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> ScoreTable:
    skipped = pre_score(profile, state, pod, nodes)
    plugins = [scores_of(call, state, pod, nodes) for call in profile.score if call.name not in skipped]
    totals = [0] * len(nodes)
    for scores in plugins:
        for index, score in enumerate(scores.normalised):
            totals[index] += scores.weight * score
    return ScoreTable([n.name for n in nodes], plugins, skipped, totals)


def score_without_pods(profile: Profile, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> ScoreTable:
    """Score feasible nodes as if they had no pods and no images; `state` is that of PreFilter.

    Filter runs first on the real nodes, because plugins score with the state that it writes.
    """
    for node in nodes:
        filter_node(profile, state, pod, node)
    return score_nodes(profile, state, pod, [PlainNodeInfo(node.node) for node in nodes])


def pre_score(profile: Profile, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> frozenset[str]:
    """Run PreScore and return the plugins that returned Skip."""
    return pre_score_of(profile.pre_score, state, pod, nodes)


def pre_score_of(
    calls: Iterable[StatusCall], state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]
) -> frozenset[str]:
    """Run PreScore of some plugins and return those that returned Skip."""
    skipped: set[str] = set()
    for call in calls:
        status = call.run(state, pod, nodes)
        if is_skip(status):
            skipped.add(call.name)
        elif status is not None:
            raise CycleAborted(as_fault("PreScore", call.name, status))
    state.skip_score = frozenset(skipped)
    return state.skip_score


def scores_of(call: ScoreCall, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PluginScores:
    raw = [call.run(state, pod, node) for node in nodes]
    entries = [NodeScore(node.name, score) for node, score in zip(nodes, raw, strict=True)]
    return PluginScores(call.name, call.weight, raw, normalised_scores(call, state, pod, entries))


def normalised_scores(call: ScoreCall, state: CycleState, pod: PodInfo, entries: list[NodeScore]) -> list[int]:
    """Run NormalizeScore and check that every score is in range."""
    if call.normalize is not None:
        status = call.normalize(state, pod, entries)
        if status is not None:
            raise CycleAborted(as_fault("NormalizeScore", call.name, status))
    for entry in entries:
        check_score(call.name, entry.score)
    return [entry.score for entry in entries]


def check_score(plugin: str, score: int) -> None:
    if not MIN_NODE_SCORE <= score <= MAX_NODE_SCORE:
        raise CycleAborted(invalid_score(plugin, score))


class ScalarEvaluation(Evaluation):
    """Evaluates everything when it is created."""

    def __init__(
        self,
        profile: Profile,
        pod: PodInfo,
        nodes: Mapping[str, NodeInfo],
        nominations: Nominations,
        trial: PlacementTrial | None = None,
    ) -> None:
        self._profile = profile
        self._pod = pod
        self.state = new_state(trial)
        self._table: ScoreTable | None = None
        self._statuses = NodeStatuses()
        self._feasible: list[NodeInfo] = []
        self._outcome = pre_filter(profile, self.state, pod, list(nodes.values()))
        if self._outcome.status is not None:
            self._statuses = NodeStatuses(absent=self._outcome.status)
        else:
            inside = None if trial is None else trial.node_names
            candidates = nodes if inside is None else {name: nodes[name] for name in nodes if name in inside}
            self._filter(candidates, nominations)
        self.feasible_count = len(self._feasible)

    def _filter(self, nodes: Mapping[str, NodeInfo], nominations: Nominations) -> None:
        statuses: dict[str, Status] = {}
        nominated = nodes.get(self._pod.pod.status.nominated_node_name)
        if nominated is not None:
            self._examine([nominated], nominations, statuses)
            if self._feasible:
                self.nominated_path = True
                return
        absent: Status | None = None
        allowed = self._outcome.node_names
        if allowed is not None:
            absent = not_restricted_to(self._outcome.restricting, statuses.values())
            nodes = {name: node for name, node in nodes.items() if name in allowed}
        self._examine(nodes.values(), nominations, statuses)
        self._statuses = NodeStatuses(_grouped(statuses), absent)

    def _examine(self, nodes: Iterable[NodeInfo], nominations: Nominations, statuses: dict[str, Status]) -> None:
        for node in nodes:
            nominated = nominations.get(node.name, ())
            status = filter_with_nominated(self._profile, self.state, self._pod, node, nominated)
            if status is None:
                self._feasible.append(node)
            else:
                statuses[node.name] = status

    @property
    def pre_filter(self) -> PreFilterOutcome:
        return self._outcome

    def scalar_state(self) -> CycleState:
        return self.state

    def feasible(self) -> Sequence[str]:
        return [node.name for node in self._feasible]

    def statuses(self) -> NodeStatuses:
        return self._statuses

    def scores(self) -> ScoreTable | None:
        if self._table is None and len(self._feasible) > 1:
            self._table = score_nodes(self._profile, self.state, self._pod, self._feasible)
        return self._table

    def restrict(self, names: Iterable[str]) -> None:
        allowed = frozenset(names)
        self._feasible = [node for node in self._feasible if node.name in allowed]
        self.feasible_count = len(self._feasible)

    def choose(self, rng: Rng) -> Choice:
        table = self.scores()
        if table is None:
            return Choice(self._feasible[0].name, 1)
        names = table.best()
        is_drawn = len(names) > 1 and not isinstance(rng, FirstByName)
        chosen = names[rng.randrange(len(names)) if is_drawn else 0]
        return Choice(chosen, len(names))


def _grouped(statuses: Mapping[str, Status]) -> dict[Status, list[str]]:
    groups: dict[Status, list[str]] = {}
    for name, status in statuses.items():
        groups.setdefault(status, []).append(name)
    return groups
