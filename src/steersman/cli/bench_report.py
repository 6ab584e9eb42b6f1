# SPDX-License-Identifier: Apache-2.0
"""The report of `steersman bench`: a line per measurement, then latencies and unsupported
workloads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from steersman.base import aligned
from steersman.testing.bench import Measurement, ThresholdComparison, WorkloadOutcome, WorkloadVerdict

ATTEMPT: Final = "scheduler_scheduling_attempt_duration_seconds"
POINT: Final = "scheduler_framework_extension_point_duration_seconds"
_HEADER: Final = (
    "WORKLOAD",
    "PODS",
    "SECONDS",
    "PODS/S",
    "P50",
    "P90",
    "P95",
    "P99",
    "CPU MS/POD",
    "MIB",
    "PEAK",
    "THRESHOLD",
    "RATIO",
)


def as_table(outcomes: Sequence[WorkloadOutcome], latencies: bool, width: int | None = None) -> str:
    """Return the report in lines of `width` characters; None for no limit."""
    return "\n".join(_lines(outcomes, latencies, width))


def as_json(outcomes: Sequence[WorkloadOutcome]) -> str:
    return json.dumps([_document(outcome) for outcome in outcomes], indent=2)


def _lines(outcomes: Sequence[WorkloadOutcome], latencies: bool, width: int | None) -> Iterator[str]:
    rows = [row for outcome in outcomes for row in _rows(outcome)]
    if rows:
        yield from aligned((_HEADER, *rows), 1, width)
    if latencies:
        for outcome in outcomes:
            yield from _latency_lines(outcome, width)
    for verdict in (WorkloadVerdict.UNSUPPORTED, WorkloadVerdict.FAILED):
        some = [outcome for outcome in outcomes if outcome.verdict is verdict]
        if some:
            yield from ("", verdict.upper())
            yield from (f"{outcome.name}: {outcome.reason}" for outcome in some)
    yield from _notes(outcomes)


def _rows(outcome: WorkloadOutcome) -> Iterator[tuple[str, ...]]:
    for measurement in outcome.measurements:
        name = outcome.name if len(outcome.measurements) == 1 else f"{outcome.name}/{measurement.name}"
        rates, memory = measurement.throughput, measurement.memory
        yield (
            name,
            str(rates.pods),
            f"{rates.seconds:.2f}",
            f"{rates.average:.0f}",
            *(f"{rates.percentiles.get(percent, 0):.0f}" for percent in (50, 90, 95, 99)),
            f"{measurement.cpu_ms_per_pod:.3f}",
            f"{memory.steady:.0f}",
            f"{memory.peak:.0f}",
            *_compared(outcome.compared(measurement)),
        )


def _compared(comparison: ThresholdComparison | None) -> tuple[str, str]:
    return ("", "") if comparison is None else (f"{comparison.threshold:g}", f"{comparison.ratio:.1f}×")


def _latency_lines(outcome: WorkloadOutcome, width: int | None) -> Iterator[str]:
    for measurement in outcome.measurements:
        rows = [("", "NUMBER", "AVERAGE", "P50", "P90", "P99"), *_latency_rows(measurement)]
        if len(rows) > 1:
            yield from ("", f"{outcome.name}, ms")
            yield from aligned(rows, 1, width)


def _latency_rows(measurement: Measurement) -> Iterator[tuple[str, ...]]:
    for latency in measurement.latencies:
        if latency.metric == ATTEMPT:
            name = f"attempt, {latency.labels['result']}"
        elif latency.metric == POINT:
            name = latency.labels["extension_point"]
        else:
            continue
        values = (latency.average, *(latency.percentiles[percent] for percent in (50, 90, 99)))
        yield (name, str(latency.observations), *(f"{value:.3f}" for value in values))


def _notes(outcomes: Iterable[WorkloadOutcome]) -> Iterator[str]:
    """Yield each distinct note once, with its workloads if these are few."""
    names: dict[str, list[str]] = {}
    for outcome in outcomes:
        for note in outcome.notes:
            names.setdefault(note, []).append(outcome.name)
    for note, about in names.items():
        yield f"Note: {note} ({about[0] if len(about) == 1 else f'{len(about)} workloads'})"


def _document(outcome: WorkloadOutcome) -> dict[str, Any]:
    return {
        "topic": outcome.topic,
        "testCase": outcome.test_case,
        "workload": outcome.workload,
        "verdict": outcome.verdict.value,
        **({"reason": outcome.reason} if outcome.reason else {}),
        "measurements": [_measurement_document(outcome, measurement) for measurement in outcome.measurements],
        "notes": list(outcome.notes),
    }


def _measurement_document(outcome: WorkloadOutcome, measurement: Measurement) -> dict[str, Any]:
    rates, comparison = measurement.throughput, outcome.compared(measurement)
    document: dict[str, Any] = {
        "name": measurement.name,
        "pods": rates.pods,
        "seconds": rates.seconds,
        "podsPerSecond": {"average": rates.average, **_percentiles(rates.percentiles)},
        "cpuMsPerPod": measurement.cpu_ms_per_pod,
        "memoryMiB": {"steady": measurement.memory.steady, "peak": measurement.memory.peak},
        "latenciesMs": [
            {
                "metric": latency.metric,
                "labels": latency.labels,
                "observations": latency.observations,
                "average": latency.average,
                **_percentiles(latency.percentiles),
            }
            for latency in measurement.latencies
        ],
    }
    if comparison is not None:
        document |= {"threshold": comparison.threshold, "ratio": comparison.ratio}
    return document


def _percentiles(values: dict[int, float]) -> dict[str, float]:
    return {f"perc{percent}": value for percent, value in values.items()}
