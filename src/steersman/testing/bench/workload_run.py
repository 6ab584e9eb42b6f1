# SPDX-License-Identifier: Apache-2.0
"""Runs a prepared workload on a host of its own.

Prepared ─► host ─► operations (`workload_executor`) ─► WorkloadOutcome
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple, TypeAlias

import msgspec

from steersman.base import SteersmanError, most_informative_error
from steersman.scheduler.host import HostTasks
from steersman.testing.bench.api_server_host import api_server_host
from steersman.testing.bench.embedded_host import embedded_host
from steersman.testing.bench.host import Host
from steersman.testing.bench.measurement import Measurement
from steersman.testing.bench.operations import Operation
from steersman.testing.bench.outcomes import WorkloadOutcome, WorkloadVerdict
from steersman.testing.bench.preparation import Prepared
from steersman.testing.bench.uncached_check import UncachedCheck
from steersman.testing.bench.workload_executor import WorkloadExecutor
from steersman.testing.bench.workload_files import Selected

PROGRESS_SECONDS: Final = 0.2

_replace = msgspec.structs.replace


class WorkloadProgress(NamedTuple):
    """Progress of a workload."""

    workload: str
    operation: str
    done: int
    wanted: int


OnProgress: TypeAlias = Callable[[WorkloadProgress], None]


def run(prepared: Prepared, on_progress: OnProgress | None = None) -> WorkloadOutcome:
    """Run a workload and return its outcome; errors are outcomes too."""
    bare = _bare(prepared.selected)
    if prepared.obstacle:
        return _replace(bare, verdict=WorkloadVerdict.UNSUPPORTED, reason=prepared.obstacle)
    try:
        measurements, said = asyncio.run(_measured(prepared, on_progress))
    except SteersmanError as error:
        return _replace(bare, verdict=WorkloadVerdict.FAILED, reason=str(error), notes=prepared.notes)
    finally:
        gc.collect()
    return _replace(bare, measurements=measurements, notes=(*prepared.notes, *said))


def _bare(selected: Selected) -> WorkloadOutcome:
    case, workload = selected
    return WorkloadOutcome(
        case.topic,
        case.name,
        workload.name,
        WorkloadVerdict.MEASURED,
        threshold=case.threshold_of(workload),
        threshold_metric=case.threshold_metric_of(workload),
    )


async def _measured(
    prepared: Prepared, on_progress: OnProgress | None
) -> tuple[tuple[Measurement, ...], tuple[str, ...]]:
    """Return the measurements of a workload, and notes about them."""
    case, every = prepared.selected.case, prepared.options.check_every
    try:
        async with _host(prepared) as host, asyncio.TaskGroup() as group:
            tasks = HostTasks(group)
            check = UncachedCheck(host.scheduler, every) if every else None
            wanted = None if case.metrics is None else case.metrics.metrics
            run = WorkloadExecutor(host, tasks, prepared.templates, case.pod_template_file, wanted)
            try:
                for place, operation in enumerate(prepared.operations):
                    watch = tasks.create_task(_report(prepared, operation, run, on_progress)) if on_progress else None
                    await run.step(place, operation)
                    if watch is not None:
                        watch.cancel()
            finally:
                tasks.cancel()
    except ExceptionGroup as group_of_errors:
        raise most_informative_error(group_of_errors) from group_of_errors
    return tuple(run.measurements), () if check is None else check.finish()


def _host(prepared: Prepared) -> AbstractAsyncContextManager[Host]:
    options, connection = prepared.options, prepared.options.connection
    if connection is None:
        return embedded_host(prepared.scheduler_options, options.seed)
    return api_server_host(prepared.scheduler_options, options.seed, connection)


async def _report(prepared: Prepared, operation: Operation, run: WorkloadExecutor, on_progress: OnProgress) -> None:
    while True:
        done, wanted = run.progress
        on_progress(WorkloadProgress(prepared.selected.name, operation.opcode, done, wanted))
        await asyncio.sleep(PROGRESS_SECONDS)
