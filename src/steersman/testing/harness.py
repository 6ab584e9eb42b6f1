"""A whole scheduler in a test: the real assembly on a few nodes, with a plugin under test enabled.

    harness = Harness(plugins=[CheapNodes], nodes=[make_node("a").label("price", "10").obj(), …])
    assert harness.place(make_pod("web")) == "a"
    assert harness.scores(make_pod("web"))["CheapNodes"] == {"a": 90, "b": 20}

Time stands still until `advance`; chance comes from a seed. Bindings are accepted at once and seen by the scheduler as a
watch would show them.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from steersman import api, config
from steersman.assembly import Failure, Scheduler, SchedulerOptions
from steersman.clock import ManualClock
from steersman.config import SchedulerConfiguration
from steersman.cycle.decision import Decision, Scheduled
from steersman.cycle.evaluation import Evaluation
from steersman.framework.plugin import Plugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.rng import SeededRng
from steersman.runtime.registry import Registry
from steersman.testing.nodes import NodeBuilder
from steersman.testing.pods import PodBuilder

AnyPod = api.Pod | PodBuilder
AnyNode = api.Node | NodeBuilder


class NotPlacedError(AssertionError):
    """The pod has no node; the message is what users would read."""


class Harness:
    """See the module's text. `scheduler` is there for whatever the shortcuts do not offer."""

    def __init__(
        self,
        plugins: Sequence[type[Plugin]] = (),
        nodes: Iterable[AnyNode] = (),
        pods: Iterable[AnyPod] = (),
        objects: Iterable[api.Object] = (),
        configuration: SchedulerConfiguration | None = None,
        seed: int = 0,
        weights: Mapping[str, int] | None = None,
    ) -> None:
        registry = Registry()
        for plugin in plugins:
            registry.add(plugin.name, plugin, f"class {plugin.__name__}")
        chosen = configuration or config.default_configuration()
        enabled = enable(chosen, [plugin.name for plugin in plugins], weights or {})
        self.clock = ManualClock()
        self._writer = _LoopbackWriter(self)
        options = SchedulerOptions(configuration=enabled, registry=registry)
        self.scheduler = Scheduler(self.clock, SeededRng(seed), self._writer, _refuse_task, options)
        for obj in (*objects, *map(_built_node, nodes), *map(_built_pod, pods)):
            self.scheduler.ingest.changed(obj)

    # -- changing the cluster ----------------------------------------------------------------------------------------

    def add(self, obj: api.Object | PodBuilder | NodeBuilder) -> None:
        """Adds or replaces any object, as a watch event would."""
        built = obj.obj() if isinstance(obj, PodBuilder | NodeBuilder) else obj
        self.scheduler.ingest.changed(built)

    def delete(self, obj: api.Object) -> None:
        self.scheduler.ingest.deleted(obj)

    def advance(self, seconds: float) -> None:
        """Lets time pass: backoffs end, pods that waited too long are tried again."""
        self.clock.advance(seconds)
        self.scheduler.queue.flush_backoff()
        self.scheduler.queue.flush_unschedulable()

    # -- scheduling --------------------------------------------------------------------------------------------------

    def run(self) -> list[Decision]:
        """Schedules until nothing is left to try."""
        decisions: list[Decision] = []
        while (decision := self.scheduler.schedule_one()) is not None:
            decisions.append(decision)
        return decisions

    def place(self, pod: AnyPod) -> str:
        """Adds the pod, schedules, and returns its node. NotPlacedError, with the message, when it has none."""
        built = _built_pod(pod)
        self.add(built)
        for decision in self.run():
            if isinstance(decision, Scheduled) and decision.pod.uid == built.metadata.uid:
                return decision.node
        raise NotPlacedError(self.message(built))

    def message(self, pod: AnyPod) -> str:
        """Why the pod is pending, as its condition says; "" when no attempt has failed."""
        key = api.key(_built_pod(pod))
        return next((f.message for f in reversed(self._writer.failures) if api.key(f.pod) == key), "")

    # -- looking without placing -------------------------------------------------------------------------------------

    def evaluate(self, pod: AnyPod) -> Evaluation:
        """The pod against all nodes; nothing changes."""
        info = self.scheduler.cache.shapes.info(_built_pod(pod))
        return self.scheduler.cycle.evaluate(self.scheduler.profiles[info.scheduler_name], info)

    def rejections(self, pod: AnyPod) -> dict[str, Status]:
        """The nodes that do not fit, each with the first objection."""
        groups = self.evaluate(pod).statuses().groups
        return {node: status for status, nodes in groups.items() for node in nodes}

    def scores(self, pod: AnyPod) -> dict[str, dict[str, int]]:
        """By plugin and node, after normalisation and before weights; empty with fewer than two feasible nodes."""
        table = self.evaluate(pod).scores()
        if table is None:
            return {}
        return {p.name: dict(zip(table.nodes, p.normalised, strict=True)) for p in table.plugins}


def enable(
    configuration: SchedulerConfiguration, names: Sequence[str], weights: Mapping[str, int]
) -> SchedulerConfiguration:
    """The configuration with the plugins enabled in every profile, at every extension point they take part in."""
    added = tuple(config.Plugin(name=name, weight=weights.get(name, 0)) for name in names)
    profiles = tuple(_with_plugins(profile, added) for profile in configuration.profiles)
    return msgspec.structs.replace(configuration, profiles=profiles)


def _with_plugins(profile: config.Profile, added: tuple[config.Plugin, ...]) -> config.Profile:
    everywhere = profile.plugins.multi_point
    extended = msgspec.structs.replace(everywhere, enabled=(*everywhere.enabled, *added))
    return msgspec.structs.replace(profile, plugins=msgspec.structs.replace(profile.plugins, multi_point=extended))


class _LoopbackWriter:
    """Accepts bindings and shows them to the scheduler again."""

    binds_at_once = True

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self.failures: list[Failure] = []

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        spec = msgspec.structs.replace(pod.pod.spec, node_name=node_name)
        version = f"{pod.pod.metadata.resource_version}-bound"
        metadata = msgspec.structs.replace(pod.pod.metadata, resource_version=version)
        self._harness.scheduler.ingest.changed(msgspec.structs.replace(pod.pod, spec=spec, metadata=metadata))
        return None

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return self.bind_nowait(pod, node_name)

    def report_failure(self, failure: Failure) -> None:
        self.failures.append(failure)

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        """The binding was seen already."""


def _refuse_task(coroutine: Coroutine[Any, Any, None]) -> None:
    coroutine.close()
    raise RuntimeError("this harness binds at once; use steersman.Simulation for plugins that wait (Permit, PreBind)")


def _built_pod(pod: AnyPod) -> api.Pod:
    return pod.obj() if isinstance(pod, PodBuilder) else pod


def _built_node(node: AnyNode) -> api.Node:
    return node.obj() if isinstance(node, NodeBuilder) else node
