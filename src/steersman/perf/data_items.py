"""Measurements as upstream's performance dashboard reads them: data items with buckets, a unit and labels, as JSON.

One file per topic, named as upstream names it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from steersman.errors import InputError
from steersman.perf.collecting import Measurement
from steersman.perf.outcomes import Outcome
from steersman.perf.throughput import PERCENTILES, percentile
from steersman.perf.workload_files import THROUGHPUT

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


def data_items(outcomes: Iterable[Outcome]) -> DataItems:
    """All of them have the same labels: what does not apply to one of them says so."""
    items = [item for outcome in outcomes for m in outcome.measurements for item in _items(outcome, m)]
    labels = dict.fromkeys(label for item in items for label in item.labels)
    complete = [
        DataItem(item.data, item.unit, {label: item.labels.get(label, NOT_APPLICABLE) for label in labels})
        for item in items
    ]
    return DataItems("v1", tuple(complete))


def write(outcomes: Iterable[Outcome], folder: str, now: float) -> list[str]:
    """A file per topic in the folder, which is made if need be; their paths. `now` is the time that they are named by."""
    by_topic: dict[str, list[Outcome]] = {}
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


def _items(outcome: Outcome, measurement: Measurement) -> Iterable[DataItem]:
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


def _with_threshold(item: DataItem, outcome: Outcome) -> DataItem:
    selector = outcome.threshold_metric
    is_meant = item.labels["Metric"] == selector.name and selector.labels.items() <= item.labels.items()
    if not outcome.threshold or not is_meant:
        return item
    return DataItem({**item.data, f"{selector.data_bucket}Threshold": outcome.threshold}, item.unit, item.labels)
