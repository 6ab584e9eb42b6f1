"""Benchmarks in scheduler_perf's format: workload files in, pods per second and latencies out.

    cases = load("performance-config.yaml")
    for selected in select(cases, ["SchedulingBasic/500Nodes"]):
        outcome = run(selected, BenchOptions(seed=1))

The whole scheduler assembly runs in real time on the embedded cluster. `steersman bench` uses nothing else.
"""

from steersman.perf.collecting import Measurement
from steersman.perf.outcomes import Comparison, Outcome, Verdict
from steersman.perf.selection import Selected, select
from steersman.perf.waiting import WorkloadError
from steersman.perf.workload_files import TestCase, Workload, load
from steersman.perf.workloads import BenchOptions, Progress, run

__all__ = [
    "BenchOptions",
    "Comparison",
    "Measurement",
    "Outcome",
    "Progress",
    "Selected",
    "TestCase",
    "Verdict",
    "Workload",
    "WorkloadError",
    "load",
    "run",
    "select",
]
