# SPDX-License-Identifier: Apache-2.0
"""Report of benchmarks: throughput and thresholds, latencies of extension points, memory.

Turns outcomes into a `steersman.base.report.Report`, which `render_html` renders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steersman.base.report import BarChart, Cell, Column, Figures, Report, Section, Table
from steersman.testing.bench.measurement import PERCENTILES, Latency, Measurement
from steersman.testing.bench.outcomes import WorkloadOutcome, WorkloadVerdict

_ATTEMPT: Final = "scheduler_scheduling_attempt_duration_seconds"
_Named = tuple[str, WorkloadOutcome, Measurement]


def bench_report(outcomes: Sequence[WorkloadOutcome], commands: Sequence[str] = ()) -> Report:
    """Return a report of all outcomes, including failed and unsupported ones."""
    return Report(
        title="Benchmark",
        question="How fast is the scheduler on these workloads?",
        answer=_answer(outcomes),
        fits=_is_as_fast_as_required(outcomes),
        sections=list(_sections(outcomes)),
        commands=commands,
        notes=list(dict.fromkeys(note for outcome in outcomes for note in outcome.notes)),
    )


def _answer(outcomes: Sequence[WorkloadOutcome]) -> str:
    measured = _measured(outcomes)
    if not measured:
        return "Nothing was measured."
    rates = [measurement.throughput.average for _, _, measurement in measured]
    speed = f"{rates[0]:,.0f}" if len(rates) == 1 else f"{min(rates):,.0f} to {max(rates):,.0f}"
    ratios = _ratios(outcomes)
    thresholds = f"; {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} thresholds are reached" if ratios else ""
    return f"{speed} pods per second over {_count(len(measured), 'measurement')}{thresholds}{_failures(outcomes)}."


def _failures(outcomes: Sequence[WorkloadOutcome]) -> str:
    failed = sum(outcome.verdict is WorkloadVerdict.FAILED for outcome in outcomes)
    return f"; {_count(failed, 'workload')} failed" if failed else ""


def _is_as_fast_as_required(outcomes: Sequence[WorkloadOutcome]) -> bool | None:
    """Return whether all thresholds are met; None if there are none."""
    if any(outcome.verdict is WorkloadVerdict.FAILED for outcome in outcomes):
        return False
    ratios = _ratios(outcomes)
    return all(ratio >= 1 for ratio in ratios) if ratios else None


def _ratios(outcomes: Sequence[WorkloadOutcome]) -> list[float]:
    compared = (outcome.compared(measurement) for _, outcome, measurement in _measured(outcomes))
    return [comparison.ratio for comparison in compared if comparison is not None]


def _measured(outcomes: Sequence[WorkloadOutcome]) -> list[_Named]:
    """Return every measurement with a unique name of workload and, if needed, collection."""
    return [
        (outcome.name if len(outcome.measurements) == 1 else f"{outcome.name}/{measurement.name}", outcome, measurement)
        for outcome in outcomes
        for measurement in outcome.measurements
    ]


# -- sections ------------------------------------------------------------------------------------------------------------------


def _sections(outcomes: Sequence[WorkloadOutcome]) -> Iterator[Section]:
    measured = _measured(outcomes)
    verdicts = [outcome.verdict for outcome in outcomes]
    counts: dict[str, Cell] = {verdict.value: verdicts.count(verdict) for verdict in WorkloadVerdict}
    yield Figures("Workloads", counts)
    if measured:
        yield from _charts(measured)
        yield _measurements(measured)
        yield _latencies(measured)
    others = [(outcome.name, outcome.verdict.value, outcome.reason) for outcome in outcomes if outcome.reason]
    if others:
        yield Table("Not measured", ["workload", "verdict", "why"], others)


def _charts(measured: Sequence[_Named]) -> Iterator[Section]:
    names = [name for name, _, _ in measured]
    rates = [measurement.throughput.average for _, _, measurement in measured]
    yield BarChart("Throughput", names, {"average": rates}, "pods per second")
    compared = [(name, outcome.compared(measurement)) for name, outcome, measurement in measured]
    known = [(name, comparison.ratio) for name, comparison in compared if comparison is not None]
    if known:
        caption = "1 is what the workload file requires; more is better."
        ratios = {"ratio": [ratio for _, ratio in known]}
        yield BarChart("Times the threshold", [name for name, _ in known], ratios, "times", caption=caption)
    attempts = [[_attempt(measurement, percent) for _, _, measurement in measured] for percent in PERCENTILES]
    series = {f"p{percent}": values for percent, values in zip(PERCENTILES, attempts, strict=True)}
    yield BarChart("Duration of attempts that placed a pod", names, series, "ms")
    memory = {"steady": [measurement.memory.steady for _, _, measurement in measured]}
    memory["peak"] = [measurement.memory.peak for _, _, measurement in measured]
    yield BarChart("Resident memory", names, memory, "MiB")


def _attempt(measurement: Measurement, percent: int) -> float | None:
    for latency in measurement.latencies:
        if latency.metric == _ATTEMPT and latency.labels.get("result") == "scheduled":
            return latency.percentiles.get(percent)
    return None


def _measurements(measured: Sequence[_Named]) -> Table:
    percentiles = [Column(f"p{percent}", "pods/s") for percent in PERCENTILES]
    columns: list[Column | str] = [
        "workload",
        "pods",
        Column("time", "s"),
        Column("throughput", "pods/s"),
        *percentiles,
    ]
    columns += [
        Column("CPU per pod", "ms"),
        Column("memory", "MiB"),
        Column("peak", "MiB"),
        "threshold",
        "ratio",
    ]
    rows = [_measurement_row(name, outcome, measurement) for name, outcome, measurement in measured]
    return Table("Measurements", columns, rows)


def _measurement_row(name: str, outcome: WorkloadOutcome, measurement: Measurement) -> tuple[Cell, ...]:
    rates, comparison = measurement.throughput, outcome.compared(measurement)
    return (
        name,
        rates.pods,
        rates.seconds,
        rates.average,
        *(rates.percentiles.get(percent) for percent in PERCENTILES),
        measurement.cpu_ms_per_pod,
        measurement.memory.steady,
        measurement.memory.peak,
        None if comparison is None else comparison.threshold,
        None if comparison is None else comparison.ratio,
    )


def _latencies(measured: Sequence[_Named]) -> Table:
    percentiles = [Column(f"p{percent}", "ms") for percent in PERCENTILES]
    rows = [_latency_row(name, latency) for name, _, measurement in measured for latency in measurement.latencies]
    columns: list[Column | str] = [
        "workload",
        "metric",
        "labels",
        "number",
        Column("average", "ms"),
        *percentiles,
    ]
    return Table("Latencies", columns, rows)


def _latency_row(name: str, latency: Latency) -> tuple[Cell, ...]:
    labels = ", ".join(f"{label}={value}" for label, value in latency.labels.items())
    values = (latency.percentiles.get(percent) for percent in PERCENTILES)
    return name, latency.metric, labels, latency.observations, latency.average, *values


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
