# SPDX-License-Identifier: Apache-2.0
"""Measurements of a part of a workload: throughput, latencies, CPU time, memory.

`workload_executor` creates a `Collection` where an operation starts collecting metrics and ends it
with `finish`. Latencies are the difference between two `Reading`s of the host's histograms
(`FineMetrics`), at the beginning and the end.
"""

from __future__ import annotations

import asyncio
import gc
import math
import resource
import statistics
import sys
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from steersman import api
from steersman.kube.observe import Children, Histogram
from steersman.testing.bench.host import BOUNDS, FineMetrics, Host, matches

PERCENTILES: Final = (50, 90, 95, 99)


class Measurement(msgspec.Struct, frozen=True):
    """Figures of one operation or collection."""

    name: str
    throughput: Throughput
    latencies: tuple[Latency, ...]
    #: CPU time of the whole process: pod creators, cluster and scheduler.
    cpu_seconds: float
    #: Duration of the collection.
    seconds: float
    memory: Memory

    @property
    def cpu_ms_per_pod(self) -> float:
        return 1000 * self.cpu_seconds / self.throughput.pods if self.throughput.pods else 0.0


class Collection:
    """A running collection of metrics, which counts the pods of some namespaces that get a node."""

    def __init__(
        self,
        host: Host,
        name: str,
        namespaces: Iterable[str],
        selector: Mapping[str, str],
        metrics: Mapping[str, object] | None = None,
    ) -> None:
        self._host = host
        self._name = name
        self._namespaces = frozenset(namespaces)
        self._selector = selector
        self._metrics = metrics
        self._moments: list[float] = []
        # Excludes existing objects, and their collection, from the measurement.
        gc.collect()
        gc.freeze()
        self._memory = [resident_mib()]
        self._stop = host.cluster.listen(self._on_pod)
        self._before = Reading(host.metrics, metrics)
        self._cpu = time.process_time()
        self._start = time.perf_counter()

    async def sample_memory(self) -> None:
        """Record the memory of this process every `SAMPLE_SECONDS` until cancelled."""
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            self._memory.append(resident_mib())

    def finish(self) -> Measurement:
        seconds, cpu = time.perf_counter() - self._start, time.process_time() - self._cpu
        self._stop()
        self._memory.append(resident_mib())
        gc.unfreeze()
        return Measurement(
            self._name,
            throughput(self._start, self._moments),
            tuple(Reading(self._host.metrics, self._metrics).since(self._before)),
            cpu,
            seconds,
            Memory(tuple(self._memory)),
        )

    def _on_pod(self, old: api.Pod | None, new: api.Pod | None) -> None:
        if new is None or not new.spec.node_name or (old is not None and old.spec.node_name):
            return
        if new.metadata.namespace in self._namespaces and matches(new, self._selector):
            self._moments.append(time.perf_counter())


# -- throughput --------------------------------------------------------------------------------------------------------

INTERVAL_SECONDS: Final = 1.0
MIN_INTERVALS: Final = 10
_ROUNDING: Final = 1e-6
"""Share of an interval that rounding errors may amount to: its end belongs to it."""


class Throughput(msgspec.Struct, frozen=True):
    """Pods per second of one measurement."""

    pods: int
    #: Time until the last pod had its node.
    seconds: float
    average: float
    percentiles: dict[int, float]


def throughput(start: float, moments: Sequence[float]) -> Throughput:
    """Return the rate at which pods got a node: average, and percentiles over intervals.

    `moments` are ascending and in seconds on the scale of `start`. As upstream, intervals without
    pods are counted with the next non-empty one. Unlike upstream, the average is all pods by all
    the time, and a run of less than ten seconds is divided into intervals of less than a second.
    """
    if not moments:
        return Throughput(0, 0.0, 0.0, {})
    seconds = max(moments[-1] - start, 1e-9)
    rates = sorted(_rates(start, moments, min(INTERVAL_SECONDS, seconds / MIN_INTERVALS)))
    return Throughput(len(moments), seconds, len(moments) / seconds, {p: percentile(rates, p) for p in PERCENTILES})


def percentile(ascending: Sequence[float], percent: int) -> float:
    """Return the smallest value that `percent` of the values do not exceed."""
    return ascending[math.ceil(len(ascending) * percent / 100) - 1]


def _rates(start: float, moments: Sequence[float], interval: float) -> list[float]:
    """Return the pods per second of every whole interval; the rest at the end is dropped."""
    intervals = max(1, math.floor((moments[-1] - start) / interval + _ROUNDING))
    counts = [0] * intervals
    for moment in moments:
        place = math.ceil((moment - start) / interval - _ROUNDING) - 1
        if place < intervals:
            counts[max(place, 0)] += 1
    rates: list[float] = []
    empty = 0
    for count in counts:
        if count == 0:
            empty += 1
            continue
        rates += [count / (interval * (empty + 1))] * (empty + 1)
        empty = 0
    return rates


# -- memory ------------------------------------------------------------------------------------------------------------

SAMPLE_SECONDS: Final = 0.5
_MIB: Final = 1024 * 1024
_STATM: Final = Path("/proc/self/statm")


class Memory(msgspec.Struct, frozen=True):
    """Resident memory in MiB."""

    samples: tuple[float, ...]

    @property
    def steady(self) -> float:
        return statistics.median(self.samples)

    @property
    def peak(self) -> float:
        return max(self.samples)


def resident_mib() -> float:
    """Return the resident memory of this process, or its maximum where /proc is missing."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / _MIB if sys.platform == "darwin" else most / 1024
    return pages * resource.getpagesize() / _MIB


# -- latencies ---------------------------------------------------------------------------------------------------------

_TAKEN_TOGETHER: Final = ("profile", "status", "attempts", "hint")
"""Labels that are aggregated."""

Labels: TypeAlias = tuple[tuple[str, str], ...]


class Latency(msgspec.Struct, frozen=True):
    """Latency of one series in milliseconds."""

    metric: str
    labels: dict[str, str]
    observations: int
    average: float
    #: Percentile → value, in ascending order.
    percentiles: dict[int, float]


class Reading:
    """Contents of the scheduler's histograms at one time."""

    def __init__(self, metrics: FineMetrics, wanted: Mapping[str, object] | None = None) -> None:
        """Read the histograms; only those named in `wanted` unless it is None."""
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
        """Return the latencies between two readings per metric and label set, aggregated."""
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
    """Return counts and sums by the labels that are not aggregated."""
    groups: dict[Labels, tuple[list[int], float]] = {}
    for values, series in family.items():
        pairs = zip(family.labels, values, strict=True)
        labels = tuple((label, value) for label, value in pairs if label not in _TAKEN_TOGETHER)
        counts, total = groups.get(labels, ([0] * len(series.counts), 0.0))
        groups[labels] = [a + b for a, b in zip(counts, series.counts, strict=True)], total + series.total
    return groups


def quantile(share: float, counts: Sequence[int]) -> float:
    """Return the quantile in seconds as Prometheus estimates it: linear within a bucket, and the
    highest bound for larger values."""
    cumulative = list(accumulate(counts))
    rank = share * cumulative[-1]
    bucket = bisect_left(cumulative, rank)
    if bucket >= len(BOUNDS):
        return BOUNDS[-1]
    lower = BOUNDS[bucket - 1] if bucket else 0.0
    below = cumulative[bucket - 1] if bucket else 0
    return lower + (BOUNDS[bucket] - lower) * (rank - below) / counts[bucket]
