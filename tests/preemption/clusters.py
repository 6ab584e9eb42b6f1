# SPDX-License-Identifier: Apache-2.0
"""A cluster in which pods preempt: the real cycle and plugin, without a queue and without an API server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.config import DEFAULT_GATES, FeatureGates
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.cycle.decision import Unschedulable
from steersman.scheduler.preemption import DefaultPreemption, PreemptionReport
from steersman.testing import NodeBuilder, PodBuilder
from steersman.testing.conformance.setting import Setting

PROFILE = "default-scheduler"
#: In March 2030.
NOW = 1_900_000_000.0


class PreemptionCluster:
    """All nodes are examined and reports are detailed, unless a test changes `plugin.evaluator`."""

    def __init__(
        self,
        nodes: Iterable[NodeBuilder],
        pods: Iterable[PodBuilder] = (),
        objects: Iterable[api.Object] = (),
        configuration: Mapping[str, Any] | None = None,
        scalar: bool = False,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self.setting = Setting(configuration, ManualClock(NOW), SeededRng(0), scalar, gates)
        for obj in (*(node.obj() for node in nodes), *objects):
            self.setting.change(obj)
        for pod in pods:
            self.setting.change(pod.obj())
        plugin = self.setting.profiles[PROFILE].plugins["DefaultPreemption"]
        assert isinstance(plugin, DefaultPreemption)
        self.plugin = plugin

    def pending(self, pod: PodBuilder) -> PodInfo:
        """The pod as the scheduler knows it."""
        obj = pod.obj()
        self.setting.change(obj)
        return self.setting.info(obj)

    def nominate(self, pod: PodBuilder, node: str) -> None:
        self.setting.nominate(self.pending(pod).pod, node)

    def schedule(self, pod: PodBuilder) -> Unschedulable:
        decision = self.setting.decide(self.pending(pod))
        assert isinstance(decision, Unschedulable), decision
        return decision

    def report(self, pod: PodBuilder) -> PreemptionReport:
        """How the pod's preemption was decided."""
        outcome = self.schedule(pod).post_filter
        assert outcome is not None
        assert outcome.result is not None, outcome.status
        assert isinstance(outcome.result.report, PreemptionReport)
        return outcome.result.report

    def victims(self, pod: PodBuilder) -> tuple[str, list[str]]:
        """The chosen node and the names of those who have to go; ("", []) when preemption does not help."""
        choice = self.report(pod).choice
        if choice is None:
            return "", []
        return choice.candidate.node, [victim.name for victim in choice.candidate.victims]
