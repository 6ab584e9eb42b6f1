# SPDX-License-Identifier: Apache-2.0
"""Declaration, update and rendering of metrics.

`Children` are the series of one metric by label values. Unlike those of Prometheus' client, a
`Histogram` or `Tally` costs almost nothing to update: a bisection, an addition, no lock. Such a
series has one writer thread; others may read it to render, and may see an observation without its
sum. Where several threads observe the same, each has its own series, and the family shows the sum.
`metrics` and `client_metrics` declare theirs on a `MetricSet`.

`texts_of` renders a registry for Prometheus family by family, in any thread.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Metric, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

SeriesT = TypeVar("SeriesT")

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_WITH_CREATION_TIMES: Final = ("counter", "histogram", "summary")


# -- series by their labels --------------------------------------------------------------------------------------------


class Children(dict[tuple[str, ...], SeriesT], Generic[SeriesT]):
    """Series by label values, in the order of `labels`."""

    def __init__(self, name: str, labels: Sequence[str], make: Callable[[tuple[str, ...]], SeriesT]) -> None:
        super().__init__()
        self.name = name
        self.labels = tuple(labels)
        self._make = make

    def __missing__(self, values: tuple[str, ...]) -> SeriesT:
        # Atomic: another thread may create the same series.
        return self.setdefault(values, self._make(values))


class ExternalCounters:
    """Counters that follow external counts."""

    def __init__(self, counters: Children[Counter]) -> None:
        self._counters = counters
        self._reached: dict[tuple[str, ...], int] = {}

    def update(self, counts: Iterable[tuple[tuple[str, ...], int]], is_counted: bool = True) -> None:
        """Add the difference to the last call; it is dropped unless `is_counted`."""
        for labels, number in counts:
            before = self._reached.get(labels, 0)
            if number != before:
                if is_counted:
                    self._counters[labels].inc(number - before)
                self._reached[labels] = number


class Histogram:
    """One series of a histogram."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        #: Observations per bucket, not cumulative; the last is for values above all bounds.
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count the value in the first bucket whose bound it does not exceed."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


class HistogramFamily(Collector):
    """All series of one histogram."""

    def __init__(
        self,
        name: str,
        text: str,
        bounds: Sequence[float],
        labels: Sequence[str],
    ) -> None:
        self._name = name
        self._text = text
        self._bounds = bounds
        self._labels = tuple(labels)
        self._shown_bounds = [*map(_shown, bounds), "+Inf"]
        self._writers: list[Children[Histogram]] = []

    def children(self) -> Children[Histogram]:
        """Return the series of an additional writer thread."""
        made = Children(self._name, self._labels, lambda values: Histogram(self._bounds))
        self._writers.append(made)
        return made

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        for values, series in self._sums().items():
            cumulative = accumulate(series.counts)
            family.add_metric(values, list(zip(self._shown_bounds, cumulative, strict=True)), series.total)
        yield family

    def _sums(self) -> dict[tuple[str, ...], Histogram]:
        sums: dict[tuple[str, ...], Histogram] = {}
        for children in list(self._writers):
            for values, series in list(children.items()):
                total = sums.setdefault(values, Histogram(self._bounds))
                total.counts = [one + other for one, other in zip(total.counts, list(series.counts), strict=True)]
                total.total += series.total
        return sums


class Tally:
    """One series of a counter that every pod increments."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self) -> None:
        self.value += 1


class TallyFamily(Collector):
    """All series of one tally."""

    def __init__(self, name: str, text: str, labels: Sequence[str]) -> None:
        self._name = name
        self._text = text
        self._labels = tuple(labels)
        self._writers: list[Children[Tally]] = []

    def children(self) -> Children[Tally]:
        """Return the series of an additional writer thread."""
        made = Children(self._name, self._labels, lambda values: Tally())
        self._writers.append(made)
        return made

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(self._name, self._text, labels=self._labels)
        sums: dict[tuple[str, ...], int] = {}
        for children in list(self._writers):
            for values, series in list(children.items()):
                sums[values] = sums.get(values, 0) + series.value
        for values, total in sums.items():
            family.add_metric(values, total)
        yield family


def _shown(bound: float) -> str:
    text: str = floatToGoString(bound)  # type: ignore[no-untyped-call]
    return text.removesuffix(".0")  # as in Go


# -- stability ---------------------------------------------------------------------------------------------------------

#: Stability of upstream's metrics above ALPHA.
_STABILITY: Final = {
    "scheduler_schedule_attempts_total": "STABLE",
    "scheduler_scheduling_attempt_duration_seconds": "STABLE",
    "scheduler_preemption_victims": "STABLE",
    "scheduler_preemption_attempts_total": "STABLE",
    "scheduler_pending_pods": "STABLE",
    "scheduler_pod_scheduling_attempts": "STABLE",
    "scheduler_framework_extension_point_duration_seconds": "STABLE",
    "scheduler_queue_incoming_pods_total": "STABLE",
    "kubernetes_healthcheck": "STABLE",
    "kubernetes_healthchecks_total": "STABLE",
    "scheduler_goroutines": "BETA",
    "scheduler_pod_scheduling_sli_duration_seconds": "BETA",
    "scheduler_permit_wait_duration_seconds": "BETA",
    "scheduler_unschedulable_pods": "BETA",
    "scheduler_plugin_evaluation_total": "BETA",
    "kubernetes_feature_enabled": "BETA",
}


def described(name: str, text: str) -> str:
    """Return the HELP text, with the stability for upstream's metrics."""
    return text if name.startswith("steersman_") else f"[{_STABILITY.get(name, 'ALPHA')}] {text}"


# -- declared ----------------------------------------------------------------------------------------------------------


class MetricSet:
    """Metrics of a registry; `Children` if labelled: `metrics.attempts["scheduled", profile]`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry

    def counter(self, name: str, text: str) -> Counter:
        return Counter(name, described(name, text), registry=self.registry)

    def counters(self, name: str, text: str, *labels: str) -> Children[Counter]:
        counter = Counter(name, described(name, text), labels, registry=self.registry)
        return Children(name, labels, lambda values: counter.labels(*values))

    def tallies(self, name: str, text: str, *labels: str) -> Children[Tally]:
        """Return counters for one thread; use `tally_family` for several."""
        return self.tally_family(name, text, *labels).children()

    def tally_family(self, name: str, text: str, *labels: str) -> TallyFamily:
        family = TallyFamily(name, described(name, text), labels)
        self.registry.register(family)
        return family

    def gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, described(name, text), registry=self.registry)

    def gauges(self, name: str, text: str, *labels: str) -> Children[Gauge]:
        gauge = Gauge(name, described(name, text), labels, registry=self.registry)
        return Children(name, labels, lambda values: gauge.labels(*values))

    def histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return self.histograms(name, text, buckets)[()]

    def histograms(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Children[Histogram]:
        """Return histograms for one thread; use `histogram_family` for several."""
        return self.histogram_family(name, text, buckets, *labels).children()

    def histogram_family(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> HistogramFamily:
        family = HistogramFamily(name, described(name, text), buckets, labels)
        self.registry.register(family)
        return family


# -- text for Prometheus -----------------------------------------------------------------------------------------------


def texts_of(registry: CollectorRegistry) -> Iterator[bytes]:
    """Yield the metrics of a registry as text, family by family."""
    for family in WithoutCreationTimes(registry).collect():
        yield generate_latest(_OneFamily(family))


class WithoutCreationTimes(Collector):
    """Omits the creation times that Prometheus' client adds and upstream does not have."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            if family.type in _WITH_CREATION_TIMES:
                family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


class _OneFamily(Collector):
    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family
