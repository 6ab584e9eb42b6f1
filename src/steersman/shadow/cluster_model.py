# SPDX-License-Identifier: Apache-2.0
"""The cluster as the other scheduler saw it when it decided: the usual assembly, fed by a watch, whose decisions are nobody's.

`follower` applies changes in the order in which they were seen, and assumes pods in the order in which they were decided. A
change can be taken back and made again: that is how `timing` looks at the cluster as it stood a little earlier or later.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman import api
from steersman.app import Effective
from steersman.assembly import Scheduler, SchedulerOptions
from steersman.clock import Clock
from steersman.cycle.decision import Unschedulable
from steersman.cycle.diagnosis import diagnose
from steersman.engine.columnar import ColumnarEvaluation
from steersman.engine.sampling import NodeSearch
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME, PodInfo
from steersman.framework.reading import ApiReader
from steersman.framework.watching import EventSink
from steersman.live.live_simulation import looking_at_all_nodes
from steersman.live.read_only_writer import ReadOnlyWriter, not_started
from steersman.preemption import DefaultPreemption, PreemptionReport
from steersman.preemption.dry_run import FullSearch
from steersman.rng import SeededRng
from steersman.runtime.profile import Profile
from steersman.shadow.placement import PlacementScores

logger = logging.getLogger(__name__)
_replace = msgspec.structs.replace


class WatchChange(msgspec.Struct, frozen=True, eq=False):
    """An event of the watch: an object before and after it; None: it was not there, or is gone."""

    #: Monotonic seconds, and seconds since the epoch.
    moment: float
    time: float
    old: api.Object | None
    new: api.Object | None
    #: The pod's place among those of its priority in the other scheduler's queue; None: it has none, or nobody knows it.
    place: int | None = None

    @property
    def object(self) -> api.Object:
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found

    def __str__(self) -> str:
        what = f"{self.object.KIND} {api.key(self.object)}"
        if self.new is None:
            return f"{what} deleted"
        if self.old is None:
            return f"{what} added"
        node = self.new.spec.node_name if isinstance(self.new, api.Pod) else ""
        was_bound = isinstance(self.old, api.Pod) and bool(self.old.spec.node_name)
        return f"{what} bound to {node}" if node and not was_bound else f"{what} changed"


class ClusterModel:
    """Nodes, pods and everything else that scheduling looks at, and what our profiles make of them."""

    def __init__(self, settings: Effective, clock: Clock, reader: ApiReader | None = None) -> None:
        configuration = settings.configuration
        options = SchedulerOptions(looking_at_all_nodes(configuration), settings.gates, settings.registry)
        self.scheduler = Scheduler(clock, SeededRng(0), ReadOnlyWriter(), not_started, options, reader)
        self.profiles = self.scheduler.profiles
        for preemption in self._preemptions():
            preemption.evaluator.search = FullSearch()
        self._search = NodeSearch(self.scheduler.cache.nodes)
        self._percentages = {
            profile.scheduler_name: (
                configuration.percentage_of_nodes_to_score
                if profile.percentage_of_nodes_to_score is None
                else profile.percentage_of_nodes_to_score
            )
            for profile in configuration.profiles
        }

    @property
    def sink(self) -> EventSink:
        """Takes what there is before anything is compared."""
        return self.scheduler.ingest

    def profile_of(self, pod: api.Pod) -> Profile | None:
        """The profile that schedules the pod; None: it is another scheduler's."""
        return self.profiles.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)

    # -- what happens ------------------------------------------------------------------------------------------------

    def apply(self, change: WatchChange) -> None:
        self._put(change.old, change.new)

    def take_back(self, change: WatchChange) -> None:
        self._put(change.new, change.old)

    def _put(self, before: api.Object | None, after: api.Object | None) -> None:
        """An object that cannot be used is left out; the log says why."""
        ingest = self.scheduler.ingest
        try:
            if after is not None:
                ingest.changed(after)
            elif before is not None:
                ingest.deleted(before)
        except Exception as failure:
            known = after if after is not None else before
            assert known is not None
            logger.warning("%s %s is left out: %s", known.KIND, api.key(known), failure)

    def assume(self, pod: api.Pod, node: str) -> PodInfo:
        """The other scheduler has decided, and the watch does not show it yet."""
        info = self.scheduler.cache.shapes.info(pod)
        self.scheduler.cache.assume(info, node)
        return info

    @contextmanager
    def without(self, assumed: Iterable[tuple[PodInfo, str]]) -> Iterator[None]:
        """The cluster without these assumed pods, until the end of the block."""
        cache, taken = self.scheduler.cache, list(assumed)
        for info, _ in taken:
            cache.forget(info)
        try:
            yield
        finally:
            for info, node in taken:
                cache.assume(info, node)

    # -- questions ---------------------------------------------------------------------------------------------------

    def evaluate(self, pod: api.Pod) -> ColumnarEvaluation:
        """The pod, which has no node, against all nodes. CycleAborted when a plugin is broken."""
        profile = self.profile_of(pod)
        assert profile is not None
        evaluation = self.scheduler.cycle.evaluate(profile, self.scheduler.cache.shapes.info(pod))
        assert isinstance(evaluation, ColumnarEvaluation)
        return evaluation

    def placement(self, pod: api.Pod, node: str) -> PlacementScores:
        """The pod's node beside all nodes. CycleAborted when a plugin is broken."""
        return PlacementScores(self.evaluate(pod), self.scheduler.cache.nodes, node)

    @property
    def node_count(self) -> int:
        return self.scheduler.cache.nodes.node_count

    def search_order(self) -> NDArray[np.intp]:
        """The rows in the order in which kube-scheduler searches them, from index 0 on."""
        self._search.begin_cycle()
        return self._search.rows()

    def percentage_of_nodes_to_score(self, pod: api.Pod) -> int | None:
        """The other scheduler's setting; None or 0: as many as it thinks fit."""
        return self._percentages.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)

    def preemption(
        self, pod: api.Pod, evaluation: ColumnarEvaluation, *, detailed: bool = False
    ) -> PreemptionReport | None:
        """The nodes on which making room would help the pod, which fits nowhere: the best ones, and every other one in a
        detailed report, which takes its time. None: it may not make room."""
        profile = self.profile_of(pod)
        plugin = None if profile is None else profile.plugins.get(DefaultPreemption.name)
        if not isinstance(plugin, DefaultPreemption):
            return None
        statuses = diagnose(evaluation, self.node_count).statuses
        plugin.evaluator.detailed = detailed
        report = plugin.evaluator.decide(evaluation.deferred_state(), evaluation.pod, statuses)
        return report if isinstance(report, PreemptionReport) else None

    def message(self, pod: api.Pod) -> str:
        """The message of a pod that fits nowhere, and that cannot make room."""
        decision = self.scheduler.cycle.schedule_one(self.scheduler.cache.shapes.info(pod))
        return decision.message if isinstance(decision, Unschedulable) else ""

    def objects(self) -> Iterator[api.Object]:
        """Everything but pods, as it stands now."""
        table, store = self.scheduler.cache.nodes, self.scheduler.objects
        yield from (table.node(row) for row in table.live_rows())
        for kind in self.scheduler.watched_kinds:
            if kind not in (api.Node, api.Pod):
                yield from store.list(kind)

    def pods(self) -> Iterator[api.Pod]:
        """Every pod on a node, assumed ones included, each with its node."""
        for record in self.scheduler.cache.pods():
            pod = record.info.pod
            yield pod if pod.spec.node_name else _replace(pod, spec=_replace(pod.spec, node_name=record.node_name))

    def _preemptions(self) -> Iterator[DefaultPreemption]:
        for profile in self.profiles.values():
            plugin = profile.plugins.get(DefaultPreemption.name)
            if isinstance(plugin, DefaultPreemption):
                yield plugin
