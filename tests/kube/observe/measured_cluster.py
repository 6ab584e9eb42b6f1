# SPDX-License-Identifier: Apache-2.0
"""A measured scheduler on the embedded cluster, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from steersman import api, config
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.cluster.store import Store, feed
from steersman.framework.plugin import Plugin
from steersman.kube.observe import AttemptMetrics, Exposition, Metrics
from steersman.scheduler.assembly import Scheduler, SchedulerOptions, default_registry
from steersman.scheduler.assembly.registry import with_enabled
from steersman.scheduler.cycle.decision import Decision
from steersman.simulation.virtual_time.tasks import Tasks
from steersman.simulation.virtual_time.writer import EmbeddedWriter
from steersman.testing import make_node, make_pod

START = 1_000_000.0


class MeasuredCluster:
    """One node, `n1`, with four cores."""

    def __init__(self, plugins: Iterable[type[Plugin]] = (), chance: Callable[[], float] = lambda: 0.0) -> None:
        """`chance` decides which cycles are sampled: all of them."""
        self.clock = ManualClock(START)
        self.store = Store(self.clock)
        self.tasks = Tasks(self.clock)
        self.metrics = Metrics()
        registry, chosen = default_registry(), tuple(plugins)
        for plugin in chosen:
            registry.add(plugin.name, plugin, "test")
        enabled = with_enabled(config.default_configuration(), [plugin.name for plugin in chosen])
        self.measuring = AttemptMetrics(self.metrics, self.clock, chance)
        options = SchedulerOptions(configuration=enabled, registry=registry, instruments=self.measuring)
        writer = EmbeddedWriter(self.store, self.clock)
        self.scheduler = Scheduler(self.clock, SeededRng(1), writer, self.tasks.spawn, options)
        self.is_leading = True
        self.exposition = Exposition(self.metrics, self.measuring, self.scheduler, is_leading=lambda: self.is_leading)
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
