# SPDX-License-Identifier: Apache-2.0
"""Outcomes of workloads (measured, failed, unsupported), threshold comparisons, and JSON.

The JSON is the format of upstream's performance dashboard: data items with buckets, a unit and
labels, one file per topic, with upstream's file names.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from steersman.base import InputError
from steersman.testing.bench.measurement import PERCENTILES, Measurement, percentile
from steersman.testing.bench.workload_files import THROUGHPUT, MetricSelector


class WorkloadVerdict(enum.StrEnum):
    """Verdict on a workload: measured, failed, or not supported."""

    MEASURED = "measured"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"


class ThresholdComparison(msgspec.Struct, frozen=True):
    """A measured value and its threshold from the file."""

    value: float
    threshold: float
    expect_lower: bool = False

    @property
    def ratio(self) -> float:
        """Ratio of value and threshold; at least 1 if the threshold is met."""
        if self.expect_lower:
            return self.threshold / self.value if self.value else float("inf")
        return self.value / self.threshold


class WorkloadOutcome(msgspec.Struct, frozen=True):
    """Verdict and measurements of one workload."""

    topic: str
    test_case: str
    workload: str
    verdict: WorkloadVerdict
    #: Why it failed or is not supported.
    reason: str = ""
    measurements: tuple[Measurement, ...] = ()
    threshold: float = 0.0
    threshold_metric: MetricSelector = MetricSelector()
    #: Notes for the reader, such as gates that could not be set.
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.test_case}/{self.workload}"

    def compared(self, measurement: Measurement) -> ThresholdComparison | None:
        """Compare a measurement with its threshold; None if there is none or no such metric."""
        value = _value(measurement, self.threshold_metric)
        if not self.threshold or value is None:
            return None
        return ThresholdComparison(value, self.threshold, self.threshold_metric.expect_lower)


def _value(measurement: Measurement, selector: MetricSelector) -> float | None:
    if selector.name == THROUGHPUT:
        return _bucket(measurement.throughput.average, measurement.throughput.percentiles, selector.data_bucket)
    for latency in measurement.latencies:
        if latency.metric == selector.name and selector.labels.items() <= latency.labels.items():
            return _bucket(latency.average, latency.percentiles, selector.data_bucket)
    return None


def _bucket(average: float, percentiles: dict[int, float], name: str) -> float | None:
    if name == "Average":
        return average
    return next((value for percent, value in percentiles.items() if name == f"Perc{percent}"), None)


# -- data items --------------------------------------------------------------------------------------------------------

PREFIX: Final = "BenchmarkPerfScheduling"
NOT_APPLICABLE: Final = "not applicable"
_DATE: Final = "%Y-%m-%dT%H:%M:%SZ"


class DataItem(msgspec.Struct, frozen=True):
    data: dict[str, float]
    unit: str
    labels: dict[str, str]


class DataItems(msgspec.Struct, frozen=True, rename="camel"):
    version: str
    data_items: tuple[DataItem, ...]


def data_items(outcomes: Iterable[WorkloadOutcome]) -> DataItems:
    """Return the data items of all measurements, each with all labels."""
    items = [item for outcome in outcomes for m in outcome.measurements for item in _items(outcome, m)]
    labels = dict.fromkeys(label for item in items for label in item.labels)
    complete = [
        DataItem(item.data, item.unit, {label: item.labels.get(label, NOT_APPLICABLE) for label in labels})
        for item in items
    ]
    return DataItems("v1", tuple(complete))


def write_data_items(outcomes: Iterable[WorkloadOutcome], folder: str, now: float) -> list[str]:
    """Write a file per topic, named with the time, into the folder; return the paths."""
    by_topic: dict[str, list[WorkloadOutcome]] = {}
    for outcome in outcomes:
        by_topic.setdefault(outcome.topic, []).append(outcome)
    date = time.strftime(_DATE, time.gmtime(now))
    files: list[str] = []
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for topic, some in by_topic.items():
            file = Path(folder) / f"{PREFIX}_benchmark_{topic}_{date}.json"
            file.write_bytes(msgspec.json.format(msgspec.json.encode(data_items(some)), indent=2) + b"\n")
            files.append(str(file))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder) from error
    return files


def _items(outcome: WorkloadOutcome, measurement: Measurement) -> Iterable[DataItem]:
    name = f"{PREFIX}/{outcome.name}/{measurement.name}"
    for item in _measured(measurement, name):
        yield _with_threshold(item, outcome)


def _measured(measurement: Measurement, name: str) -> Iterable[DataItem]:
    rates = measurement.throughput
    if rates.pods:
        yield _item(name, THROUGHPUT, "pods/s", _buckets(rates.average, rates.percentiles))
    for latency in measurement.latencies:
        buckets = _buckets(latency.average, latency.percentiles)
        yield _item(name, latency.metric, "ms", buckets, latency.labels)
    yield _item(name, "resident_memory_usage", "MB", _memory(measurement))
    yield _item(name, "cpu_per_pod", "ms", {"Average": measurement.cpu_ms_per_pod})
    yield _item(name, "SchedulingDuration", "s", {"Duration": measurement.seconds})


def _item(
    name: str, metric: str, unit: str, data: dict[str, float], labels: Mapping[str, str] | None = None
) -> DataItem:
    return DataItem(data, unit, {"Name": name, "Metric": metric, **(labels or {})})


def _buckets(average: float, percentiles: Mapping[int, float]) -> dict[str, float]:
    return {"Average": average, **{f"Perc{percent}": value for percent, value in percentiles.items()}}


def _memory(measurement: Measurement) -> dict[str, float]:
    samples = sorted(measurement.memory.samples)
    percentiles = {percent: percentile(samples, percent) for percent in PERCENTILES}
    return {**_buckets(sum(samples) / len(samples), percentiles), "Max": samples[-1]}


def _with_threshold(item: DataItem, outcome: WorkloadOutcome) -> DataItem:
    selector = outcome.threshold_metric
    is_meant = item.labels["Metric"] == selector.name and selector.labels.items() <= item.labels.items()
    if not outcome.threshold or not is_meant:
        return item
    return DataItem({**item.data, f"{selector.data_bucket}Threshold": outcome.threshold}, item.unit, item.labels)
