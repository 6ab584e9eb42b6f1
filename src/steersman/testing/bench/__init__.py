# SPDX-License-Identifier: Apache-2.0
"""Benchmarks in scheduler_perf's format: workload files in, pods per second and latencies out.

    cases = load("performance-config.yaml")
    for selected in select(cases, ["SchedulingBasic/500Nodes"]):
        outcome = run(prepare(selected, BenchOptions(seed=1)))

The whole scheduler runs in real time, on the embedded cluster or on a real API server, as in
`steersman bench`.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.testing.bench.host import WorkloadError as WorkloadError
    from steersman.testing.bench.measurement import Measurement as Measurement
    from steersman.testing.bench.outcomes import (
        ThresholdComparison as ThresholdComparison,
        WorkloadOutcome as WorkloadOutcome,
        WorkloadVerdict as WorkloadVerdict,
        write_data_items as write_data_items,
    )
    from steersman.testing.bench.preparation import (
        BenchOptions as BenchOptions,
        Prepared as Prepared,
        prepare as prepare,
    )
    from steersman.testing.bench.report import bench_report as bench_report
    from steersman.testing.bench.workload_files import (
        Selected as Selected,
        TestCase as TestCase,
        Workload as Workload,
        load as load,
        select as select,
    )
    from steersman.testing.bench.workload_run import (
        OnProgress as OnProgress,
        WorkloadProgress as WorkloadProgress,
        run as run,
    )
else:
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
