# SPDX-License-Identifier: Apache-2.0
"""How long things took between two moments: percentiles of the histograms that a scheduler fills.

`AttemptMetrics` writes to `FineMetrics`. `measurement` takes a `Reading` at the beginning and another at the end;
reports show the difference.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, TypeAlias

import msgspec

from steersman.observe import Metrics
from steersman.observe.metrics import exponential
from steersman.observe.series import Children, Histogram

BOUNDS: Final = exponential(1e-6, 1.1, 190)
"""Seconds, from a microsecond to a minute; two neighbours are 10 % apart."""
PERCENTILES: Final = (50, 90, 95, 99)
_TAKEN_TOGETHER: Final = ("profile", "status", "attempts", "hint")
"""Series that differ in nothing but these labels are one."""

Labels: TypeAlias = tuple[tuple[str, str], ...]


class FineMetrics(Metrics):
    """The scheduler's metrics with finer buckets of durations: kube-scheduler's begin at a millisecond, where ours end."""

    def histograms(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Children[Histogram]:
        return super().histograms(name, text, BOUNDS if name.endswith("_seconds") else buckets, *labels)


class Latency(msgspec.Struct, frozen=True):
    """Milliseconds of one series of observations."""

    metric: str
    labels: dict[str, str]
    observations: int
    average: float
    #: Percentile → value, in ascending order.
    percentiles: dict[int, float]


class Reading:
    """The contents of the scheduler's histograms at one moment."""

    def __init__(self, metrics: FineMetrics, wanted: Mapping[str, object] | None = None) -> None:
        """`wanted`: only metrics with these names."""
        families = (
            metrics.attempt_seconds,
            metrics.point_seconds,
            metrics.plugin_seconds,
            metrics.pod_seconds,
            metrics.hint_seconds,
        )
        self._families = [family for family in families if wanted is None or family.name in wanted]
        self._counts = {family.name: _grouped(family) for family in self._families}

    def since(self, earlier: Reading) -> list[Latency]:
        """Latencies observed between the two readings, one per metric and labels; profiles and statuses count together."""
        found: list[Latency] = []
        for name, series in self._counts.items():
            before = earlier._counts[name]
            for labels, (counts, total) in series.items():
                old_counts, old_total = before.get(labels, ([0] * len(counts), 0.0))
                new = [now - then for now, then in zip(counts, old_counts, strict=True)]
                if any(new):
                    found.append(_latency(name, labels, new, total - old_total))
        return found


def _latency(name: str, labels: Labels, counts: Sequence[int], seconds: float) -> Latency:
    number = sum(counts)
    percentiles = {percent: 1000 * quantile(percent / 100, counts) for percent in PERCENTILES}
    return Latency(name, dict(labels), number, 1000 * seconds / number, percentiles)


def _grouped(family: Children[Histogram]) -> dict[Labels, tuple[list[int], float]]:
    """Counts and sums by the labels that tell series apart."""
    groups: dict[Labels, tuple[list[int], float]] = {}
    for values, series in family.items():
        pairs = zip(family.labels, values, strict=True)
        labels = tuple((label, value) for label, value in pairs if label not in _TAKEN_TOGETHER)
        counts, total = groups.get(labels, ([0] * len(series.counts), 0.0))
        groups[labels] = [a + b for a, b in zip(counts, series.counts, strict=True)], total + series.total
    return groups


def quantile(share: float, counts: Sequence[int]) -> float:
    """Seconds that so large a share of the observations do not exceed, as Prometheus estimates it: evenly inside of a
    bucket. What exceeds all bounds counts as the greatest of them."""
    cumulative = list(accumulate(counts))
    rank = share * cumulative[-1]
    bucket = bisect_left(cumulative, rank)
    if bucket >= len(BOUNDS):
        return BOUNDS[-1]
    lower = BOUNDS[bucket - 1] if bucket else 0.0
    below = cumulative[bucket - 1] if bucket else 0
    return lower + (BOUNDS[bucket] - lower) * (rank - below) / counts[bucket]
