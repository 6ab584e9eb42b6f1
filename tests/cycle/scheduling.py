# SPDX-License-Identifier: Apache-2.0
"""A scheduling cycle with plugins of the test's own, on a few nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from steersman.base.rng import SeededRng
from steersman.framework.plugin import Plugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.scheduler.cycle.decision import Decision
from steersman.scheduler.cycle.schedule_one import SchedulingCycle
from steersman.scheduler.engine.evaluation import Evaluation
from steersman.scheduler.runtime.profile import PluginRef, Profile, ProfileSpec, build
from steersman.scheduler.runtime.registry import POINT_OF_CLASS
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.nominations import Nominations
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import NodeBuilder, PodBuilder, make_node

PROFILE = "default-scheduler"


class Order(Plugin):
    name = "Order"

    def sort_key(self, queued: object) -> tuple[int, ...]:
        return ()


def profile_of(plugins: Iterable[Plugin], weights: Mapping[str, int] | None = None) -> Profile:
    """Each plugin at the points that its base classes name, in the given order."""
    points: dict[str, list[PluginRef]] = {"queueSort": [PluginRef("Order")]}
    instances: dict[str, object] = {"Order": Order()}
    for plugin in plugins:
        instances[plugin.name] = plugin
        for base, point in POINT_OF_CLASS.items():
            if isinstance(plugin, base):
                weight = (weights or {}).get(plugin.name, 0)
                points.setdefault(point, []).append(PluginRef(plugin.name, weight))
    return build(ProfileSpec(PROFILE, points), instances)


class Cycles:
    """A cache, a profile of the given plugins and a cycle over them."""

    def __init__(
        self,
        *plugins: Plugin,
        nodes: Sequence[str | NodeBuilder] = ("n1", "n2", "n3"),
        scalar: bool = False,
        weights: Mapping[str, int] | None = None,
        percentage: int | None = None,
        seed: int = 0,
    ) -> None:
        self.cache = Cache(ObjectStore())
        for node in nodes:
            self.add_node(node)
        self.profile = profile_of(plugins, weights)
        self.nominated = Nominations(self.cache.nodes)
        self.cycle = SchedulingCycle(
            self.cache, {PROFILE: self.profile}, lambda: self.nominated, SeededRng(seed), percentage, scalar
        )

    def add_node(self, node: str | NodeBuilder) -> None:
        self.cache.set_node((make_node(node) if isinstance(node, str) else node).obj())

    def pod(self, pod: PodBuilder) -> PodInfo:
        return self.cache.shapes.info(pod.obj())

    def schedule(self, pod: PodBuilder) -> Decision:
        return self.cycle.schedule_one(self.pod(pod))

    def evaluate(self, pod: PodBuilder | PodInfo) -> Evaluation:
        info = pod if isinstance(pod, PodInfo) else self.pod(pod)
        return self.cycle.evaluate(self.profile, info)

    def feasible(self, pod: PodBuilder) -> set[str]:
        return set(self.evaluate(pod).feasible())

    def statuses(self, pod: PodBuilder) -> dict[str, Status]:
        groups = self.evaluate(pod).statuses().groups
        return {name: status for status, names in groups.items() for name in names}

    def totals(self, pod: PodBuilder) -> dict[str, int]:
        table = self.evaluate(pod).scores()
        assert table is not None
        return dict(zip(table.nodes, table.total, strict=True))
