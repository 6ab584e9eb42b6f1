"""The scheduler's metrics under kube-scheduler's names, labels and buckets, so that existing dashboards work.

`measuring` and `timed_ingest` write them while the scheduler works; `exposition` adds what can be read off its state, and
renders. A metric with labels is a `Children`: `metrics.attempts["scheduled", profile].inc()`.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector

from steersman.observe.children import Children
from steersman.observe.histogram import Histogram, HistogramFamily

PREFIX: Final = "scheduler"

#: Values of the label `result` of attempts.
SCHEDULED: Final = "scheduled"
UNSCHEDULABLE: Final = "unschedulable"
ERROR: Final = "error"


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Upper bounds of buckets, multiplied up one after the other: the last bits are those of upstream's labels."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


_ATTEMPT_SECONDS: Final = exponential(0.001, 2, 15)
_POINT_SECONDS: Final = exponential(0.0001, 2, 12)
_PLUGIN_SECONDS: Final = exponential(0.00001, 1.5, 20)
_LONG_SECONDS: Final = exponential(0.01, 2, 20)


class Metrics:
    """One set of metrics in a registry of its own, with those of the process (CPU, memory, files)."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._attempt_metrics()
        self._pod_metrics()
        self._plugin_metrics()
        self._queue_metrics()
        self._preemption_metrics()
        self._state_metrics()
        ProcessCollector(registry=self.registry)

    def _attempt_metrics(self) -> None:
        by_result = "result", "profile"
        self.attempts = self._counters(
            "schedule_attempts_total",
            "Attempts to schedule a pod by result; 'error' is a problem of the scheduler, 'unschedulable' one of the pod.",
            *by_result,
        )
        self.attempt_seconds = self._histograms(
            "scheduling_attempt_duration_seconds", "Scheduling cycle and binding.", _ATTEMPT_SECONDS, *by_result
        )
        self.algorithm_seconds = self._histogram(
            "scheduling_algorithm_duration_seconds", "Filtering, scoring and making room.", _ATTEMPT_SECONDS
        )
        self.event_seconds = self._histograms(
            "event_handling_duration_seconds", "Taking in an event of the cluster.", _POINT_SECONDS, "event"
        )

    def _pod_metrics(self) -> None:
        self.pod_seconds = self._histograms(
            "pod_scheduling_sli_duration_seconds",
            "From the first time in the active queue to the binding, over all attempts.",
            _LONG_SECONDS,
            "attempts",
        )
        self.pod_attempts = self._histogram(
            "pod_scheduling_attempts", "Attempts until a pod was bound.", exponential(1, 2, 5)
        )
        self.scheduled_after_flush = self._counter(
            "pod_scheduled_after_flush_total",
            "Pods that fitted after they had been unschedulable for too long without any event that promised to help.",
        )

    def _plugin_metrics(self) -> None:
        self.point_seconds = self._histograms(
            "framework_extension_point_duration_seconds",
            "All plugins of an extension point.",
            _POINT_SECONDS,
            "extension_point",
            "status",
            "profile",
        )
        self.plugin_seconds = self._histograms(
            "plugin_execution_duration_seconds",
            "One plugin at an extension point; a tenth of the calls.",
            _PLUGIN_SECONDS,
            "plugin",
            "extension_point",
            "status",
        )
        self.permit_wait_seconds = self._histograms(
            "permit_wait_duration_seconds", "Waiting for permission.", _ATTEMPT_SECONDS, "result"
        )

    def _queue_metrics(self) -> None:
        self.pending_pods = self._gauges("pending_pods", "Pods that wait, by sub-queue.", "queue")
        self.incoming_pods = self._counters(
            "queue_incoming_pods_total",
            "Pods that entered a sub-queue, by the event that brought them.",
            "queue",
            "event",
        )
        self.unschedulable_pods = self._gauges(
            "unschedulable_pods",
            "Waiting pods that a plugin stands in the way of; a pod counts for each of them.",
            "plugin",
            "profile",
        )

    def _preemption_metrics(self) -> None:
        self.preemption_victims = self._histogram(
            "preemption_victims", "Pods chosen to make room for another one.", exponential(1, 2, 7)
        )
        self.preemption_attempts = self._counter("preemption_attempts_total", "Attempts to make room by preemption.")

    def _state_metrics(self) -> None:
        self.tasks = self._gauges("goroutines", "Concurrent tasks by the work they do.", "operation")
        self.cache_size = self._gauges("cache_size", "Nodes, pods and assumed pods in the cache.", "type")

    # -- declaring ---------------------------------------------------------------------------------------------------

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", text, registry=self.registry)

    def _counters(self, name: str, text: str, *labels: str) -> Children[Counter]:
        counter = Counter(f"{PREFIX}_{name}", text, labels, registry=self.registry)
        return Children(f"{PREFIX}_{name}", labels, lambda values: counter.labels(*values))

    def _gauges(self, name: str, text: str, *labels: str) -> Children[Gauge]:
        gauge = Gauge(f"{PREFIX}_{name}", text, labels, registry=self.registry)
        return Children(f"{PREFIX}_{name}", labels, lambda values: gauge.labels(*values))

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return self._histograms(name, text, buckets)[()]

    def _histograms(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Children[Histogram]:
        family = HistogramFamily(f"{PREFIX}_{name}", text, buckets, labels)
        self.registry.register(family)
        return family.children
