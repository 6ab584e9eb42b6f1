# SPDX-License-Identifier: Apache-2.0
"""Benchmarks in scheduler_perf's format: workload files in, pods per second and latencies out.

    cases = load("performance-config.yaml")
    for selected in select(cases, ["SchedulingBasic/500Nodes"]):
        outcome = run(prepare(selected, BenchOptions(seed=1)))

The whole scheduler runs in real time, on the embedded cluster or on a real API server, as in
`steersman bench`.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "host": "WorkloadError",
        "measurement": "Measurement",
        "outcomes": "ThresholdComparison WorkloadOutcome WorkloadVerdict write_data_items",
        "preparation": "BenchOptions Prepared prepare",
        "report": "bench_report",
        "workload_files": "Selected TestCase Workload load select",
        "workload_run": "OnProgress WorkloadProgress run",
    },
)
