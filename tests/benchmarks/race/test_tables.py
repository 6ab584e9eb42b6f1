# SPDX-License-Identifier: Apache-2.0
"""The tables of a race: medians of the rounds, and ratios to kube-scheduler."""

from __future__ import annotations

from benchmarks.race.racing import Reception, Result
from benchmarks.race.tables import in_order, throughput_table, wait_table

UPSTREAM, OURS = ("basic", "kube-scheduler"), ("basic", "Steersman")


def result(seconds: float, cpu: float = 1.0, start: float = 0.5) -> Result:
    return Result(pods=100, seconds=seconds, cpu=cpu, start=start, start_cpu=0.75, memory=150_000_000)


def reception(*waits: float, cpu: float = 1.0) -> Reception:
    return Reception(pods=100, waits=waits, cpu=cpu, memory=150_000_000)


def test_a_row_has_the_medians_of_its_rounds() -> None:
    header, row = throughput_table({OURS: [result(1.0), result(2.0, start=0.25), result(4.0)]})
    assert row.split() == ["basic", "Steersman", "50", "10.00", "0.50", "0.75", "150"]
    assert header.split()[:3] == ["workload", "scheduler", "pods/s"]


def test_ratios_are_to_the_figures_of_kube_scheduler() -> None:
    results = {OURS: [result(1.0, cpu=0.5, start=1.5)], UPSTREAM: [result(4.0, cpu=2.0, start=0.5)]}
    _, reference, ours = throughput_table(results)
    assert reference.split()[1] == "kube-scheduler"
    assert reference.endswith("150"), "no ratio to itself"
    assert ours.split()[-3:] == ["4.00×", "0.25×", "3.00×"]


def test_waiting_is_shown_as_the_middle_and_the_99th_percentile() -> None:
    waits = [number / 1000 for number in range(1, 101)]
    *_, row = wait_table({("steady 50/s", "Steersman"): [reception(*waits)]})
    assert row.split() == ["steady", "50/s", "Steersman", "50.0", "99.0", "10.00"]


def test_ratios_of_waiting_are_to_kube_scheduler_too() -> None:
    *_, row = wait_table({UPSTREAM: [reception(0.004, 0.004)], OURS: [reception(0.002, 0.002, cpu=0.25)]})
    assert row.split()[-3:] == ["0.50×", "0.50×", "0.25×"]


def test_lines_fit_into_a_terminal_of_a_hundred_columns() -> None:
    results = {UPSTREAM: [result(1.0)], OURS: [result(100.0, cpu=1000.0, start=100.0)]}
    receptions = {UPSTREAM: [reception(0.004)], OURS: [reception(10.0)]}
    assert max(len(line) for line in (*throughput_table(results), *wait_table(receptions))) <= 100


def test_workloads_stay_in_order_and_the_reference_comes_first() -> None:
    keys = [("b", "Steersman"), ("b", "kube-scheduler"), ("a", "kube-scheduler"), ("a", "Steersman")]
    assert in_order(keys) == [("b", "kube-scheduler"), ("b", "Steersman"), ("a", "kube-scheduler"), ("a", "Steersman")]
