# SPDX-License-Identifier: Apache-2.0
"""The plain engine: every plugin is asked for every node, as upstream does it.

The specification of the columnar engine, its stand-in where a what-if question is asked about a single node, and the
engine of profiles that ask for it. Slow, and readable.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from steersman.engine.evaluation import (
    Choice,
    Evaluation,
    NodeStatuses,
    PluginScores,
    PreFilterOutcome,
    ScoreTable,
    merge,
    not_restricted_to,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import MAX_NODE_SCORE, MIN_NODE_SCORE, NodeScore, invalid_score
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status, is_skip
from steersman.rng import Rng
from steersman.runtime.faults import CycleAborted, as_fault
from steersman.runtime.profile import Profile, ScoreCall, StatusCall
from steersman.state.nominations import nominated_ahead_of
from steersman.state.plain_node import PlainNodeInfo

#: Pods nominated to nodes, by node name.
Nominations = Mapping[str, Sequence[PodInfo]]


def pre_filter(profile: Profile, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PreFilterOutcome:
    outcome = merge((call.name, lambda call=call: call.run(state, pod, nodes)) for call in profile.pre_filter)  # type: ignore[misc]
    state.skip_filter = outcome.skipped
    return outcome


def filter_node(profile: Profile, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
    """The first plugin's objection in configured order; None: the pod fits."""
    for call in profile.filter:
        if call.name in state.skip_filter:
            continue
        status = call.run(state, pod, node)
        if status is not None:
            require_rejection(call.name, status)
            return status
    return None


def require_rejection(plugin: str, status: Status) -> None:
    """A filter may only say that the pod does not fit; anything else ends the cycle."""
    if not status.is_rejected:
        raise CycleAborted(as_fault("Filter", plugin, status))


def filter_with_nominated(
    profile: Profile, state: CycleState, pod: PodInfo, node: NodeInfo, nominated: Iterable[PodInfo]
) -> Status | None:
    """With pods of equal or higher priority that are nominated to the node, the pod must fit both with and without them:
    they may arrive, but affinity must not rest on them."""
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


def pre_score(profile: Profile, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> frozenset[str]:
    """Runs PreScore; the plugins that asked to be skipped."""
    return pre_score_of(profile.pre_score, state, pod, nodes)


def pre_score_of(
    calls: Iterable[StatusCall], state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]
) -> frozenset[str]:
    """Runs PreScore of some plugins; those that asked to be skipped."""
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
    """NormalizeScore, and the check that every score is within bounds."""
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
    """Evaluates everything at once when it is made."""

    def __init__(
        self,
        profile: Profile,
        pod: PodInfo,
        nodes: Mapping[str, NodeInfo],
        nominations: Nominations,
    ) -> None:
        self._profile = profile
        self._pod = pod
        self.state = CycleState()
        self._table: ScoreTable | None = None
        self._statuses = NodeStatuses()
        self._feasible: list[NodeInfo] = []
        self._outcome = pre_filter(profile, self.state, pod, list(nodes.values()))
        if self._outcome.status is not None:
            self._statuses = NodeStatuses(absent=self._outcome.status)
        else:
            self._filter(nodes, nominations)
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

    def restrict(self, names: Container[str]) -> None:
        self._feasible = [node for node in self._feasible if node.name in names]
        self.feasible_count = len(self._feasible)

    def choose(self, rng: Rng) -> Choice:
        table = self.scores()
        if table is None:
            return Choice(self._feasible[0].name, 1)
        names = table.best()
        chosen = names[rng.randrange(len(names))] if len(names) > 1 else names[0]
        return Choice(chosen, len(names))


def _grouped(statuses: Mapping[str, Status]) -> dict[Status, list[str]]:
    groups: dict[Status, list[str]] = {}
    for name, status in statuses.items():
        groups.setdefault(status, []).append(name)
    return groups
