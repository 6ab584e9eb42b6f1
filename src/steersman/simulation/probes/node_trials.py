# SPDX-License-Identifier: Apache-2.0
"""Trials of whether the pods of a simulation fit on other nodes, by full runs or scheduling cycles
only.

    simulation ─► run_on(nodes) ─► FullRun: everything that simulations do, and the order of the pods' attempts
                                      └─► NodeTrials.pending(nodes): cycles of the same pods in that order, about
                                          ten times as fast

`plan nodes` searches with `NodeTrials` and verifies with a `FullRun`. If all pods fit, both place
them alike as long as pods are tried in the same order: the daemon pods of new nodes are tried
together in a trial, and in batches in a full run. Pods with claims, out-of-tree plugins and
extenders have no trials: `NodeTrials.made_of` returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec

from steersman import api
from steersman.cluster.controllers import pinned
from steersman.framework import PodInfo, PodTemplate
from steersman.scheduler.cycle import Decision, Scheduled
from steersman.scheduler.host import frozen_heap
from steersman.scheduler.what_if import WhatIfScheduler
from steersman.simulation.results.result import Result
from steersman.simulation.simulation import Simulation
from steersman.simulation.virtual_time.tasks import SimulationError

SPREADING_OWNERS: Final = (api.ReplicaSet, api.StatefulSet, api.ReplicationController, api.Service)
"""Kinds whose selectors spread pods by default."""

_replace = msgspec.structs.replace


class FullRun:
    """A simulation that was run to its end with some nodes added and some removed."""

    def __init__(
        self,
        simulation: Simulation,
        add: Sequence[api.Node],
        remove: Iterable[str] = (),
        on_decision: Callable[[], object] = lambda: None,
    ) -> None:
        """Run a fork of the simulation; an exception of `on_decision` ends it."""
        self.simulation = simulation.fork()
        before = dict(self.simulation.cluster.objects(api.Pod))
        self.simulation.delete(*(f"node/{name}" for name in remove))
        self.simulation.add(add)
        self._tried: dict[str, str] = {}
        self._on_decision = on_decision
        #: Reason for an early end of the simulation, or "".
        self.stopped = ""
        try:
            self.simulation.advance(on_decision=self._note)
        except SimulationError as error:
            self.stopped = str(error)
        found = self.simulation.cluster.objects(api.Pod)
        self._pods = {key: pod for key, pod in found.items() if _is_active(pod)}
        self.result: Result = self.simulation.result()
        #: Reason for each pending pod.
        self.pending = {key: placement.message for key, placement in self.result.pending.items()}
        #: Pods that were preempted and not recreated by a controller.
        self.lost = sorted(
            victim.pod
            for victim in self.result.preempted
            if victim.pod in before and not _is_recreated(before[victim.pod])
        )

    def _note(self, decision: Decision) -> None:
        self._on_decision()
        self._tried.setdefault(decision.pod.uid, decision.pod.key)

    def pods(self) -> Mapping[str, api.Pod]:
        """Return the pods at the end, except those that have finished or are being deleted."""
        return self._pods

    def tried_pods(self) -> list[api.Pod]:
        """Return the pods at the end that were scheduled in this run, in the order of their first
        attempts."""
        there = {pod.metadata.uid: pod for pod in self.pods().values()}
        return [there[uid] for uid in self._tried if uid in there]

    def close(self) -> None:
        self.simulation.close()


class NodeTrials:
    """Placement of the pods of a full run on other nodes."""

    def __init__(
        self, simulation: Simulation, pods: Sequence[api.Pod], owners: Sequence[api.Object], before_daemons: int
    ) -> None:
        self._simulation = simulation
        self._pods = pods
        self._owners = owners
        #: Number of pods that are tried before the daemon pods of new nodes.
        self._before_daemons = before_daemons

    @classmethod
    def made_of(
        cls, simulation: Simulation, run: FullRun, new_nodes: Container[str], is_left_out: Callable[[api.Pod], bool]
    ) -> NodeTrials | None:
        """Return trials with the run's pods, without the given ones and pods pinned to its new
        nodes; None if scheduling cycles alone do not decide."""
        pods, before_daemons = list[api.Pod](), None
        with simulation.fork() as fresh:
            what_if, templates = WhatIfScheduler(fresh.scheduler), set[PodTemplate]()
            for pod in run.tried_pods():
                info = what_if.info(_unbound(pod))
                if info.pinned_to in new_nodes:
                    before_daemons = len(pods) if before_daemons is None else before_daemons
                elif not is_left_out(pod):
                    pods.append(info.pod)
                if info.template not in templates and not what_if.is_decided_by_cycle(info):
                    return None
                templates.add(info.template)
        owners = [owner for kind in SPREADING_OWNERS for owner in run.simulation.cluster.objects(kind).values()]
        return cls(simulation, pods, owners, before_daemons or 0)

    def pending(
        self,
        nodes: Sequence[api.Node],
        daemons: Sequence[Sequence[api.Pod]],
        most: int | None = None,
        on_replicas: Callable[[], object] = lambda: None,
    ) -> list[str]:
        """Return the pods without room if these nodes are added, with the daemon pods of each,
        named `node/NAME`. Stops after `most` pods; an exception of `on_replicas`, which is called
        regularly, ends the trial."""
        trial = self._simulation.fork()
        try:
            trial.add(nodes)
            trial.internals.prepare_forks()
            what_if = WhatIfScheduler(trial.scheduler)
            for owner in self._owners:
                what_if.change(owner)
            with frozen_heap():
                return list(islice(self._placing(what_if, nodes, daemons, on_replicas), most))
        finally:
            trial.close()

    def _placing(
        self,
        what_if: WhatIfScheduler,
        nodes: Sequence[api.Node],
        daemons: Sequence[Sequence[api.Pod]],
        on_replicas: Callable[[], object],
    ) -> Iterator[str]:
        infos = [what_if.info(pod) for pod in self._pods]
        first = self._before_daemons
        yield from _pending(what_if, infos[:first], on_replicas)
        for node, pods in zip(nodes, daemons, strict=True):
            name = node.metadata.name
            for pod in pods:
                daemon = what_if.info(_daemon_on(pod, name))
                if not first:  # nothing is in their way: they have room on an empty node
                    what_if.assume(daemon, name)
                elif not isinstance(what_if.decide(daemon, post_filter=False), Scheduled):
                    yield f"node/{name}"
        yield from _pending(what_if, infos[first:], on_replicas)


def _pending(what_if: WhatIfScheduler, pods: Iterable[PodInfo], on_replicas: Callable[[], object]) -> Iterator[str]:
    """Place the pods one after the other; yield pods without room."""
    for decisions in what_if.decide_all(pods):
        on_replicas()
        yield from (decision.pod.key for decision in decisions if not isinstance(decision, Scheduled))


def _daemon_on(pod: api.Pod, node: str) -> api.Pod:
    """Return a copy of a daemon pod for another node."""
    name = f"{pod.metadata.name}-{node}"
    spec = _replace(pod.spec, affinity=pinned(pod.spec.affinity, node))
    return _replace(pod, metadata=_replace(pod.metadata, name=name, uid=f"uid-trial-{name}"), spec=spec)


def _unbound(pod: api.Pod) -> api.Pod:
    return _replace(pod, spec=_replace(pod.spec, node_name=""), status=api.PodStatus())


def _is_active(pod: api.Pod) -> bool:
    return pod.status.phase not in api.FINISHED_PHASES and pod.metadata.deletion_timestamp is None


def _is_recreated(pod: api.Pod) -> bool:
    """Return whether a controller replaces the pod after its deletion."""
    return any(owner.controller for owner in pod.metadata.owner_references)
