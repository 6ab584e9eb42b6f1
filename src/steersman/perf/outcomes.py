"""What became of a workload: measured, failed, or not possible here; and how it compares with its threshold."""

from __future__ import annotations

import enum

import msgspec

from steersman.perf.collecting import Measurement
from steersman.perf.workload_files import THROUGHPUT, MetricSelector


class Verdict(enum.StrEnum):
    MEASURED = "measured"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"


class Comparison(msgspec.Struct, frozen=True):
    """A measured value and the threshold that the file has for it."""

    value: float
    threshold: float
    expect_lower: bool = False

    @property
    def ratio(self) -> float:
        """How many times as good as required; more is better."""
        if self.expect_lower:
            return self.threshold / self.value if self.value else float("inf")
        return self.value / self.threshold


class Outcome(msgspec.Struct, frozen=True):
    """Of one workload."""

    topic: str
    test_case: str
    workload: str
    verdict: Verdict
    #: Why it failed, or cannot be run.
    reason: str = ""
    measurements: tuple[Measurement, ...] = ()
    threshold: float = 0.0
    threshold_metric: MetricSelector = MetricSelector()
    #: What the reader should know: gates that could not be set, evaluations that were compared.
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.test_case}/{self.workload}"

    def compared(self, measurement: Measurement) -> Comparison | None:
        """None where the file has no threshold, or nothing that it is about was measured."""
        value = _value(measurement, self.threshold_metric)
        if not self.threshold or value is None:
            return None
        return Comparison(value, self.threshold, self.threshold_metric.expect_lower)


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
