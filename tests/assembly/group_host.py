# SPDX-License-Identifier: Apache-2.0
"""A scheduler of groups on stored objects: bindings and conditions are written back to it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

from steersman import api, config
from steersman.base import FirstByName, InternalErrors, ManualClock, Rng
from steersman.config import FeatureGates
from steersman.framework import Plugin
from steersman.scheduler.assembly import AttemptObserver, SchedulerOptions, register, with_enabled
from steersman.scheduler.cycle import Decision, GroupCycle
from steersman.scheduler.what_if import isolated_scheduler
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod
from steersman.testing.building import Builder
from steersman.testing.conformance.group_cluster import GroupWriter, StoredObjects

WITHOUT_TOPOLOGY = FeatureGates({"GenericWorkload": True}, "1.37")
WITH_TOPOLOGY = FeatureGates({"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}, "1.37")
WITH_TREES = FeatureGates(
    {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True, "CompositePodGroup": True}, "1.37"
)
MAX_CYCLES = 1000
AnyBuilder = Builder[Any]


def small_node(name: str, cpu: int = 4, **labels: str) -> NodeBuilder:
    node = make_node(name).capacity(cpu=str(cpu), memory="64Gi", pods=110)
    for key, value in labels.items():
        node = node.label(key, value)
    return node


def member(name: str, group: str, cpu: str = "1") -> PodBuilder:
    return make_pod(name).req(cpu=cpu).in_group(group)


class Cycles(AttemptObserver):
    def __init__(self) -> None:
        self.all: list[GroupCycle] = []

    def group_cycle(self, cycle: GroupCycle) -> None:
        self.all.append(cycle)


class GroupHost:
    """Runs the cycles of a scheduler until its active queue is empty."""

    def __init__(
        self,
        *objects: AnyBuilder,
        gates: FeatureGates = WITHOUT_TOPOLOGY,
        scalar: bool = False,
        plugins: Iterable[type[Plugin]] = (),
        rng: Rng | None = None,
        internal_errors: InternalErrors | None = None,
    ) -> None:
        self.clock = ManualClock(1_900_000_000.0)
        self.stored = StoredObjects()
        self.writer = GroupWriter(self.stored, {})
        self.spawned: list[Coroutine[Any, Any, None]] = []
        registry, names = register(plugins)
        configuration = with_enabled(config.default_configuration(gates), names)
        options = SchedulerOptions(
            configuration, gates, registry=registry, scalar=scalar, internal_errors=internal_errors
        )
        self.scheduler = isolated_scheduler(
            options, self.clock, rng or FirstByName(0), writer=self.writer, spawn=self.spawned.append
        )
        self.cycles = Cycles()
        self.scheduler.observe(self.cycles)
        self.create(*objects)

    def create(self, *objects: AnyBuilder) -> None:
        for builder in objects:
            self.put(builder.obj())

    def put(self, obj: api.Object) -> None:
        self.stored.put(obj)
        self.deliver()

    def delete(self, kind: type[api.Object], name: str) -> None:
        self.stored.delete(kind, name)
        self.deliver()

    def deliver(self) -> None:
        while changes := self.stored.take_changes():
            for obj, is_deletion in changes:
                ingest = self.scheduler.ingest
                (ingest.deleted if is_deletion else ingest.changed)(obj)

    def run(self) -> list[Decision]:
        """Schedule everything that is active, with its bindings; return the decisions."""
        decisions: list[Decision] = []
        for _ in range(MAX_CYCLES):
            made = self.scheduler.schedule_some(1)
            if not made:
                break
            decisions += made
            self.deliver()
            asyncio.run(self._finish())
        self.scheduler.cache.validate_state()
        self.scheduler.cycle.validate_state()
        self.scheduler.queue.validate_state()
        return decisions

    async def _finish(self) -> None:
        while self.spawned:
            task = asyncio.ensure_future(self.spawned.pop(0))
            for _ in range(50):
                if task.done():
                    break
                await asyncio.sleep(0)
            self.deliver()

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.scheduler.queue.flush_backoff()

    @property
    def nodes(self) -> Mapping[str, str]:
        """Nodes of bound pods by name."""
        pods = self.stored.by_name(api.Pod)
        return {pod.metadata.name: pod.spec.node_name for pod in pods if pod.spec.node_name}

    def message(self, pod: str) -> str:
        """Return the message of the latest failure of a pod."""
        return self.writer.failures[f"default/{pod}"].message

    def condition(self, group: str) -> api.Condition | None:
        found = self.stored.get(api.PodGroup, f"default/{group}")
        assert found is not None
        return next((one for one in found.status.conditions if one.type == api.INITIALLY_SCHEDULED), None)

    @property
    def assumed(self) -> int:
        return self.scheduler.cache.assumed_count
