# SPDX-License-Identifier: Apache-2.0
"""The cluster as the other scheduler saw it: an assembly fed by a watch, without binding pods.

`follower` applies changes in the order of the watch and assumes pods in the order of decisions.
`timing` reverts and reapplies changes to evaluate the cluster a little earlier or later.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman import api
from steersman.base import Clock
from steersman.explain.live import filtering_all_nodes
from steersman.framework import ApiReader, EventSink
from steersman.run.app import EffectiveSettings
from steersman.run.shadow.placement import PlacementScores
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.cycle import Unschedulable, diagnose
from steersman.scheduler.engine import ColumnarEvaluation, NodeSearch
from steersman.scheduler.preemption import PreemptionReport, default_preemptions
from steersman.scheduler.what_if import WhatIfScheduler, isolated_scheduler

logger = logging.getLogger(__name__)
_replace = msgspec.structs.replace


class WatchChange(msgspec.Struct, frozen=True, eq=False):
    """Watch event: the object before (None if new) and after it (None if deleted)."""

    #: Monotonic seconds, and seconds since the epoch.
    moment: float
    time: float
    old: api.Object | None
    new: api.Object | None
    #: Position in the other scheduler's queue among pods of its priority; None if unknown.
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


class ClusterModel(WhatIfScheduler):
    """Nodes, pods and other inputs of scheduling, evaluated with our profiles."""

    def __init__(self, settings: EffectiveSettings, clock: Clock, reader: ApiReader | None = None) -> None:
        configuration = settings.configuration
        options = SchedulerOptions(filtering_all_nodes(configuration), settings.gates, settings.registry)
        super().__init__(isolated_scheduler(options, clock, reader=reader))
        self.search_all_candidates()
        self._search = NodeSearch(self.cache.nodes)
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
        """Sink for the objects that exist before comparisons begin."""
        return self.scheduler.ingest

    # -- changes -----------------------------------------------------------------------------------------------------

    def apply(self, change: WatchChange) -> None:
        self._put(change.old, change.new)

    def rewind(self, change: WatchChange) -> None:
        self._put(change.new, change.old)

    def _put(self, before: api.Object | None, after: api.Object | None) -> None:
        """Replace the object. An unusable object is logged and left out."""
        try:
            if after is not None:
                self.change(after)
            elif before is not None:
                self.delete(before)
        except Exception as failure:
            known = after if after is not None else before
            assert known is not None
            logger.warning("%s %s is left out: %s", known.KIND, api.key(known), failure)

    # -- evaluation --------------------------------------------------------------------------------------------------

    def evaluate_columns(self, pod: api.Pod) -> ColumnarEvaluation:
        """Evaluate the pod on all nodes. Raise `CycleAborted` if a plugin fails."""
        evaluation = self.evaluate(self.info(pod))
        assert isinstance(evaluation, ColumnarEvaluation)
        return evaluation

    def placement(self, pod: api.Pod, node: str) -> PlacementScores:
        """Compare the node with all nodes for the pod. Raise `CycleAborted` if a plugin fails."""
        return PlacementScores(self.evaluate_columns(pod), self.cache.nodes, node)

    def search_order(self) -> NDArray[np.intp]:
        """Return the rows in kube-scheduler's search order, starting at index 0."""
        self._search.begin_cycle()
        return self._search.rows()

    def percentage_of_nodes_to_score(self, pod: api.Pod) -> int | None:
        """Return the other scheduler's setting; None or 0 for its adaptive default."""
        return self._percentages.get(pod.scheduler_name)

    def preemption(
        self, pod: api.Pod, evaluation: ColumnarEvaluation, *, detailed: bool = False
    ) -> PreemptionReport | None:
        """Return the best preemption candidates for a pod that fits nowhere, or all of them if
        `detailed`, which is slow; None if the pod may not preempt."""
        profile = self.profile_of(pod)
        plugin = None if profile is None else next(default_preemptions([profile]), None)
        if plugin is None:
            return None
        statuses = diagnose(evaluation, self.node_count).statuses
        plugin.evaluator.detailed = detailed
        report = plugin.evaluator.decide(evaluation.deferred_state(), evaluation.pod, statuses)
        return report if isinstance(report, PreemptionReport) else None

    def message(self, pod: api.Pod) -> str:
        """Return the message for a pod that fits nowhere and cannot preempt; "" if it fits."""
        decision = self.decide(self.info(pod))
        return decision.message if isinstance(decision, Unschedulable) else ""

    def pods(self) -> Iterator[api.Pod]:
        """Yield all pods with a node, including assumed ones, with `node_name` set."""
        for record in self.cache.pods():
            pod = record.info.pod
            yield pod if pod.spec.node_name else _replace(pod, spec=_replace(pod.spec, node_name=record.node_name))
