# SPDX-License-Identifier: Apache-2.0
"""Makes explanations of evaluations.

The evaluation knows which nodes fit, which plugin objected first to each other node, and all scores. The objections of the
plugins after the first one are known as well, where kernels tell; other filters are asked here, in their plain form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from steersman.cycle.decision import Decision, Failed, Postponed, Scheduled, Unschedulable
from steersman.engine.evaluation import Evaluation, PreFilterOutcome, ScoreTable
from steersman.explain.details import Details, rejection
from steersman.explain.explanation import (
    Explanation,
    NodeExplanation,
    Outcome,
    PluginScore,
    PreemptionExplanation,
    PreFilterExplanation,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import CycleAborted, Status
from steersman.preemption import DefaultPreemption, PreemptionReport
from steersman.runtime.profile import FilterCall, Profile

_replace = msgspec.structs.replace


def explain(
    profile: Profile, pod: PodInfo, evaluation: Evaluation, nodes: Sequence[NodeInfo], at: float | None = None
) -> Explanation:
    """The cycle up to the choice. `nodes` are all nodes of the cluster, in the order in which they are to be shown."""
    broken = ""
    table: ScoreTable | None = None
    try:
        table = None if evaluation.nominated_path else evaluation.scores()
    except CycleAborted as abort:
        broken = abort.status.message
    return Explanation(
        pod=pod.key,
        profile=profile.name,
        outcome=Outcome.ERROR if broken else Outcome.UNDECIDED,
        message=broken,
        at=at,
        nominated_only=evaluation.nominated_path,
        pre_filter=_pre_filter(evaluation.pre_filter),
        score_skipped=tuple(sorted(table.skipped)) if table is not None else (),
        nodes=tuple(_nodes(profile, pod, evaluation, nodes, _scores_by_node(table))),
    )


def decided(explanation: Explanation, decision: Decision) -> Explanation:
    """The explanation with what the cycle came to."""
    if isinstance(decision, Scheduled):
        choice = decision.choice
        return _replace(explanation, outcome=Outcome.SCHEDULED, node=choice.node, ties=choice.ties)
    if isinstance(decision, Unschedulable):
        report = preemption_report(decision)
        room = None if report is None else preemption_explanation(report)
        return _replace(explanation, outcome=Outcome.UNSCHEDULABLE, message=decision.message, preemption=room)
    if isinstance(decision, Failed):
        return _replace(explanation, outcome=Outcome.ERROR, message=decision.message)
    if isinstance(decision, Postponed):
        return explanation
    return _replace(explanation, outcome=Outcome.NOT_TRIED, message=decision.reason)


def detail_preemptions(profiles: Iterable[Profile]) -> None:
    """Preemptions decide the same, but tell more."""
    for profile in profiles:
        plugin = profile.plugins.get(DefaultPreemption.name)
        if isinstance(plugin, DefaultPreemption):
            plugin.evaluator.detailed = True


def with_earlier_preemption(explanation: Explanation, earlier: Explanation) -> Explanation:
    """The explanation of a pod that was tried again: the room that it made before is why it fits now."""
    if explanation.preemption is None and explanation.nominated_only:
        return _replace(explanation, preemption=earlier.preemption)
    return explanation


def preemption_report(decision: Unschedulable) -> PreemptionReport | None:
    """The attempt to make room that a decision tells of; None: nobody was asked, or tells."""
    result = decision.post_filter.result if decision.post_filter is not None else None
    return result.report if result is not None and isinstance(result.report, PreemptionReport) else None


def preemption_explanation(report: PreemptionReport) -> PreemptionExplanation:
    return msgspec.convert(report.to_dict(), PreemptionExplanation)


def without_cycle(pod: str, profile: str, message: str, at: float | None = None) -> Explanation:
    """The explanation of a pod that no cycle was begun for."""
    return Explanation(pod=pod, profile=profile, outcome=Outcome.NOT_TRIED, message=message, at=at)


def _pre_filter(outcome: PreFilterOutcome) -> PreFilterExplanation:
    return PreFilterExplanation(
        skipped=tuple(sorted(outcome.skipped)),
        rejection=None if outcome.status is None else rejection(outcome.status),
        nodes=None if outcome.node_names is None else tuple(sorted(outcome.node_names)),
        restricted_by=tuple(sorted(outcome.restricting)),
    )


def _nodes(
    profile: Profile,
    pod: PodInfo,
    evaluation: Evaluation,
    nodes: Sequence[NodeInfo],
    scores: Mapping[str, tuple[tuple[PluginScore, ...], int]],
) -> Iterator[NodeExplanation]:
    fitting = set(evaluation.feasible())
    statuses = evaluation.statuses()
    state = None if evaluation.pre_filter.status is not None else _state(evaluation)
    details, known = Details(pod, profile, state), evaluation.known_objections()
    for node in nodes:
        if node.name in fitting:
            plugin_scores, total = scores.get(node.name, ((), None))
            yield NodeExplanation(node.name, True, scores=plugin_scores, total=total)
            continue
        first = statuses.of(node.name)
        verdicts = [] if first is None else [details.verdict(first, node)]
        if state is not None:
            filters = [call for call in profile.filter if first is None or call.name != first.plugin]
            objections = _objections(filters, state, pod, node, known)
            verdicts += (details.verdict(status, node) for status in objections)
        yield NodeExplanation(node.name, False, tuple(verdicts))


def _state(evaluation: Evaluation) -> CycleState | None:
    try:
        return evaluation.scalar_state()
    except CycleAborted:
        return None


def _objections(
    filters: Iterable[FilterCall],
    state: CycleState,
    pod: PodInfo,
    node: NodeInfo,
    known: Mapping[str, Mapping[str, Status]],
) -> Iterator[Status]:
    """The objections of these filters to a node, in their order. Those whose objections are not known are asked."""
    for call in filters:
        objections = known.get(call.name)
        if objections is not None:
            status = objections.get(node.name)
        else:
            status = call.run(state, pod, node) if call.name not in state.skip_filter else None
        if status is not None:
            yield status.of(call.name)


def _scores_by_node(table: ScoreTable | None) -> dict[str, tuple[tuple[PluginScore, ...], int]]:
    if table is None:
        return {}
    return {
        name: (
            tuple(
                PluginScore(p.name, p.weight, int(p.raw[i]), int(p.normalised[i]), p.weight * int(p.normalised[i]))
                for p in table.plugins
            ),
            int(table.total[i]),
        )
        for i, name in enumerate(table.nodes)
    }
