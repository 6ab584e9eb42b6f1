# SPDX-License-Identifier: Apache-2.0
"""The results of a race as text: one table of throughput and start, one of how long pods waited that came one by one.

Every figure is the median of the rounds; a ratio is to kube-scheduler's figure.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from benchmarks.race.racing import Reception, Result

R = TypeVar("R", Result, Reception)
#: What was measured, by workload and scheduler, round by round.
Results = Mapping[tuple[str, str], Sequence[Result]]
Receptions = Mapping[tuple[str, str], Sequence[Reception]]
REFERENCE: Final = "kube-scheduler"
WAITS: Final = "pods that come while it runs: ms from the last pod of a group to its last binding"


def throughput_table(results: Results) -> Iterator[str]:
    """Lines about pods that waited for the scheduler to start."""
    figures = f"{'pods/s':>7} {'CPU ms/pod':>10} {'start s':>7} {'CPU s':>6} {'MB':>4}"
    yield f"{'workload':18} {'scheduler':14} {figures} {'pods/s':>7} {'CPU':>6} {'start':>6}"
    for name, scheduler in in_order(results):
        runs = results[name, scheduler]
        rate, cpu, start = (median(runs, figure) for figure in (_rate, _cpu, _start))
        start_cpu, memory = median(runs, lambda run: run.start_cpu), median(runs, lambda run: run.memory)
        ratios = _ratios(results.get((name, REFERENCE)), runs, (_rate, _cpu, _start), (7, 6, 6))
        yield (
            f"{name:18} {scheduler:14} {rate:7.0f} {cpu * 1e3:10.2f} {start:7.2f} {start_cpu:6.2f} {memory / 1e6:4.0f} {ratios}"
        ).rstrip()


def wait_table(receptions: Receptions) -> Iterator[str]:
    """Lines about pods that came while the scheduler ran."""
    yield WAITS
    yield f"{'arrivals':18} {'scheduler':14} {'p50':>8} {'p99':>8} {'CPU ms/pod':>10} {'p50':>7} {'p99':>7} {'CPU':>7}"
    for name, scheduler in in_order(receptions):
        runs = receptions[name, scheduler]
        half, most, cpu = (median(runs, figure) for figure in (_half, _most, _cpu))
        ratios = _ratios(receptions.get((name, REFERENCE)), runs, (_half, _most, _cpu), (7, 7, 7))
        yield f"{name:18} {scheduler:14} {half * 1e3:8.1f} {most * 1e3:8.1f} {cpu * 1e3:10.2f} {ratios}".rstrip()


def in_order(keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Workloads as they were run, of each the reference first."""
    known = list(keys)
    workloads = list(dict.fromkeys(name for name, _ in known))
    return sorted(known, key=lambda key: (workloads.index(key[0]), key[1] != REFERENCE))


def median(runs: Sequence[R], figure: Callable[[R], float]) -> float:
    return statistics.median(figure(run) for run in runs)


def _ratios(
    reference: Sequence[R] | None, runs: Sequence[R], figures: Sequence[Callable[[R], float]], widths: Sequence[int]
) -> str:
    """ "" where the reference did not run, or is what runs."""
    if reference is None or reference is runs:
        return ""
    ratios = (median(runs, figure) / median(reference, figure) for figure in figures)
    return " ".join(f"{ratio:{width - 1}.2f}×" for ratio, width in zip(ratios, widths, strict=True))


def _rate(run: Result) -> float:
    return run.rate


def _cpu(run: Result | Reception) -> float:
    return run.cpu_per_pod


def _start(run: Result) -> float:
    return run.start


def _half(run: Reception) -> float:
    return run.wait(0.5)


def _most(run: Reception) -> float:
    return run.wait(0.99)
