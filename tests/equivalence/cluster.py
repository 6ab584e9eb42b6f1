# SPDX-License-Identifier: Apache-2.0
"""One cache under random events, and the ways in which a pod can be evaluated against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.cycle.scheduling import profile_of
from tests.equivalence.outsiders import ReadsClock

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.config import DEFAULT_GATES, FeatureGates
from steersman.framework.plugin import Plugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import CycleAborted
from steersman.scheduler.cycle.diagnosis import diagnose
from steersman.scheduler.cycle.schedule_one import SchedulingCycle
from steersman.scheduler.engine.evaluation import Evaluation
from steersman.scheduler.state.cache import PodRecord
from steersman.scheduler.state.nominations import Nominations
from steersman.testing.conformance.scenarios import evaluation_document
from steersman.testing.conformance.setting import Setting

PROFILE = "default-scheduler"

Document = dict[str, Any]


class Cluster:
    """The state that events change, with two long-lived cycles of one profile over it."""

    def __init__(
        self,
        configuration: Mapping[str, Any] | None = None,
        plugins: Sequence[Plugin] = (),
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        """With the in-tree plugins, configured so, or with the given plugins and no others."""
        self.clock = ManualClock()
        setting = Setting(configuration, self.clock, SeededRng(0), scalar=False, gates=gates)
        self.cache, self.objects, self.profiles = setting.cache, setting.objects, setting.profiles
        if plugins:
            self.profiles = {PROFILE: profile_of(plugins)}
        for plugin in plugins:
            if isinstance(plugin, ReadsClock):
                plugin.clock = self.clock
        self.nominated = Nominations(self.cache.nodes)
        #: The pods whose evaluations are compared; at least one.
        self.evaluated: Sequence[PodInfo] = ()
        self._pods_made = 0
        self.scalar = self.cycle(scalar=True)
        self.columnar = self.cycle(scalar=False)

    def cycle(self, *, scalar: bool) -> SchedulingCycle:
        """A cycle that has kept nothing yet."""
        return SchedulingCycle(self.cache, self.profiles, lambda: self.nominated, SeededRng(0), scalar=scalar)

    def pending(self, pod: api.Pod) -> PodInfo:
        return self.cache.shapes.info(pod)

    def new_pod_name(self) -> str:
        self._pods_made += 1
        return f"p{self._pods_made}"

    def some_pod(self, which: int, *, assumed: bool = False) -> PodRecord | None:
        """The number wraps around; None when there is no pod, or no assumed one."""
        records = [r for r in self.cache.pods() if not assumed or self.cache.is_assumed(r.info.uid)]
        return records[which % len(records)] if records else None

    def has_node(self, name: str) -> bool:
        return self.cache.nodes.row_of(name) is not None

    def everything(self, cycle: SchedulingCycle, pod: PodInfo) -> Document:
        """All that an evaluation says, in a form in which the engines are comparable."""
        try:
            evaluation = cycle.evaluate(self.profiles[PROFILE], pod)
            return _document(evaluation, self._node_names(), self.cache.nodes.node_count)
        except CycleAborted as abort:
            return {"aborted": abort.status.message, "plugin": abort.status.plugin}

    def best_of_all(self, cycle: SchedulingCycle, pod: PodInfo) -> Document | None:
        """What replicas of the pod are chosen from; None when they cannot be placed together."""
        engine = cycle._engines[PROFILE]
        entry = engine.signatures.get(pod)
        if not entry.is_complete or self.nominated.by_node or pod.nominated_node:
            return None
        rows, count = entry.signature.best_of_all()
        names = sorted(engine.table.names[row] for row in rows) if count else []
        return {"number of feasible nodes": count, "top": names}

    def _node_names(self) -> list[str]:
        table = self.cache.nodes
        return [table.names[row] for row in table.live_rows()]


def _document(evaluation: Evaluation, nodes: Sequence[str], node_count: int) -> Document:
    document: Document = evaluation_document(evaluation, nodes)
    for group in document.pop("rejected", ()):
        for node in group["nodes"]:
            document[f"status of {node}"] = (group["code"], group["plugin"], group["reasons"])
    document["number of feasible nodes"] = evaluation.feasible_count
    if evaluation.feasible_count == 0:
        diagnosis = diagnose(evaluation, node_count)
        document["message"] = diagnosis.message()
        document["unschedulable"] = sorted(diagnosis.unschedulable_plugins)
        document["pending"] = sorted(diagnosis.pending_plugins)
    else:
        document["choice"] = _choice(evaluation)
    return document


def _choice(evaluation: Evaluation) -> Document:
    """Engines may draw differently among equals: what counts is that the drawn one is among the best, and their number."""
    choice = evaluation.choose(SeededRng(1))
    table = None if evaluation.nominated_path else evaluation.scores()
    top = evaluation.feasible() if table is None else table.best()
    return {"ties": choice.ties, "top": sorted(top), "among the best": choice.node in top}
