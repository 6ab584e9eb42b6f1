# SPDX-License-Identifier: Apache-2.0
"""The report of benchmarks."""

from __future__ import annotations

import pytest

from steersman.base.report import BarChart, Table
from steersman.testing.bench import Measurement, WorkloadOutcome, WorkloadVerdict
from steersman.testing.bench.measurement import Latency, Memory, Throughput
from steersman.testing.bench.report import bench_report

ATTEMPT = "scheduler_scheduling_attempt_duration_seconds"


def measured(name: str, rate: float, threshold: float = 0.0) -> WorkloadOutcome:
    percentiles = {50: 1.0, 90: 2.0, 95: 3.0, 99: 4.0}
    latency = Latency(ATTEMPT, {"result": "scheduled"}, 100, 1.5, percentiles)
    measurement = Measurement(
        "m", Throughput(100, 100 / rate, rate, percentiles), (latency,), 1.0, 1.0, Memory((10.0, 30.0))
    )
    return WorkloadOutcome(
        "topic", "Case", name, WorkloadVerdict.MEASURED, "", (measurement,), threshold, notes=("a note",)
    )


FAILED = WorkloadOutcome("topic", "Case", "broken", WorkloadVerdict.FAILED, "no node fits")


@pytest.mark.parametrize(
    ("outcomes", "answer", "fits"),
    [
        ([measured("a", 500)], "500 pods per second over 1 measurement.", None),
        (
            [measured("a", 500, 100), measured("b", 2000, 4000)],
            "500 to 2,000 pods per second over 2 measurements; 1 of 2 thresholds are reached.",
            False,
        ),
        ([measured("a", 500, 100)], "500 pods per second over 1 measurement; 1 of 1 thresholds are reached.", True),
        ([measured("a", 500), FAILED], "500 pods per second over 1 measurement; 1 workload failed.", False),
        ([], "Nothing was measured.", None),
    ],
)
def test_the_answer_is_the_speed_and_what_became_of_thresholds(
    outcomes: list[WorkloadOutcome], answer: str, fits: bool | None
) -> None:
    report = bench_report(outcomes)
    assert (report.answer, report.fits) == (answer, fits)


def test_throughput_ratio_and_latencies_have_a_bar_per_workload() -> None:
    report = bench_report([measured("a", 500, 100), measured("b", 2000)], ["steersman bench file"])
    bars = {section.title: section for section in report.sections if isinstance(section, BarChart)}
    assert bars["Throughput"].series == {"average": [500, 2000]}
    assert (bars["Times the threshold"].categories, bars["Times the threshold"].series) == (["Case/a"], {"ratio": [5]})
    assert bars["Duration of attempts that placed a pod"].series["p99"] == [4.0, 4.0]
    assert bars["Resident memory"].series["peak"] == [30.0, 30.0]
    assert report.notes == ["a note"]


def test_what_was_not_measured_is_in_a_table_with_the_reason() -> None:
    tables = {section.title: section for section in bench_report([FAILED]).sections if isinstance(section, Table)}
    assert tables["Not measured"].rows == [("Case/broken", "failed", "no node fits")]
