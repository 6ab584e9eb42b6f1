# SPDX-License-Identifier: Apache-2.0
"""Evaluation of one pod on all nodes in a fork of a simulation: the decision that its scheduler
would make.

A pod with a node is removed from it first. Other pods may be removed too, and nodes added with
their daemon pods: what if all terminating pods were gone, or a pool had one more node? `explain`
uses it. `find_queue_place` returns the sub-queue of a pod, the pods ahead, and the time of its next
attempt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, Self

import msgspec

from steersman import api
from steersman.framework import EXTENDER_PLUGIN, ClusterEventWithHint, Code, CycleAborted, Status
from steersman.scheduler.cycle import Decision, Dropped, Scheduled, Unschedulable
from steersman.scheduler.diagnosis import (
    Explanation,
    NodeExplanation,
    Outcome,
    Verdict,
    decided,
    detail_preemptions,
    explain,
    without_cycle,
)
from steersman.scheduler.queue import MICROSECONDS, NEVER, Place, QueuedPodInfo, sort_key_of
from steersman.scheduler.runtime import Profile
from steersman.scheduler.state import LiveNodes
from steersman.scheduler.what_if import WhatIfScheduler
from steersman.simulation.results.placements import REASON_BINDING
from steersman.simulation.simulation import Simulation

TAKEN_AWAY: Final = "an extender took the node away"

_replace = msgspec.structs.replace


class ProbedCycle(NamedTuple):
    """The result of a cycle."""

    explanation: Explanation
    #: The plugins that reject the pod.
    rejectors: frozenset[str] = frozenset()


class PodProbe:
    """One pod without a node, on a fork of a simulation. Must be closed."""

    def __init__(
        self,
        simulation: Simulation,
        pod: api.Pod,
        *,
        without: Iterable[api.Pod] = (),
        changed: Iterable[api.Object] = (),
        nodes: Sequence[api.Node] = (),
    ) -> None:
        """Delete the pods `without`, apply the objects `changed`, and add `nodes`."""
        self._at = simulation.now
        self._trial = simulation.fork()
        self._what_if = what_if = WhatIfScheduler(self._trial.scheduler)
        self._trial.internals.prepare_forks()
        detail_preemptions(what_if.profiles.values())
        self.profile = _profile_for(what_if.profiles, pod)
        for other in without:
            what_if.delete(other)
        for obj in changed:
            what_if.change(obj)
        unplaced = _unplaced(pod, self.profile.name)
        if unplaced is not simulation.cluster.find(api.Pod, api.key(pod)):
            what_if.delete(pod)
            what_if.change(unplaced)
        if nodes:
            self._add(nodes)
        self.pod = what_if.info(unplaced)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._trial.close()

    @property
    def hints(self) -> Iterable[tuple[str, ClusterEventWithHint]]:
        """Return the registered events of the profile's plugins, by plugin."""
        return self.profile.hints

    def gate(self) -> Status | None:
        """Return why the pod would not be tried, or None."""
        return self._what_if.gate(self.pod)

    def cycle(self, preferred: str = "") -> ProbedCycle:
        """Run the pod's scheduling cycle. A tie is decided for the preferred node."""
        try:
            evaluation = self._what_if.evaluate(self.pod, all_nodes=True)
            explanation = explain(
                self.profile, self.pod, evaluation, LiveNodes(self._what_if.cache.nodes), self._at or None
            )
            if not evaluation.feasible_count or self._asks_extenders:
                return self._decided(explanation)
            choice = evaluation.choose(self._what_if.cycle.rng)
        except CycleAborted as abort:
            broken = without_cycle(self.pod.key, self.profile.name, abort.status.message, self._at or None)
            return ProbedCycle(_replace(broken, outcome=Outcome.ERROR))
        return ProbedCycle(
            _replace(explanation, node=_preferred(explanation, choice.node, preferred), ties=choice.ties)
        )

    # -- inside ------------------------------------------------------------------------------------------------------

    def _add(self, nodes: Sequence[api.Node]) -> None:
        """Add nodes and place the daemon pods that controllers create for them."""
        self._trial.add(nodes)
        self._trial.settle(places=False)
        names = {node.metadata.name for node in nodes}
        for pod in list(self._trial.cluster.objects(api.Pod).values()):
            if not pod.spec.node_name and (info := self._what_if.info(pod)).pinned_to in names:
                self._what_if.decide(info)

    @property
    def _asks_extenders(self) -> bool:
        return bool(self._what_if.scheduler.options.extenders)

    def _decided(self, explanation: Explanation) -> ProbedCycle:
        """Return the explanation with the outcome of the whole cycle: message, preemption,
        extenders."""
        decision = self._trial.decide_on(self.pod)
        if isinstance(decision, Scheduled):
            return ProbedCycle(_replace(explanation, node=decision.choice.node, ties=decision.choice.ties))
        return ProbedCycle(decided(_with_refusals(explanation, decision), decision), _rejectors(decision))


def missing_permission(simulation: Simulation, pod: api.Pod) -> str:
    """Return why a pod that fits would not be bound now: a Reserve or Permit plugin rejects it, or
    lets it wait although all pending pods are tried with it. "" if it would be bound."""
    info = WhatIfScheduler(simulation.scheduler).info(pod)
    if not _profile_for(simulation.scheduler.profiles, pod).permit.for_pod(info):
        return ""
    with simulation.fork() as alone:
        decision = alone.decide_on(WhatIfScheduler(alone.scheduler).info(pod))
    if not isinstance(decision, Scheduled):
        return "" if isinstance(decision, Dropped) else decision.message
    if not decision.waits:
        return ""
    with simulation.fork() as together:
        together.schedule_now()
        placement = together.result().placements[api.key(pod)]
    return "" if not placement.reason or placement.reason == REASON_BINDING else placement.message


def template_of(simulation: Simulation, pod: api.Pod) -> object | None:
    """Return a hashable that pods share if all plugins treat them alike; None for a pod with
    claims."""
    info = simulation.scheduler.cache.shapes.info(pod)
    return None if info.shape.has_claims or pod.spec.resource_claims else info.template


def _profile_for(profiles: dict[str, Profile], pod: api.Pod) -> Profile:
    """Return the pod's profile; the default profile for a pod of another scheduler."""
    wanted = pod.scheduler_name
    return profiles.get(wanted) or profiles.get(api.DEFAULT_SCHEDULER_NAME) or next(iter(profiles.values()))


def _unplaced(pod: api.Pod, profile: str) -> api.Pod:
    if not pod.spec.node_name and pod.scheduler_name == profile:
        return pod
    return _replace(pod, spec=_replace(pod.spec, node_name="", scheduler_name=profile))


def _preferred(explanation: Explanation, chosen: str, preferred: str) -> str:
    totals = {node.node: node.total for node in explanation.nodes if node.fits}
    return preferred if preferred in totals and totals[preferred] == totals[chosen] else chosen


def _rejectors(decision: Decision) -> frozenset[str]:
    if not isinstance(decision, Unschedulable):
        return frozenset()
    return decision.diagnosis.unschedulable_plugins | decision.diagnosis.pending_plugins


def _with_refusals(explanation: Explanation, decision: Decision) -> Explanation:
    """Return the explanation with the rejections of nodes by extenders."""
    if not isinstance(decision, Unschedulable) or not any(node.fits for node in explanation.nodes):
        return explanation
    statuses = decision.diagnosis.statuses

    def refused(node: NodeExplanation) -> NodeExplanation:
        if not node.fits:
            return node
        status = statuses.status_of(node.node)
        label, reasons = (
            (Code.UNSCHEDULABLE.label, (TAKEN_AWAY,)) if status is None else (status.code.label, status.reasons)
        )
        plugin = EXTENDER_PLUGIN if status is None else status.plugin or EXTENDER_PLUGIN
        return NodeExplanation(node.node, False, (Verdict(plugin, label, reasons),))

    return _replace(explanation, nodes=tuple(map(refused, explanation.nodes)))


# -- position in the queue ---------------------------------------------------------------------------------------------


GATED_QUEUE: Final = "gated"
"""Reported sub-queue of gated pods."""


class QueuePlace(msgspec.Struct, frozen=True):
    """A pod in the queue."""

    #: activeQ, backoffQ, unschedulable or gated.
    queue: str
    attempts: int
    #: Position by QueueSort among all pending pods that are not gated, from 1.
    position: int
    waiting: int
    #: `namespace/name` of the pods ahead, in order.
    ahead: tuple[str, ...]
    #: Seconds until the pod is tried again without any event; None if only an event leads to an
    #: attempt.
    latest_attempt: float | None


def find_queue_place(simulation: Simulation, key: str, other_schedulers: Collection[str] = ()) -> QueuePlace | None:
    """Return the place of the pod `namespace/name`, or None if it is not in the queue. Other
    schedulers have their own queues."""
    scheduler = simulation.scheduler
    queued = scheduler.queue.get(key)
    if queued is None:
        return None
    contents = scheduler.queue.contents()
    waiting = [
        other
        for other in (*contents.active, *contents.backoff, *contents.error_backoff, *contents.unschedulable)
        if not other.is_gated and _share_queue(queued, other, other_schedulers)
    ]
    sort_key = sort_key_of(next(iter(scheduler.profiles.values())).queue_sort)
    ordered = [other.key for other in sorted(waiting, key=lambda other: (*sort_key(other), other.serial))]
    ahead = ordered[: ordered.index(key)] if key in ordered else ordered
    now = round(scheduler.clock.monotonic() * MICROSECONDS)
    due = _due(queued, round(scheduler.options.max_in_unschedulable * MICROSECONDS))
    return QueuePlace(
        _queue_name(queued),
        queued.attempts,
        len(ahead) + 1,
        len(ordered),
        tuple(ahead),
        None if due is None else max(0, due - now) / MICROSECONDS,
    )


def rejecting_plugins(simulation: Simulation, pod: str) -> frozenset[str]:
    """Return the plugins that rejected the pod `namespace/name` in its last attempt."""
    queued = simulation.scheduler.queue.get(pod)
    return frozenset() if queued is None else frozenset(queued.unschedulable_plugins)


def terminating_pods(simulation: Simulation) -> list[api.Pod]:
    """Return the pods with a node that are being deleted: their requests will be freed."""
    pods = simulation.cluster.objects(api.Pod).values()
    return [pod for pod in pods if pod.spec.node_name and pod.metadata.deletion_timestamp is not None]


def _share_queue(one: QueuedPodInfo, other: QueuedPodInfo, apart: Collection[str]) -> bool:
    names = {one.pod.spec.scheduler_name, other.pod.spec.scheduler_name}
    return len(names) == 1 or names.isdisjoint(apart)


def _queue_name(queued: QueuedPodInfo) -> str:
    if queued.is_gated:
        return GATED_QUEUE
    return {Place.ACTIVE: "activeQ", Place.UNSCHEDULABLE: "unschedulable"}.get(queued.place, "backoffQ")


def _due(queued: QueuedPodInfo, longest_stay: int) -> int | None:
    """Return the time of the next attempt without any event, in microseconds; None if there is
    none."""
    if queued.is_gated:
        return None
    if queued.place is Place.UNSCHEDULABLE:
        return max(queued.timestamp, queued.flushed_at) + longest_stay
    return 0 if queued.backoff_until == NEVER else queued.backoff_until
