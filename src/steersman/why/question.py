# SPDX-License-Identifier: Apache-2.0
"""Asks why pods are where they are: a simulation and names of pods in, answers out. The simulation stays as it is.

    explain_pod(simulation, "default/web-0", loaded=loaded)    # of the moment at which the simulation is
    explain_pending(simulation)                                # every pod that waits, replicas together

The moment is the simulation's: of files it is the end of a run, of a live cluster the time at which it was read, when nothing
has been simulated yet. Everything that is asked is asked of forks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.explain import Cause, CauseCode, Explanation, Outcome, Waker, wakers, without_cycle
from steersman.fixes import DocumentSource, Fix, find_fixes, suspended_job
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.framework.status import Status
from steersman.sim import NodePools, Placement, Simulation, SimulationError
from steersman.sim.object_names import pod_key
from steersman.sim.placements import REASON_BINDING, REASON_NO_PROFILE, REASON_WAITING
from steersman.sim.pod_probe import PodProbe, ProbedCycle
from steersman.why.answer import PodExplanation, PodState
from steersman.why.pods import (
    PodGroup,
    controller_name,
    find_pod,
    given_pod,
    pending_groups,
    pod_of_suspended_job,
    was_tried,
)
from steersman.why.standing import placed_summary, standing
from steersman.why.waiting import waiting

OTHER_SCHEDULER: Final = "scheduler {} is to place this pod, not one of {}; what follows is by profile {}"
TERMINATING: Final = "the pod is being deleted; no scheduler will try it"
SUSPENDED: Final = "its {} is suspended, and a suspended Job has its pods deleted"

_replace = msgspec.structs.replace


class Asked(msgspec.Struct, frozen=True):
    """The questions beside the cause, and what answers to them need."""

    #: The simulation as it was before it ran, with which fixes are looked for; None: they are not.
    loaded: Simulation | None = None
    #: Of a live cluster: gives the objects that fixes are to change as its API server has them.
    served: DocumentSource | None = None
    #: Pools of an autoscaler: would one more node help?
    pools: NodePools | None = None
    #: The simulation shows a live cluster, whose own scheduler has a queue that nobody sees.
    is_live: bool = False
    #: Of a placed pod: what would have to change for it to be on this node.
    target: str = ""
    #: What the reader should know about the input, beside what the simulation says.
    notes: tuple[str, ...] = ()


def explain_pod(simulation: Simulation, pod: str, asked: Asked | None = None) -> PodExplanation:
    """Why the pod `namespace/name` is where it is, or nowhere. Raises `InputError` for one that there is not."""
    question, key = _Question(simulation, asked or Asked()), pod_key(pod)
    if key in simulation.refused_pods:
        return question.refused(key, simulation.refused_pods[key])
    taken_away = pod_of_suspended_job(simulation, key)
    if taken_away is not None:
        return question.taken_away(taken_away)
    return question.answer(PodGroup(find_pod(simulation, key)))


def explain_pending(
    simulation: Simulation, asked: Asked | None = None, namespace: str = ""
) -> tuple[PodExplanation, ...]:
    """Why pods wait, of one namespace or of all; pods of one controller that wait for the same reason are explained once."""
    question = _Question(simulation, asked or Asked())
    return tuple(question.answer(group) for group in pending_groups(simulation, namespace))


class _Question:
    """The questions about pods of one simulation."""

    def __init__(self, simulation: Simulation, asked: Asked) -> None:
        self._simulation = simulation
        self._asked = asked
        simulation.refresh_plugins()
        self._result = simulation.result()

    def answer(self, group: PodGroup) -> PodExplanation:
        pod = group.pod
        answer = self._placed(pod) if pod.spec.node_name else self._pending(pod)
        return _replace(answer, others=group.others)

    def refused(self, key: str, why: str) -> PodExplanation:
        """The answer about a pod that was given, and that a quota or limit range has not let in."""
        pod = given_pod(self._simulation, key)
        assert pod is not None, "only what was given can be refused"
        return self._absent(pod, CauseCode.NOT_ADMITTED, why, f"not let in: {why}")

    def taken_away(self, pod: api.Pod) -> PodExplanation:
        """The answer about a pod that was given, and that its Job has taken away because it is suspended."""
        why = SUSPENDED.format(controller_name(pod))
        return self._absent(pod, CauseCode.SUSPENDED, why, why)

    def _absent(self, pod: api.Pod, code: CauseCode, why: str, summary: str) -> PodExplanation:
        """The answer about a pod that is not in the cluster."""
        profile = self._simulation.profiles[0]
        cause = Cause(code, f"Is not in the cluster: {why}.")
        answer = self._about(pod, without_cycle(api.key(pod), profile, why), cause, profile)
        return _replace(answer, summary=summary, fixes=self._fixes(answer))

    def _placed(self, pod: api.Pod) -> PodExplanation:
        """The answer about a pod that has a node: the cycle that gave it, if the simulation did, and how the node does now."""
        key, node = api.key(pod), pod.spec.node_name
        placement = self._result.placements.get(key)
        then = self._result.explain(key) if placement is not None and placement.node == node else None
        with PodProbe(self._simulation, pod) as probe:
            now = probe.cycle(node).explanation
        return _replace(
            self._about(pod, then or now, now.cause, probe.profile.name),
            state=PodState.PLACED,
            summary=placed_summary(now, node),
            placed=standing(self._simulation, pod, now, then, self._asked.target),
            fixes=None if self._asked.loaded is None else (),
        )

    def _pending(self, pod: api.Pod) -> PodExplanation:
        placement = self._result.placements.get(api.key(pod))
        with PodProbe(self._simulation, pod) as probe:
            gate = probe.gate()
            cycle = self._cycle(probe, pod, placement)
            found_wakers = self._wakers(probe, cycle, gate)
        cause = self._cause(pod, placement, cycle.explanation, gate)
        about = self._about(pod, cycle.explanation, cause, probe.profile.name)
        summary = _pending_summary(cycle.explanation, gate, pod)
        if self._asked.is_live and cause.code is CauseCode.FITS and not was_tried(pod):
            summary = f"{summary}; no scheduler has told of an attempt yet"
        answer = _replace(about, state=_state(cause), summary=summary)
        if answer.state is PodState.FITS:
            return _replace(answer, fixes=None if self._asked.loaded is None else ())
        fixes = self._fixes(answer)
        when = waiting(self._simulation, pod, gate, self._asked.pools, is_live=self._asked.is_live)
        if fixes == ():
            when = _replace(when, node_if_left_alone=self._node_if_left_alone(answer.pod))
        return _replace(answer, fixes=fixes, when=when, wakers=found_wakers)

    def _about(self, pod: api.Pod, explanation: Explanation, cause: Cause, profile: str) -> PodExplanation:
        """The answer as far as it is the same for all pods."""
        return PodExplanation(
            pod=api.key(pod),
            controller=controller_name(pod),
            scheduler_name=pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME,
            phase=pod.status.phase,
            node=pod.spec.node_name,
            nominated_node=pod.status.nominated_node_name,
            conditions=pod.status.conditions,
            state=PodState.PENDING,
            summary="",
            cause=cause,
            notes=tuple(self._notes(pod, profile)),
            explanation=explanation,
        )

    # -- the cycle ---------------------------------------------------------------------------------------------------

    def _cycle(self, probe: PodProbe, pod: api.Pod, placement: Placement | None) -> ProbedCycle:
        if placement is not None and placement.reason in (REASON_WAITING, REASON_BINDING):
            message = f"{placement.message} (node {placement.node})"
            return ProbedCycle(without_cycle(api.key(pod), probe.profile.name, message, self._simulation.now or None))
        return probe.cycle(pod.spec.node_name)

    def _wakers(self, probe: PodProbe, cycle: ProbedCycle, gate: Status | None) -> tuple[Waker, ...]:
        if gate is not None:
            return wakers(probe.hints, {gate.plugin})
        return tuple(
            _replace(waker, **_rejections(waker.plugin, cycle.explanation))
            for waker in wakers(probe.hints, cycle.rejectors)
        )

    # -- in words ----------------------------------------------------------------------------------------------------

    def _cause(self, pod: api.Pod, placement: Placement | None, explanation: Explanation, gate: Status | None) -> Cause:
        without = explanation.cause
        if pod.metadata.deletion_timestamp is not None:
            return Cause(CauseCode.TERMINATING, "The pod is being deleted.")
        reason = "" if placement is None else placement.reason
        if reason == REASON_NO_PROFILE and not self._asked.is_live:
            assert placement is not None
            return Cause(CauseCode.NO_PROFILE, f"Nobody schedules it: {placement.message}.")
        if reason == REASON_NO_PROFILE and gate is None and not was_tried(pod):
            return Cause(CauseCode.NO_PROFILE, _not_tried(pod, explanation, without), without.groups)
        if reason in (REASON_WAITING, REASON_BINDING):
            return Cause(CauseCode.WAITING, f"Has a node in view: {explanation.message}.")
        if suspended_job(self._simulation, pod) is not None:
            why = SUSPENDED.format(controller_name(pod))
            return Cause(CauseCode.SUSPENDED, f"Will be deleted: {why}. Without that: {_continued(without)}")
        if gate is not None:
            return Cause(CauseCode.HELD_BACK, _held_back(gate, without))
        return without

    def _notes(self, pod: api.Pod, profile: str) -> Iterator[str]:
        wanted = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        names = self._simulation.profiles
        if wanted not in names:
            yield OTHER_SCHEDULER.format(wanted, ", ".join(names), profile)
        if pod.metadata.deletion_timestamp is not None:
            yield TERMINATING
        yield from self._asked.notes
        yield from self._result.notes

    def _fixes(self, answer: PodExplanation) -> tuple[Fix, ...] | None:
        if self._asked.loaded is None or answer.cause.code in (CauseCode.TERMINATING, CauseCode.WAITING):
            return None
        return find_fixes(self._asked.loaded, answer.pod, self._asked.served)

    def _node_if_left_alone(self, pod: str) -> str:
        """Where the pod goes if time passes: room may be made for it, and others end."""
        assert self._asked.loaded is not None, "fixes were looked for"
        with self._asked.loaded.fork() as trial:
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
        return f"held back by {gate.plugin}: {gate.message}; below is what would be said of it without that"
    if explanation.node:
        waits = f" (nominated to {pod.status.nominated_node_name})" if pod.status.nominated_node_name else ""
        return f"fits now{waits}: {explanation.node} is a node where it would go"
    if explanation.outcome is Outcome.UNSCHEDULABLE:
        return "fits nowhere now"
    return f"{explanation.outcome}: {explanation.message}"


def _held_back(gate: Status, without: Cause) -> str:
    return f"Is held back by {gate.plugin}: {gate.message}. Without that: {_continued(without)}"


def _not_tried(pod: api.Pod, explanation: Explanation, by_ours: Cause) -> str:
    name, profile = pod.spec.scheduler_name, explanation.profile
    nobody = f"No scheduler has tried it: it is for {name}, which may not be running"
    return f"{nobody}. By profile {profile}: {_continued(by_ours)}"


def _continued(cause: Cause) -> str:
    """The sentence of a cause, as it stands after a colon."""
    return cause.sentence[:1].lower() + cause.sentence[1:]


def _rejections(plugin: str, explanation: Explanation) -> dict[str, object]:
    """Which of the pod's rejections are the plugin's: its reasons, and on how many nodes."""
    rejection = explanation.pre_filter.rejection
    if rejection is not None and rejection.plugin == plugin:
        return {"reasons": rejection.reasons, "nodes": len(explanation.nodes)}
    mine = [verdict for node in explanation.nodes for verdict in node.verdicts if verdict.plugin == plugin]
    reasons = dict.fromkeys(reason for verdict in mine for reason in verdict.reasons)
    return {"reasons": tuple(reasons), "nodes": len(mine)}
