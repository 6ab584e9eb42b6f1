# SPDX-License-Identifier: Apache-2.0
"""Builds explanations from evaluations.

The evaluation has the nodes that fit, the first objecting plugin of each other node, and all
scores. Objections of later plugins come from their kernels; filters without a kernel are called
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from steersman.framework import CycleAborted, CycleState, NodeInfo, PodInfo, Status
from steersman.scheduler.cycle.decision import Decision, Failed, Postponed, Scheduled, Unschedulable
from steersman.scheduler.diagnosis.details import Details, rejection
from steersman.scheduler.diagnosis.explanation import (
    Explanation,
    NodeExplanation,
    Outcome,
    PluginScore,
    PreemptionExplanation,
    PreFilterExplanation,
)
from steersman.scheduler.engine.evaluation import Evaluation, PreFilterOutcome, ScoreTable
from steersman.scheduler.preemption import PreemptionReport, default_preemptions
from steersman.scheduler.runtime.profile import FilterCall, Profile

_replace = msgspec.structs.replace


def explain(
    profile: Profile, pod: PodInfo, evaluation: Evaluation, nodes: Sequence[NodeInfo], at: float | None = None
) -> Explanation:
    """Return the explanation of a cycle up to the choice. `nodes` are all nodes, in the order of
    the explanation."""
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
        pre_filter=pre_filter_explanation(evaluation.pre_filter),
        score_skipped=tuple(sorted(table.skipped)) if table is not None else (),
        nodes=tuple(_nodes(profile, pod, evaluation, nodes, _scores_by_node(table))),
    )


def decided(explanation: Explanation, decision: Decision) -> Explanation:
    """Return the explanation with the outcome of the cycle."""
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
    """Make preemptions of these profiles report all candidates. Decisions do not change."""
    for plugin in default_preemptions(profiles):
        plugin.evaluator.detailed = True


def with_earlier_preemption(explanation: Explanation, earlier: Explanation) -> Explanation:
    """Return the explanation of another attempt with the preemption of the earlier one, which made
    the pod fit."""
    if explanation.preemption is None and explanation.nominated_only:
        return _replace(explanation, preemption=earlier.preemption)
    return explanation


def preemption_report(decision: Unschedulable) -> PreemptionReport | None:
    """Return the preemption report of a decision; None if there was no preemption, or no report."""
    result = decision.post_filter.result if decision.post_filter is not None else None
    return result.report if result is not None and isinstance(result.report, PreemptionReport) else None


def preemption_explanation(report: PreemptionReport) -> PreemptionExplanation:
    return msgspec.convert(report.to_dict(), PreemptionExplanation)


def without_cycle(pod: str, profile: str, message: str, at: float | None = None) -> Explanation:
    """Return the explanation of a pod without a cycle."""
    return Explanation(pod=pod, profile=profile, outcome=Outcome.NOT_TRIED, message=message, at=at)


def pre_filter_explanation(outcome: PreFilterOutcome) -> PreFilterExplanation:
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
        first = statuses.status_of(node.name)
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
    """Yield the objections of these filters to a node, in their order; filters with unknown
    objections are called."""
    for call in filters:
        objections = known.get(call.name)
        if objections is not None:
            status = objections.get(node.name)
        else:
            status = call.run(state, pod, node) if call.name not in state.skip_filter else None
        if status is not None:
            yield status.with_plugin(call.name)


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
