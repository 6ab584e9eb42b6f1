# SPDX-License-Identifier: Apache-2.0
"""A measured scheduler on the embedded cluster, in virtual time."""

from __future__ import annotations

from collections.abc import Iterable

from steersman import api, config
from steersman.assembly import Scheduler, SchedulerOptions, default_registry
from steersman.assembly.registry import with_enabled
from steersman.clock import ManualClock
from steersman.cycle.decision import Decision
from steersman.embedded import Store, feed
from steersman.framework.plugin import Plugin
from steersman.observe import AttemptMetrics, Exposition, Metrics
from steersman.rng import SeededRng
from steersman.sim.tasks import Tasks
from steersman.sim.writer import EmbeddedWriter
from steersman.testing import make_node, make_pod

START = 1_000_000.0


class MeasuredCluster:
    """One node, `n1`, with four cores."""

    def __init__(self, plugins: Iterable[type[Plugin]] = ()) -> None:
        self.clock = ManualClock(START)
        self.store = Store(self.clock)
        self.tasks = Tasks(self.clock)
        self.metrics = Metrics()
        registry, chosen = default_registry(), tuple(plugins)
        for plugin in chosen:
            registry.add(plugin.name, plugin, "test")
        enabled = with_enabled(config.default_configuration(), [plugin.name for plugin in chosen])
        self.measuring = AttemptMetrics(self.metrics, self.clock)
        options = SchedulerOptions(configuration=enabled, registry=registry, instruments=self.measuring)
        writer = EmbeddedWriter(self.store, self.clock)
        self.scheduler = Scheduler(self.clock, SeededRng(1), writer, self.tasks.spawn, options)
        self.exposition = Exposition(self.metrics, self.measuring, self.scheduler)
        feed(self.store, self.scheduler.ingest)
        self.store.create(make_node("n1").capacity(cpu="4", memory="8Gi", pods=20).obj())

    def add_pod(self, name: str, cpu: str = "1", priority: int = 0) -> api.Pod:
        return self.store.create(make_pod(name).req(cpu=cpu).priority(priority).obj())

    def run(self) -> list[Decision]:
        """Schedules whatever can be popped, and lets bindings go as far as they can now."""
        decisions: list[Decision] = []
        while (decision := self.scheduler.schedule_one()) is not None:
            decisions.append(decision)
            self.tasks.run_ready()
        return decisions

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.scheduler.queue.flush_backoff()
        self.scheduler.queue.flush_unschedulable()

    def value(self, name: str, **labels: str) -> float | None:
        """A sample as it would be scraped now; None when there is no such series."""
        self.exposition.refresh()
        return self.metrics.registry.get_sample_value(f"scheduler_{name}", labels)

    def text(self) -> str:
        self.exposition.refresh()
        return b"".join(self.exposition.text()).decode()
