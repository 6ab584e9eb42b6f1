"""Benchmarks in scheduler_perf's format: workload files in, pods per second and latencies out.

    cases = load("performance-config.yaml")
    for selected in select(cases, ["SchedulingBasic/500Nodes"]):
        outcome = run(prepare(selected, BenchOptions(seed=1)))

The whole scheduler assembly runs in real time, on the embedded cluster or on a real API server. `steersman bench` uses
nothing else.
"""

from steersman.perf.collecting import Measurement
from steersman.perf.outcomes import Comparison, Outcome, Verdict
from steersman.perf.preparing import BenchOptions, Prepared, prepare
from steersman.perf.selection import Selected, select
from steersman.perf.waiting import WorkloadError
from steersman.perf.workload_files import TestCase, Workload, load
from steersman.perf.workloads import Progress, run

__all__ = [
    "BenchOptions",
    "Comparison",
    "Measurement",
    "Outcome",
    "Prepared",
    "Progress",
    "Selected",
    "TestCase",
    "Verdict",
    "Workload",
    "WorkloadError",
    "load",
    "prepare",
    "run",
    "select",
]
