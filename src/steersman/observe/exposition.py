# SPDX-License-Identifier: Apache-2.0
"""The metrics as text for Prometheus.

In the loop that schedules, what can be read off the scheduler's state is copied into the metrics: sizes of queue and cache,
counts that the queue keeps anyway. That is quick. The text is made afterwards, family by family, and may be made elsewhere.
Results of health checks (`/metrics/slis`) count whenever somebody looks at the summary of a path.
"""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from steersman.assembly import Scheduler
from steersman.explain import CauseCode
from steersman.observe.attempt_metrics import AttemptMetrics
from steersman.observe.metrics import Metrics
from steersman.observe.pending_causes import PendingCauses
from steersman.observe.series import CountedUp, MetricSet
from steersman.queue import CountingQueueMetrics, QueuedPodInfo, RecordedEvent

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
#: What a pod in flight is called among the events.
POPPED: Final = "PodPopped"
_WITH_CREATION_TIMES: Final = ("counter", "histogram", "summary")


class Exposition:
    """Renders one scheduler's metrics."""

    def __init__(
        self,
        metrics: Metrics,
        measuring: AttemptMetrics,
        scheduler: Scheduler,
        refreshers: Sequence[Callable[[], None]] = (),
    ) -> None:
        """`refreshers` set what the host knows, whenever somebody looks."""
        self._metrics = metrics
        self._measuring = measuring
        self._scheduler = scheduler
        self._refreshers = refreshers
        self._causes = PendingCauses(scheduler)
        scheduler.observe(self._causes)
        self._incoming = CountedUp(metrics.incoming_pods)
        self._rendered = WithoutCreationTimes(metrics.registry)

    def text(self) -> Iterator[bytes]:
        """The metrics as last refreshed, a family at a time. Any thread may do this."""
        for family in self._rendered.collect():
            yield generate_latest(_OneFamily(family))

    def refresh(self) -> None:
        """Copies sizes and counts. Only where nobody changes the scheduler at the same time."""
        for refresh in self._refreshers:
            refresh()
        self._refresh_queue()
        self._refresh_causes()
        self._refresh_in_flight()
        self._refresh_cache()
        scheduler = self._scheduler
        self._measuring.evaluations.export(self._metrics, scheduler.profiles, scheduler.cache.nodes.node_count)
        self._metrics.tasks[("binding",)].set(self._measuring.open_attempts)

    def _refresh_queue(self) -> None:
        pending, sizes = self._metrics.pending_pods, self._scheduler.queue.statistics()
        pending[("active",)].set(sizes.active)
        pending[("backoff",)].set(sizes.backoff + sizes.error_backoff)
        pending[("unschedulable",)].set(sizes.unschedulable)
        pending[("gated",)].set(sizes.gated)
        counts = self._scheduler.queue.metrics
        if isinstance(counts, CountingQueueMetrics):
            self._incoming.to(counts.entered.items())
            for rejection, number in counts.rejections.items():
                self._metrics.unschedulable_pods[rejection].set(number)

    def _refresh_causes(self) -> None:
        """A cause that no pod waits for any more counts as 0."""
        gauges, counted = self._metrics.pending_causes, self._causes.counts()
        for label in {*map(str, counted), *(known for (known,) in gauges)}:
            gauges[(label,)].set(counted[CauseCode(label)])

    def _refresh_in_flight(self) -> None:
        """An event that is not kept any more counts as 0, so that its series does not stay as it was."""
        gauges = self._metrics.in_flight_events
        kept = Counts(_label(entry) for entry in self._scheduler.queue.in_flight_log())
        for label in {*kept, *(known for (known,) in gauges)}:
            gauges[(label,)].set(kept[label])

    def _refresh_cache(self) -> None:
        sizes, cache = self._metrics.cache_size, self._scheduler.cache
        sizes[("nodes",)].set(cache.nodes.node_count)
        sizes[("pods",)].set(cache.pod_count)
        sizes[("assumed_pods",)].set(cache.assumed_count)
        for table, entries in self._scheduler.kept().items():
            self._metrics.kept_entries[(table.replace(" ", "_"),)].set(entries)


def _label(entry: QueuedPodInfo | RecordedEvent) -> str:
    return POPPED if isinstance(entry, QueuedPodInfo) else entry.event.label


class _OneFamily(Collector):
    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family


class WithoutCreationTimes(Collector):
    """Prometheus' client adds when each counter was created, as series of their own; upstream does not have these."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            if family.type in _WITH_CREATION_TIMES:
                family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


CHECK_SUCCEEDED: Final = "success"
CHECK_FAILED: Final = "error"


class HealthMetrics(MetricSet):
    """Metrics of health checks, in a registry of their own, as upstream has it."""

    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        self.last = self.gauges("kubernetes_healthcheck", "1 if the check succeeded last.", "name", "type")
        self.results = self.counters("kubernetes_healthchecks_total", "Checks by result.", "name", "type", "status")

    def checked(self, path: str, name: str, failed: bool) -> None:
        """`path`: `healthz`, `livez` or `readyz`."""
        self.last[name, path].set(not failed)
        self.results[name, path, CHECK_FAILED if failed else CHECK_SUCCEEDED].inc()

    def render(self) -> bytes:
        return generate_latest(WithoutCreationTimes(self.registry))
