# SPDX-License-Identifier: Apache-2.0
"""Measurements between two moments of a workload: throughput, latencies, CPU time, memory.

`workload_executor` begins a `Collection` where an operation collects metrics and ends it with `finish`. The scheduler of the
host fills histograms (`FineMetrics`); a `Reading` of them is taken at the beginning and another at the end, and the
difference is what things took in between.
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
from steersman.observe.series import Children, Histogram
from steersman.perf.host import BOUNDS, FineMetrics, Host, matches

PERCENTILES: Final = (50, 90, 95, 99)


class Measurement(msgspec.Struct, frozen=True):
    """The figures of one operation, or of the time between the beginning and the end of a collection."""

    name: str
    throughput: Throughput
    latencies: tuple[Latency, ...]
    #: Of the whole process: whoever creates pods, the cluster, the scheduler.
    cpu_seconds: float
    #: Until the end of the collection.
    seconds: float
    memory: Memory

    @property
    def cpu_ms_per_pod(self) -> float:
        return 1000 * self.cpu_seconds / self.throughput.pods if self.throughput.pods else 0.0


class Collection:
    """A collection of metrics that begins when it is made. Counts the pods of some namespaces that get a node."""

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
        # What is there by now is not garbage, and none of its collection belongs to what is measured.
        gc.collect()
        gc.freeze()
        self._memory = [resident_mib()]
        self._stop = host.cluster.listen(self._on_pod)
        self._before = Reading(host.metrics, metrics)
        self._cpu = time.process_time()
        self._start = time.perf_counter()

    async def sample_memory(self) -> None:
        """Notes the memory of this process every `SAMPLE_SECONDS`, until it is cancelled."""
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
FEWEST_INTERVALS: Final = 10
_ROUNDING: Final = 1e-6
"""As a share of an interval: a moment at its end belongs to it, whatever the last bits say."""


class Throughput(msgspec.Struct, frozen=True):
    """Pods per second of one measurement."""

    pods: int
    #: From the beginning until the last pod had its node.
    seconds: float
    average: float
    percentiles: dict[int, float]


def throughput(start: float, moments: Sequence[float]) -> Throughput:
    """The rate at which pods got a node: an average and percentiles over intervals.

    `moments`, in ascending order, and `start` are on one scale of seconds. As upstream, intervals without any pod are
    counted with the next one that has some. Unlike there, the average is all pods over all the time, and a run of less
    than ten seconds is cut into finer intervals than seconds, because a second would be most of it.
    """
    if not moments:
        return Throughput(0, 0.0, 0.0, {})
    seconds = max(moments[-1] - start, 1e-9)
    rates = sorted(_rates(start, moments, min(INTERVAL_SECONDS, seconds / FEWEST_INTERVALS)))
    return Throughput(len(moments), seconds, len(moments) / seconds, {p: percentile(rates, p) for p in PERCENTILES})


def percentile(ascending: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent do not exceed."""
    return ascending[math.ceil(len(ascending) * percent / 100) - 1]


def _rates(start: float, moments: Sequence[float], interval: float) -> list[float]:
    """Pods per second in every whole interval; what is left at the end is too short to tell."""
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
    """MiB of resident memory."""

    samples: tuple[float, ...]

    @property
    def steady(self) -> float:
        return statistics.median(self.samples)

    @property
    def peak(self) -> float:
        return max(self.samples)


def resident_mib() -> float:
    """The resident memory of this process now; where the system does not tell, the most there ever was."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / _MIB if sys.platform == "darwin" else most / 1024
    return pages * resource.getpagesize() / _MIB


# -- latencies ---------------------------------------------------------------------------------------------------------

_TAKEN_TOGETHER: Final = ("profile", "status", "attempts", "hint")
"""Series that differ in nothing but these labels are one."""

Labels: TypeAlias = tuple[tuple[str, str], ...]


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
