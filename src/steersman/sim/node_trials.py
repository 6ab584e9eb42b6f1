# SPDX-License-Identifier: Apache-2.0
"""Whether the pods of a simulation fit on these nodes or those: run in full, or by scheduling cycles alone.

    simulation ─► run_on(nodes) ─► FullRun: everything that simulations do, and the order in which pods were tried
                                      └─► NodeTrials.pending(nodes): the same pods in that order, cycle after cycle, some ten
                                          times as fast

`plan nodes` searches with the second and believes the first. Where all pods fit, the two place them alike as long as pods are
tried in the same order: the daemon pods of new nodes come together in a trial, and in batches in a full run. Pods with
claims, plugins of others and extenders have no trials: `NodeTrials.made_of` gives None.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Final

import msgspec

from steersman import api
from steersman.assembly.registry import default_registry
from steersman.assembly.scheduler import Scheduler
from steersman.controllers.daemon_pods import pinned
from steersman.cycle.decision import Decision, Scheduled
from steersman.framework.pod_info import PodInfo, PodTemplate
from steersman.host import frozen_heap
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.runtime.faults import CycleAborted
from steersman.sim.result import Result
from steersman.sim.simulation import Simulation
from steersman.sim.tasks import SimulationError

SPREADING_OWNERS: Final = (api.ReplicaSet, api.StatefulSet, api.ReplicationController, api.Service)
"""Kinds whose selectors spread pods by default."""
OWN_PLUGINS: Final = frozenset(default_registry())

_replace = msgspec.structs.replace


class FullRun:
    """A simulation that was run to its end with some nodes more, and some fewer."""

    def __init__(self, simulation: Simulation, add: Sequence[api.Node], remove: Iterable[str] = ()) -> None:
        self.simulation = simulation.fork()
        before = dict(self.simulation.cluster.objects(api.Pod))
        self.simulation.delete(*(f"node/{name}" for name in remove))
        self.simulation.add(add)
        self._tried: dict[str, str] = {}
        #: Why the simulation did not come to its end; "" if it did.
        self.stopped = ""
        try:
            self.simulation._driver.run(None, self._note)
        except SimulationError as error:
            self.stopped = str(error)
        self.result: Result = self.simulation.result()
        #: pod → why it waits.
        self.pending = {key: placement.message for key, placement in self.result.pending.items()}
        #: Pods that were there and are gone, because others took their room and nobody made them anew.
        self.lost = sorted(
            victim.pod
            for victim in self.result.preempted
            if victim.pod in before and not _is_made_anew(before[victim.pod])
        )

    def _note(self, decision: Decision) -> None:
        self._tried.setdefault(decision.pod.uid, decision.pod.key)

    def pods(self) -> dict[str, api.Pod]:
        """Pods at the end, but for those that have finished or are about to go."""
        found = self.simulation.cluster.objects(api.Pod)
        return {key: pod for key, pod in found.items() if _is_there(pod)}

    def tried_pods(self) -> list[api.Pod]:
        """The pods at the end that were scheduled in this run, in the order in which they were first tried."""
        there = {pod.metadata.uid: pod for pod in self.pods().values()}
        return [there[uid] for uid in self._tried if uid in there]

    def close(self) -> None:
        self.simulation.close()


class NodeTrials:
    """Places the pods of a full run again, on other nodes."""

    def __init__(
        self, simulation: Simulation, pods: Sequence[api.Pod], owners: Sequence[api.Object], before_daemons: int
    ) -> None:
        self._simulation = simulation
        self._pods = pods
        self._owners = owners
        #: So many pods are tried before the daemon pods of new nodes.
        self._before_daemons = before_daemons

    @classmethod
    def made_of(
        cls, simulation: Simulation, run: FullRun, new_nodes: Container[str], is_left_out: Callable[[api.Pod], bool]
    ) -> NodeTrials | None:
        """Trials with the pods of the run, but for some, and for those pinned to its new nodes; None if cycles alone do not
        decide."""
        pods, before_daemons = list[api.Pod](), None
        with simulation.fork() as fresh:
            scheduler, templates = fresh._driver.scheduler, set[PodTemplate]()
            for pod in run.tried_pods():
                info = scheduler.cache.shapes.info(_unbound(pod))
                if info.pinned_to in new_nodes:
                    before_daemons = len(pods) if before_daemons is None else before_daemons
                elif not is_left_out(pod):
                    pods.append(info.pod)
                if info.template not in templates and not _may_be_tried(scheduler, info):
                    return None
                templates.add(info.template)
        owners = [owner for kind in SPREADING_OWNERS for owner in run.simulation.cluster.objects(kind).values()]
        return cls(simulation, pods, owners, before_daemons or 0)

    def pending(
        self, nodes: Sequence[api.Node], daemons: Sequence[Sequence[api.Pod]], most: int | None = None
    ) -> list[str]:
        """The pods that have no room if these nodes come, with the daemon pods of each, which are told as `node/NAME`. Stops
        after `most` of them."""
        trial = self._simulation.fork()
        try:
            trial.add(nodes)
            trial._driver.refresh_plugins_once()
            scheduler = trial._driver.scheduler
            for owner in self._owners:
                scheduler.ingest.changed(owner)
            with frozen_heap():
                return list(islice(self._placing(scheduler, nodes, daemons), most))
        finally:
            trial.close()

    def _placing(
        self, scheduler: Scheduler, nodes: Sequence[api.Node], daemons: Sequence[Sequence[api.Pod]]
    ) -> Iterator[str]:
        infos = [scheduler.cache.shapes.info(pod) for pod in self._pods]
        first = self._before_daemons
        yield from _pending(scheduler, infos[:first])
        for node, pods in zip(nodes, daemons, strict=True):
            name = node.metadata.name
            for pod in pods:
                if not first:  # nothing is in their way: they have room on an empty node
                    scheduler.cache.assume(scheduler.cache.shapes.info(_daemon_on(pod, name)), name)
                elif not _is_placed(scheduler, scheduler.cache.shapes.info(_daemon_on(pod, name))):
                    yield f"node/{name}"
        yield from _pending(scheduler, infos[first:])


def _may_be_tried(scheduler: Scheduler, pod: PodInfo) -> bool:
    """Whether cycles alone say where such pods go: no claims, no plugins of others, nobody to wait for."""
    profile = scheduler.profiles.get(pod.scheduler_name)
    if profile is None or profile.permit or scheduler.options.extenders:
        return False
    return OWN_PLUGINS.issuperset(profile.plugins) and not pod.shape.has_claims and not pod.spec.resource_claims


def _pending(scheduler: Scheduler, pods: Iterable[PodInfo]) -> Iterator[str]:
    """Places the pods one after the other, and gives those that have no room."""
    for _, some in groupby(pods, key=lambda pod: pod.template):
        replicas = list(some)
        while replicas:
            placed = scheduler.cycle.schedule_replicas(replicas)
            replicas = replicas[len(placed) :]
            if replicas:
                pod = replicas.pop(0)
                if not _is_placed(scheduler, pod):
                    yield pod.key


def _is_placed(scheduler: Scheduler, pod: PodInfo) -> bool:
    """A pod that could not simply be placed among its like: the whole cycle, without PostFilter."""
    cycle, profile = scheduler.cycle, scheduler.profiles[pod.scheduler_name]
    if not scheduler.cache.nodes.node_count:
        return False
    try:
        evaluation = cycle.evaluate(profile, pod)
    except CycleAborted:
        return False
    if not evaluation.feasible_count:
        return False
    choice = evaluation.choose(cycle.rng)
    decision = cycle.commit(profile, pod, choice, evaluation.feasible_count, evaluation.state)
    return isinstance(decision, Scheduled)


def _daemon_on(pod: api.Pod, node: str) -> api.Pod:
    """A daemon pod that is like another, for another node."""
    name = f"{pod.metadata.name}-{node}"
    spec = _replace(pod.spec, affinity=pinned(pod.spec.affinity, node))
    return _replace(pod, metadata=_replace(pod.metadata, name=name, uid=f"uid-trial-{name}"), spec=spec)


def _unbound(pod: api.Pod) -> api.Pod:
    return _replace(pod, spec=_replace(pod.spec, node_name=""), status=api.PodStatus())


def _is_there(pod: api.Pod) -> bool:
    return pod.status.phase not in FINISHED_PHASES and pod.metadata.deletion_timestamp is None


def _is_made_anew(pod: api.Pod) -> bool:
    """Whether a controller replaces the pod when it is gone."""
    return any(owner.controller for owner in pod.metadata.owner_references)
