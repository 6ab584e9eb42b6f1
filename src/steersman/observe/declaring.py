# SPDX-License-Identifier: Apache-2.0
"""Metrics are declared with full names on one registry: what `metrics` and `client_metrics` have in common."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from steersman.observe.children import Children
from steersman.observe.histogram import Histogram, HistogramFamily


class MetricSet:
    """Some metrics of a registry. Those with labels are `Children`: `metrics.attempts["scheduled", profile].inc()`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry

    def counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self.registry)

    def counters(self, name: str, text: str, *labels: str) -> Children[Counter]:
        counter = Counter(name, text, labels, registry=self.registry)
        return Children(name, labels, lambda values: counter.labels(*values))

    def gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self.registry)

    def gauges(self, name: str, text: str, *labels: str) -> Children[Gauge]:
        gauge = Gauge(name, text, labels, registry=self.registry)
        return Children(name, labels, lambda values: gauge.labels(*values))

    def histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return self.histograms(name, text, buckets)[()]

    def histograms(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Children[Histogram]:
        """For one thread; `histogram_family` where more than one observes."""
        return self.histogram_family(name, text, buckets, *labels).children()

    def histogram_family(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> HistogramFamily:
        family = HistogramFamily(name, text, buckets, labels)
        self.registry.register(family)
        return family
