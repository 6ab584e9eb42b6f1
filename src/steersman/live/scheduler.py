# SPDX-License-Identifier: Apache-2.0
"""The scheduler that `pod_explanation` asks: the usual assembly, fed once, whose decisions are not carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from steersman import api
from steersman.app import Effective
from steersman.assembly import Scheduler, SchedulerOptions
from steersman.clock import Clock
from steersman.config import SchedulerConfiguration
from steersman.cycle.decision import Decision
from steersman.engine.evaluation import Evaluation
from steersman.explain import detail_preemptions
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.framework.reading import ApiReader
from steersman.framework.status import Status
from steersman.live.cluster_reader import ReadCluster
from steersman.live.read_only_writer import ReadOnlyWriter, not_started
from steersman.rng import SeededRng
from steersman.runtime.profile import Profile

_replace = msgspec.structs.replace
_ALL_NODES = 100


class LiveScheduler:
    """`pod` has no node here, whatever the cluster says of it: its place is free for it again."""

    def __init__(
        self, settings: Effective, cluster: ReadCluster, pod: api.Pod, clock: Clock, reader: ApiReader
    ) -> None:
        options = SchedulerOptions(_looking_at_all_nodes(settings.configuration), settings.gates, settings.registry)
        self._rng = SeededRng(0)
        self._scheduler = Scheduler(clock, self._rng, ReadOnlyWriter(), not_started, options, reader)
        detail_preemptions(self._scheduler.profiles.values())
        self.profile = self._profile_for(pod)
        unplaced = _unplaced(pod, self.profile.name)
        self._scheduler.ingest.expect(api.Node, sum(isinstance(obj, api.Node) for obj in cluster.objects))
        _feed(self._scheduler, (*cluster.objects, *_others(cluster, pod), unplaced))
        self.pod = self._scheduler.cache.shapes.info(unplaced)

    async def refresh(self) -> None:
        """Plugins ask for what they know from outside."""
        await self._scheduler.background.refresh()

    @property
    def refresh_failures(self) -> Mapping[str, str]:
        """By plugin: why it does not know what it wanted to know."""
        return self._scheduler.background.failures

    @property
    def nodes(self) -> list[NodeInfo]:
        table = self._scheduler.cache.nodes
        return [table.info(row) for row in table.live_rows()]

    def gate(self) -> Status | None:
        """Why the pod would not be tried at all; None: it would."""
        for call in self.profile.pre_enqueue:
            status = call.run(self.pod)
            if status is not None:
                return status.of(call.name)
        return None

    def evaluate(self) -> Evaluation:
        """CycleAborted when a plugin is broken."""
        return self._scheduler.cycle.evaluate(self.profile, self.pod)

    def choose(self, evaluation: Evaluation) -> tuple[str, int]:
        """A best node, and how many are as good."""
        choice = evaluation.choose(self._rng)
        return choice.node, choice.ties

    def decide(self) -> Decision:
        """The decision on a pod that fits nowhere: the message, and whether making room would help. Nothing is reserved."""
        return self._scheduler.cycle.schedule_one(self.pod)

    def _profile_for(self, pod: api.Pod) -> Profile:
        """The pod's own; of a pod that another scheduler is to place, the default one."""
        profiles = self._scheduler.profiles
        wanted = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        return profiles.get(wanted) or profiles.get(DEFAULT_SCHEDULER_NAME) or next(iter(profiles.values()))


def _feed(scheduler: Scheduler, objects: Iterable[api.Object]) -> None:
    for obj in objects:
        scheduler.ingest.changed(obj)


def _others(cluster: ReadCluster, pod: api.Pod) -> Iterable[api.Pod]:
    return (other for key, other in cluster.pods.items() if key != api.key(pod))


def _unplaced(pod: api.Pod, profile: str) -> api.Pod:
    return _replace(pod, spec=_replace(pod.spec, node_name="", scheduler_name=profile))


def _looking_at_all_nodes(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """An explanation is of every node, even where scheduling samples."""
    profiles = tuple(_replace(profile, percentage_of_nodes_to_score=_ALL_NODES) for profile in configuration.profiles)
    return _replace(configuration, percentage_of_nodes_to_score=_ALL_NODES, profiles=profiles)
