# SPDX-License-Identifier: Apache-2.0
"""A whole scheduler in a test: the real assembly on an embedded cluster of a few nodes, with a plugin under test enabled.

    harness = Harness(plugins=[CheapNodes], nodes=[make_node("a").label("price", "10"), …])
    assert harness.scores(make_pod("web"))["CheapNodes"] == {"a": 90, "b": 20}
    assert harness.place(make_pod("web")) == "a"

Time is virtual and passes when nothing else is left to do, or by `advance`; chance comes from a seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from steersman import api
from steersman.assembly import SchedulerOptions
from steersman.assembly.registry import register, with_enabled
from steersman.clock import ManualClock
from steersman.config import SchedulerConfiguration, default_configuration
from steersman.cycle.decision import Decision, Scheduled
from steersman.embedded import KubeAdmission, Pods, Store
from steersman.engine.evaluation import Evaluation
from steersman.framework.plugin import Plugin
from steersman.framework.status import Status
from steersman.sim.driver import Driver
from steersman.testing.nodes import NodeBuilder
from steersman.testing.pods import PodBuilder

AnyPod = api.Pod | PodBuilder
AnyNode = api.Node | NodeBuilder


class NotPlacedError(AssertionError):
    """The pod has no node; the message is what users would read."""


class Harness:
    """See the module's text. `scheduler` and `cluster` are there for whatever the shortcuts do not offer."""

    def __init__(
        self,
        plugins: Sequence[type[Plugin]] = (),
        nodes: Iterable[AnyNode] = (),
        pods: Iterable[AnyPod] = (),
        objects: Iterable[api.Object] = (),
        configuration: SchedulerConfiguration | None = None,
        seed: int = 0,
    ) -> None:
        registry, names = register(plugins)
        enabled = with_enabled(configuration or default_configuration(), names)
        clock = ManualClock()
        self.cluster = Store(clock, admission=KubeAdmission())
        self._driver = Driver(self.cluster, clock, seed, SchedulerOptions(enabled, registry=registry))
        self.scheduler = self._driver.scheduler
        for obj in (*objects, *nodes, *pods):
            self.add(obj)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends bindings that still wait; a test that leaves any uses the harness as a context manager."""
        self._driver.close()

    # -- changing the cluster ----------------------------------------------------------------------------------------

    def add(self, obj: api.Object | PodBuilder | NodeBuilder) -> None:
        """Creates the object, or replaces the one of that name."""
        built = obj.obj() if isinstance(obj, PodBuilder | NodeBuilder) else obj
        if self.cluster.find(type(built), api.key(built)) is None:
            self.cluster.create(built)
        else:
            self.cluster.replace(built)

    def delete(self, obj: api.Object) -> None:
        if isinstance(obj, api.Pod):
            Pods(self.cluster).delete(api.key(obj))
        else:
            self.cluster.delete(type(obj), api.key(obj))

    # -- scheduling --------------------------------------------------------------------------------------------------

    def run(self) -> list[Decision]:
        """Schedules until nothing changes any more; virtual time passes as it must."""
        decisions: list[Decision] = []
        self._driver.run(on_decision=decisions.append)
        return decisions

    def advance(self, seconds: float) -> list[Decision]:
        """Schedules for so many seconds of virtual time: backoffs end, pods that waited too long are tried again."""
        decisions: list[Decision] = []
        self._driver.run(self._driver.now + seconds, decisions.append)
        return decisions

    def place(self, pod: AnyPod) -> str:
        """Adds the pod, schedules, and returns its node. NotPlacedError, with the message, when it has none."""
        built = _built(pod)
        self.add(built)
        for decision in self.run():
            if isinstance(decision, Scheduled) and decision.pod.key == api.key(built):
                return decision.node
        raise NotPlacedError(self.message(built))

    def message(self, pod: AnyPod) -> str:
        """Why the pod is pending, as its condition says; "" when no attempt has failed."""
        stored = self.cluster.get(api.Pod, api.key(_built(pod)))
        condition = next((c for c in stored.status.conditions if c.type == "PodScheduled"), None)
        return condition.message if condition is not None else ""

    # -- looking without placing -------------------------------------------------------------------------------------

    def evaluate(self, pod: AnyPod) -> Evaluation:
        """The pod against all nodes; nothing changes."""
        info = self.scheduler.cache.shapes.info(_built(pod))
        return self.scheduler.cycle.evaluate(self.scheduler.profiles[info.scheduler_name], info)

    def rejections(self, pod: AnyPod) -> dict[str, Status]:
        """The nodes that do not fit, each with the first objection."""
        statuses = self.evaluate(pod).statuses()
        names = (node.metadata.name for node in self.cluster.objects(api.Node).values())
        return {name: status for name in names if (status := statuses.of(name)) is not None}

    def scores(self, pod: AnyPod) -> dict[str, dict[str, int]]:
        """By plugin and node, after normalisation and before weights; empty with fewer than two feasible nodes."""
        table = self.evaluate(pod).scores()
        if table is None:
            return {}
        return {p.name: dict(zip(table.nodes, p.normalised, strict=True)) for p in table.plugins}


def _built(pod: AnyPod) -> api.Pod:
    return pod.obj() if isinstance(pod, PodBuilder) else pod
