# SPDX-License-Identifier: Apache-2.0
"""Benchmarks in scheduler_perf's format: workload files in, pods per second and latencies out.

    cases = load("performance-config.yaml")
    for selected in select(cases, ["SchedulingBasic/500Nodes"]):
        outcome = run(prepare(selected, BenchOptions(seed=1)))

The whole scheduler assembly runs in real time, on the embedded cluster or on a real API server. `steersman bench` uses
nothing else.
"""

from steersman.perf.host import WorkloadError
from steersman.perf.measurement import Measurement
from steersman.perf.outcomes import ThresholdComparison, WorkloadOutcome, WorkloadVerdict, write_data_items
from steersman.perf.preparation import BenchOptions, Prepared, prepare
from steersman.perf.workload_files import Selected, TestCase, Workload, load, select
from steersman.perf.workload_run import WorkloadProgress, run

__all__ = [
    "BenchOptions",
    "Measurement",
    "Prepared",
    "Selected",
    "TestCase",
    "ThresholdComparison",
    "Workload",
    "WorkloadError",
    "WorkloadOutcome",
    "WorkloadProgress",
    "WorkloadVerdict",
    "load",
    "prepare",
    "run",
    "select",
    "write_data_items",
]
