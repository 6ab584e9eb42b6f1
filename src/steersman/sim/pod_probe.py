# SPDX-License-Identifier: Apache-2.0
"""A pod against all nodes at this moment, asked of a fork: what the scheduler of a simulation would say of it now.

Nothing of the simulation changes. A pod that has a node is taken out of it first. Others may be taken out as well, and nodes
may be added, with the daemon pods that they get: what if everything that terminates had gone, or a pool had one more node?
`why` asks it; `queue_place` says where a pod waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Self

import msgspec

from steersman import api
from steersman.cycle.decision import Decision, Scheduled, Unschedulable
from steersman.explain import (
    Explanation,
    NodeExplanation,
    Outcome,
    Verdict,
    decided,
    detail_preemptions,
    explain,
    without_cycle,
)
from steersman.framework.events import ClusterEventWithHint
from steersman.framework.extender import EXTENDER_PLUGIN
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.framework.status import Code, CycleAborted, Status
from steersman.runtime.profile import Profile
from steersman.sim.simulation import Simulation

TAKEN_AWAY: Final = "an extender took the node away"

_replace = msgspec.structs.replace


class ProbedCycle(NamedTuple):
    """A cycle that was looked at."""

    explanation: Explanation
    #: The plugins that reject the pod.
    rejectors: frozenset[str] = frozenset()


class PodProbe:
    """One pod on a fork of a simulation, without a node. To be closed."""

    def __init__(
        self,
        simulation: Simulation,
        pod: api.Pod,
        *,
        without: Iterable[api.Pod] = (),
        changed: Iterable[api.Object] = (),
        nodes: Sequence[api.Node] = (),
    ) -> None:
        """Pods `without` are gone, objects that have `changed` are as given, and `nodes` are new."""
        self._at = simulation.now
        self._trial = simulation.fork()
        self._driver = self._trial._driver
        self._scheduler = scheduler = self._driver.scheduler
        self._driver.refresh_plugins_once()
        detail_preemptions(scheduler.profiles.values())
        self.profile = _profile_for(scheduler.profiles, pod)
        for other in without:
            scheduler.ingest.deleted(other)
        for obj in changed:
            scheduler.ingest.changed(obj)
        unplaced = _unplaced(pod, self.profile.name)
        if unplaced is not simulation.cluster.find(api.Pod, api.key(pod)):
            scheduler.ingest.deleted(pod)
            scheduler.ingest.changed(unplaced)
        if nodes:
            self._add(nodes)
        self.pod = scheduler.cache.shapes.info(scheduler.ingest.seen(unplaced))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._trial.close()

    @property
    def hints(self) -> Iterable[tuple[str, ClusterEventWithHint]]:
        """The events that the plugins of the pod's profile have registered for, by plugin."""
        return self.profile.hints

    def gate(self) -> Status | None:
        """Why the pod would not be tried at all; None: it would."""
        for call in self.profile.pre_enqueue:
            status = call.run(self.pod)
            if status is not None:
                return status.of(call.name)
        return None

    def cycle(self, preferred: str = "") -> ProbedCycle:
        """The pod's cycle. Among equally good nodes the preferred one is the choice."""
        try:
            evaluation = self._scheduler.cycle.preview_all_nodes(self.profile, self.pod)
            explanation = explain(self.profile, self.pod, evaluation, self._nodes(), self._at or None)
            if not evaluation.feasible_count or self._asks_extenders:
                return self._decided(explanation)
            choice = evaluation.choose(self._scheduler.cycle.rng)
        except CycleAborted as abort:
            broken = without_cycle(self.pod.key, self.profile.name, abort.status.message, self._at or None)
            return ProbedCycle(_replace(broken, outcome=Outcome.ERROR))
        return ProbedCycle(
            _replace(explanation, node=_preferred(explanation, choice.node, preferred), ties=choice.ties)
        )

    # -- inside ------------------------------------------------------------------------------------------------------

    def _add(self, nodes: Sequence[api.Node]) -> None:
        """Adds nodes, and places the daemon pods that their controllers make for them."""
        self._trial.add(nodes)
        self._driver.settle()
        names = {node.metadata.name for node in nodes}
        shapes = self._scheduler.cache.shapes
        for pod in list(self._trial.cluster.objects(api.Pod).values()):
            if not pod.spec.node_name and shapes.info(pod).pinned_to in names:
                self._scheduler.cycle.schedule_one(shapes.info(pod))

    @property
    def _asks_extenders(self) -> bool:
        return bool(self._scheduler.options.extenders)

    def _nodes(self) -> list[NodeInfo]:
        table = self._scheduler.cache.nodes
        return [table.info(row) for row in table.live_rows()]

    def _decided(self, explanation: Explanation) -> ProbedCycle:
        """The explanation with what the whole cycle comes to: the message, whether making room would help, what extenders
        say."""
        decision = self._driver.decide_on(self.pod)
        if isinstance(decision, Scheduled):
            return ProbedCycle(_replace(explanation, node=decision.choice.node, ties=decision.choice.ties))
        return ProbedCycle(decided(_with_refusals(explanation, decision), decision), _rejectors(decision))


def template_of(simulation: Simulation, pod: api.Pod) -> object | None:
    """An object that pods share which every plugin treats alike; None for a pod with claims, which are its own."""
    info = simulation._driver.scheduler.cache.shapes.info(pod)
    return None if info.shape.has_claims or pod.spec.resource_claims else info.template


def _profile_for(profiles: dict[str, Profile], pod: api.Pod) -> Profile:
    """The pod's own profile; of a pod that another scheduler is to place, the default one."""
    wanted = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
    return profiles.get(wanted) or profiles.get(DEFAULT_SCHEDULER_NAME) or next(iter(profiles.values()))


def _unplaced(pod: api.Pod, profile: str) -> api.Pod:
    if not pod.spec.node_name and (pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME) == profile:
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
    """The explanation with what extenders have against nodes that the plugins had nothing against."""
    if not isinstance(decision, Unschedulable) or not any(node.fits for node in explanation.nodes):
        return explanation
    statuses = decision.diagnosis.statuses

    def refused(node: NodeExplanation) -> NodeExplanation:
        if not node.fits:
            return node
        status = statuses.of(node.node)
        label, reasons = (
            (Code.UNSCHEDULABLE.label, (TAKEN_AWAY,)) if status is None else (status.code.label, status.reasons)
        )
        plugin = EXTENDER_PLUGIN if status is None else status.plugin or EXTENDER_PLUGIN
        return NodeExplanation(node.node, False, (Verdict(plugin, label, reasons),))

    return _replace(explanation, nodes=tuple(map(refused, explanation.nodes)))
