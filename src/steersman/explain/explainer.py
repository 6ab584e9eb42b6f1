# SPDX-License-Identifier: Apache-2.0
"""Explains pods of a simulation: why they are pending or where they are, and what would help.

    explain_pod(simulation, "default/web-0", ExplainOptions(loaded=loaded))
    explain_pending(simulation)                                # all waiting pods, replicas together

The answer is about the current time of the simulation: the end of a run for files, the time of
reading for a live cluster, where nothing has been simulated yet. All trials run on forks; the
simulation itself is not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from steersman import api
from steersman.api import timestamps
from steersman.explain.document import PodExplanation, PodState
from steersman.explain.fixes import DocumentSource, Fix, find_fixes, suspended_job
from steersman.explain.groups import GroupExplanation, explain_group
from steersman.explain.pending_causes import held_back_sentence
from steersman.explain.placed_pod import placed_summary, placement_margin
from steersman.explain.pods import (
    PodGroup,
    controller_name,
    find_pod,
    given_pod,
    pending_groups,
    pod_of_suspended_job,
    was_tried,
)
from steersman.explain.waiting import waiting
from steersman.framework import Status
from steersman.scheduler.diagnosis import (
    Cause,
    CauseCode,
    Explanation,
    Outcome,
    RequeueEvents,
    requeue_events,
    without_cycle,
)
from steersman.simulation import (
    REASON_BINDING,
    REASON_NO_PROFILE,
    REASON_WAITING,
    NodePools,
    Placement,
    PodProbe,
    ProbedCycle,
    Simulation,
    SimulationError,
    missing_permission,
    pod_key,
)

OTHER_SCHEDULER: Final = "the pod belongs to scheduler {}, not to {}; the rest of the answer uses profile {}"
UNTRIED: Final = "no scheduler has reported an attempt yet"
SILENT_SECONDS: Final = 60.0
SILENT: Final = "no attempt was reported in {:.0f} minutes: scheduler {} may not be running (steersman doctor)"
TERMINATING: Final = "the pod is being deleted; no scheduler will try it"
NOT_PERMITTED: Final = "fits, but would not be bound now"
SUSPENDED: Final = "its {} is suspended, and the pods of a suspended Job are deleted"

_WITHOUT_GROUP: Final = frozenset({CauseCode.TERMINATING, CauseCode.NO_PROFILE, CauseCode.WAITING, CauseCode.SUSPENDED})
"""Causes that have nothing to do with the group of a pod."""

_replace = msgspec.structs.replace


class ExplainOptions(msgspec.Struct, frozen=True):
    """Optional parts of an answer, and the inputs for them."""

    #: The simulation before its run, on which fixes are searched; None for no fixes.
    loaded: Simulation | None = None
    #: Live cluster only: returns the objects that fixes change as the API server has them.
    served: DocumentSource | None = None
    #: Autoscaler pools: would the pod fit on one more node of a pool?
    pools: NodePools | None = None
    #: The simulation shows a live cluster, whose scheduling queue is not visible.
    is_live: bool = False
    #: Live cluster only: phases of pods as the API server shows them, by `namespace/name`.
    phases: Mapping[str, str] = {}
    #: Live cluster only: schedulers with their own queue that are not in the configuration.
    other_schedulers: tuple[str, ...] = ()
    #: For a placed pod: also say what would bring it to this node.
    target: str = ""
    #: Additional notes about the input.
    notes: tuple[str, ...] = ()


def explain_pod(simulation: Simulation, pod: str, options: ExplainOptions | None = None) -> PodExplanation:
    """Return why the pod `namespace/name` is pending or where it is. Raises `InputError` if it does
    not exist."""
    explainer, key = _Explainer(simulation, options or ExplainOptions()), pod_key(pod)
    refused = simulation.internals.intake.refused_pods
    if key in refused:
        return explainer.refused(key, refused[key])
    suspended = pod_of_suspended_job(simulation, key)
    if suspended is not None:
        return explainer.suspended(suspended)
    return explainer.answer(PodGroup(find_pod(simulation, key)))


def explain_pending(
    simulation: Simulation, options: ExplainOptions | None = None, namespace: str = ""
) -> tuple[PodExplanation, ...]:
    """Return why pods wait, in one namespace or in all; pods of one controller with the same cause
    share an answer."""
    explainer = _Explainer(simulation, options or ExplainOptions())
    return tuple(explainer.answer(group) for group in pending_groups(simulation, namespace))


class _Explainer:
    """Answers about the pods of one simulation."""

    def __init__(self, simulation: Simulation, options: ExplainOptions) -> None:
        self._simulation = simulation
        self._options = options
        simulation.internals.prepare_forks()
        self._result = simulation.result()

    def answer(self, group: PodGroup) -> PodExplanation:
        pod = group.pod
        answer = self._placed(pod) if pod.spec.node_name else self._pending(pod)
        return _replace(answer, others=group.others)

    def refused(self, key: str, why: str) -> PodExplanation:
        """Return the answer about a pod of the input that a quota or limit range refused."""
        pod = given_pod(self._simulation, key)
        assert pod is not None, "only a pod of the input can be refused"
        return self._absent(pod, CauseCode.NOT_ADMITTED, why, f"not admitted: {why}")

    def suspended(self, pod: api.Pod) -> PodExplanation:
        """Return the answer about a pod that was deleted because its Job is suspended."""
        why = SUSPENDED.format(controller_name(pod))
        return self._absent(pod, CauseCode.SUSPENDED, why, why)

    def _absent(self, pod: api.Pod, code: CauseCode, why: str, summary: str) -> PodExplanation:
        """Return the answer about a pod that is not in the cluster."""
        profile = next(iter(self._simulation.scheduler.profiles))
        cause = Cause(code, f"The pod is not in the cluster: {why}.")
        answer = self._about(pod, without_cycle(api.key(pod), profile, why), cause, profile)
        return _replace(answer, summary=summary, fixes=self._fixes(answer))

    def _placed(self, pod: api.Pod) -> PodExplanation:
        """Return the answer about a pod with a node: its cycle if the simulation ran it, and a
        cycle without the node now."""
        key, node = api.key(pod), pod.spec.node_name
        placement = self._result.placements.get(key)
        then = self._result.explain(key) if placement is not None and placement.node == node else None
        with PodProbe(self._simulation, pod) as probe:
            now = probe.cycle(node).explanation
        return _replace(
            self._about(pod, then or now, now.cause, probe.profile.name),
            state=PodState.PLACED,
            summary=placed_summary(now, node),
            placed=placement_margin(self._simulation, pod, now, then, self._options.target),
            fixes=None if self._options.loaded is None else (),
        )

    def _pending(self, pod: api.Pod) -> PodExplanation:
        placement = self._result.placements.get(api.key(pod))
        with PodProbe(self._simulation, pod) as probe:
            gate = probe.gate()
            cycle = self._cycle(probe, pod, placement)
            events = self._requeue_events(probe, cycle, gate)
        cause = self._cause(pod, placement, cycle.explanation, gate)
        is_assumed = cause.code is CauseCode.WAITING
        summary = _pending_summary(cycle.explanation, gate, pod)
        group = None if cause.code in _WITHOUT_GROUP else explain_group(self._simulation, pod)
        if group is not None:
            cause, summary = _group_cause(group, cause), f"its {_lower(group.sentence).rstrip('.')}"
        is_alone = group is None and cause.code is CauseCode.FITS
        missing = missing_permission(self._simulation, pod) if is_alone else ""
        if missing:
            cycle = ProbedCycle(_not_permitted(cycle.explanation, missing), cycle.rejectors)
            cause = Cause(CauseCode.WAITING, f"{cause.sentence[:-1]}, but would not be bound: {missing.rstrip('.')}.")
            summary = NOT_PERMITTED
        about = self._about(pod, cycle.explanation, cause, probe.profile.name)
        if self._options.is_live and cause.code is CauseCode.FITS and not was_tried(pod):
            summary = f"{summary}; {self._silence(pod)}"
        answer = _replace(about, state=_state(cause), summary=summary, group=group)
        if answer.state is PodState.FITS:
            return _replace(answer, fixes=None if self._options.loaded is None else ())
        fixes = None if is_assumed else self._fixes(answer)
        others, is_live = self._options.other_schedulers, self._options.is_live
        when = waiting(self._simulation, pod, gate, self._options.pools, others, is_live=is_live, is_assumed=is_assumed)
        if fixes == ():
            when = _replace(when, node_if_left_alone=self._node_if_left_alone(answer.pod))
        return _replace(answer, fixes=fixes, when=when, requeue_events=events)

    def _about(self, pod: api.Pod, explanation: Explanation, cause: Cause, profile: str) -> PodExplanation:
        """Return the part of the answer that is the same for all pods."""
        return PodExplanation(
            pod=api.key(pod),
            controller=controller_name(pod),
            scheduler_name=pod.scheduler_name,
            phase=self._options.phases.get(api.key(pod), pod.status.phase),
            node=pod.spec.node_name,
            nominated_node=pod.status.nominated_node_name,
            conditions=pod.status.conditions,
            state=PodState.PENDING,
            summary="",
            cause=cause,
            notes=tuple(self._notes(pod, profile)),
            explanation=explanation,
        )

    def _silence(self, pod: api.Pod) -> str:
        """Return what is known about the scheduler of a pod that fits and was not tried."""
        created = pod.metadata.creation_timestamp
        age = (
            self._simulation.internals.setup.start + self._simulation.now - timestamps.parse(created)
            if created
            else 0.0
        )
        if age < SILENT_SECONDS:
            return UNTRIED
        return SILENT.format(age / 60, pod.scheduler_name)

    # -- the cycle ---------------------------------------------------------------------------------------------------

    def _cycle(self, probe: PodProbe, pod: api.Pod, placement: Placement | None) -> ProbedCycle:
        if placement is not None and placement.reason in (REASON_WAITING, REASON_BINDING):
            message = f"{placement.message} (node {placement.node})"
            return ProbedCycle(without_cycle(api.key(pod), probe.profile.name, message, self._simulation.now or None))
        return probe.cycle(pod.spec.node_name)

    def _requeue_events(self, probe: PodProbe, cycle: ProbedCycle, gate: Status | None) -> tuple[RequeueEvents, ...]:
        if gate is not None:
            return requeue_events(probe.hints, {gate.plugin})
        return tuple(
            _replace(found, **_rejections(found.plugin, cycle.explanation))
            for found in requeue_events(probe.hints, cycle.rejectors)
        )

    # -- sentences ---------------------------------------------------------------------------------------------------

    def _cause(self, pod: api.Pod, placement: Placement | None, explanation: Explanation, gate: Status | None) -> Cause:
        of_nodes = explanation.cause
        if pod.metadata.deletion_timestamp is not None:
            return Cause(CauseCode.TERMINATING, "The pod is being deleted.")
        reason = "" if placement is None else placement.reason
        if reason == REASON_NO_PROFILE and not self._options.is_live:
            assert placement is not None
            return Cause(CauseCode.NO_PROFILE, f"No scheduler is responsible for the pod: {placement.message}.")
        if reason == REASON_NO_PROFILE and gate is None and not was_tried(pod):
            return Cause(CauseCode.NO_PROFILE, _not_tried(pod, explanation, of_nodes), of_nodes.groups)
        if reason in (REASON_WAITING, REASON_BINDING):
            return Cause(CauseCode.WAITING, f"A node is chosen, but the pod is not bound yet: {explanation.message}.")
        if suspended_job(self._simulation, pod) is not None:
            why = SUSPENDED.format(controller_name(pod))
            return Cause(CauseCode.SUSPENDED, f"The pod will be deleted: {why}. Otherwise: {_continued(of_nodes)}")
        if gate is not None:
            return Cause(CauseCode.HELD_BACK, _held_back(pod, gate, of_nodes))
        return of_nodes

    def _notes(self, pod: api.Pod, profile: str) -> Iterator[str]:
        wanted = pod.scheduler_name
        names = tuple(self._simulation.scheduler.profiles)
        if wanted not in names:
            yield OTHER_SCHEDULER.format(wanted, ", ".join(names), profile)
        if pod.metadata.deletion_timestamp is not None:
            yield TERMINATING
        yield from self._options.notes
        yield from self._result.notes

    def _fixes(self, answer: PodExplanation) -> tuple[Fix, ...] | None:
        if self._options.loaded is None or answer.cause.code is CauseCode.TERMINATING:
            return None
        return find_fixes(self._options.loaded, answer.pod, self._options.served)

    def _node_if_left_alone(self, pod: str) -> str:
        """Return the node that the pod gets as time passes, by preemption or because other pods
        finish; "" if none."""
        assert self._options.loaded is not None, "fixes were searched"
        with self._options.loaded.fork() as trial:
            try:
                trial.advance()
            except SimulationError:
                return ""
            found = trial.cluster.find(api.Pod, pod)
            return "" if found is None else found.spec.node_name


def _state(cause: Cause) -> PodState:
    return {CauseCode.FITS: PodState.FITS, CauseCode.ERROR: PodState.ERROR}.get(cause.code, PodState.PENDING)


def _pending_summary(explanation: Explanation, gate: Status | None, pod: api.Pod) -> str:
    if gate is not None:
        return f"held back by {gate.plugin}: {gate.message}; the rest of the answer is about the pod without that"
    if explanation.node:
        waits = f" (nominated to {pod.status.nominated_node_name})" if pod.status.nominated_node_name else ""
        return f"fits now{waits}: the scheduler would choose {explanation.node}"
    if explanation.outcome is Outcome.UNSCHEDULABLE:
        return "fits on no node now"
    return f"{explanation.outcome}: {explanation.message}"


def _group_cause(group: GroupExplanation, alone: Cause) -> Cause:
    """Return the cause for a member of a group, given the cause for the pod alone."""
    if group.fits:
        return Cause(CauseCode.FITS, group.sentence)
    if not group.exists or group.missing:
        return Cause(CauseCode.HELD_BACK, group.sentence)
    return Cause(CauseCode.POD_GROUP, group.sentence, alone.groups if alone.code is not CauseCode.FITS else ())


def _not_permitted(explanation: Explanation, missing: str) -> Explanation:
    return _replace(explanation, outcome=Outcome.UNSCHEDULABLE, message=missing, node="", ties=0)


def _held_back(pod: api.Pod, gate: Status, of_nodes: Cause) -> str:
    return f"{held_back_sentence(pod, gate.plugin, gate.message)} Otherwise: {_continued(of_nodes)}"


def _not_tried(pod: api.Pod, explanation: Explanation, of_nodes: Cause) -> str:
    name, profile = pod.spec.scheduler_name, explanation.profile
    untried = f"No scheduler has tried the pod: it belongs to {name}, which may not be running"
    return f"{untried}. With profile {profile}: {_continued(of_nodes)}"


def _continued(cause: Cause) -> str:
    """Return the sentence of a cause as the continuation of another sentence."""
    return _lower(cause.sentence)


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _rejections(plugin: str, explanation: Explanation) -> dict[str, object]:
    """Return the reasons for which a plugin rejects the pod, and on how many nodes."""
    rejection = explanation.pre_filter.rejection
    if rejection is not None and rejection.plugin == plugin:
        return {"reasons": rejection.reasons, "nodes": len(explanation.nodes)}
    verdicts = [verdict for node in explanation.nodes for verdict in node.verdicts if verdict.plugin == plugin]
    reasons = dict.fromkeys(reason for verdict in verdicts for reason in verdict.reasons)
    return {"reasons": tuple(reasons), "nodes": len(verdicts)}
