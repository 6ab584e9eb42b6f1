# SPDX-License-Identifier: Apache-2.0
"""How metrics are made and written: declared with full names on a registry, series looked up once, text for Prometheus.

`Children` are the series of one metric by the values of its labels. A `Histogram` or a `Tally` costs next to nothing to write,
unlike those of Prometheus' client: one search by bisection, one addition, no lock. Such a series is written by one thread, in
most cases the one that schedules; another may read it to render, and may see an observation whose sum is not there yet. Where
several threads observe the same, each has series of its own, and the family shows their sum. `metrics` and `client_metrics`
declare theirs on a `MetricSet`.

Whatever is on a registry becomes text for Prometheus family by family (`texts_of`), in any thread.
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
    """Keys are in the order of `labels`."""

    def __init__(self, name: str, labels: Sequence[str], make: Callable[[tuple[str, ...]], SeriesT]) -> None:
        super().__init__()
        self.name = name
        self.labels = tuple(labels)
        self._make = make

    def __missing__(self, values: tuple[str, ...]) -> SeriesT:
        # In one step: another thread may be about to make the same series.
        return self.setdefault(values, self._make(values))


class CountedUp:
    """Counters that follow numbers which somebody else counts."""

    def __init__(self, counters: Children[Counter]) -> None:
        self._counters = counters
        self._reached: dict[tuple[str, ...], int] = {}

    def to(self, counts: Iterable[tuple[tuple[str, ...], int]]) -> None:
        for labels, number in counts:
            before = self._reached.get(labels, 0)
            if number != before:
                self._counters[labels].inc(number - before)
                self._reached[labels] = number


class Histogram:
    """One series."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        #: Observations by bucket, the last one for what exceeds all bounds; not cumulative.
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """A value belongs to the first bucket whose bound it does not exceed."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


class HistogramFamily(Collector):
    """All series of one name."""

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
        """The series of one more thread that writes."""
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
    """One series of a number that grows, for counters that every pod moves."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self) -> None:
        self.value += 1


class TallyFamily(Collector):
    """All series of one name."""

    def __init__(self, name: str, text: str, labels: Sequence[str]) -> None:
        self._name = name
        self._text = text
        self._labels = tuple(labels)
        self._writers: list[Children[Tally]] = []

    def children(self) -> Children[Tally]:
        """The series of one more thread that writes."""
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
    return text


# -- declared ----------------------------------------------------------------------------------------------------------


class MetricSet:
    """Some metrics of a registry. Those with labels are `Children`: `metrics.attempts["scheduled", profile].inc()`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry

    def counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self.registry)

    def counters(self, name: str, text: str, *labels: str) -> Children[Counter]:
        counter = Counter(name, text, labels, registry=self.registry)
        return Children(name, labels, lambda values: counter.labels(*values))

    def tallies(self, name: str, text: str, *labels: str) -> Children[Tally]:
        """Counters for one thread; `tally_family` where more than one counts."""
        return self.tally_family(name, text, *labels).children()

    def tally_family(self, name: str, text: str, *labels: str) -> TallyFamily:
        family = TallyFamily(name, text, labels)
        self.registry.register(family)
        return family

    def gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self.registry)

    def gauges(self, name: str, text: str, *labels: str) -> Children[Gauge]:
        gauge = Gauge(name, text, labels, registry=self.registry)
        return Children(name, labels, lambda values: gauge.labels(*values))

    def histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return self.histograms(name, text, buckets)[()]

    def histograms(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Children[Histogram]:
        """Histograms for one thread; `histogram_family` where more than one observes."""
        return self.histogram_family(name, text, buckets, *labels).children()

    def histogram_family(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> HistogramFamily:
        family = HistogramFamily(name, text, buckets, labels)
        self.registry.register(family)
        return family


# -- text for Prometheus -----------------------------------------------------------------------------------------------


def texts_of(registry: CollectorRegistry) -> Iterator[bytes]:
    """The metrics of a registry as text, a family at a time."""
    for family in WithoutCreationTimes(registry).collect():
        yield generate_latest(_OneFamily(family))


class WithoutCreationTimes(Collector):
    """Prometheus' client adds when each counter was created, as series of their own; upstream does not have these."""

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
