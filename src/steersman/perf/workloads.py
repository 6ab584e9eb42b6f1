"""The way in: runs one selected workload on a host of its own and says what became of it.

Selected ─► feature gates, configuration ─► host ─► operations (`running`) ─► Outcome
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import msgspec

from steersman import config
from steersman.assembly import SchedulerOptions
from steersman.client import Connection
from steersman.config import GATES, FeatureGates, SchedulerConfiguration
from steersman.errors import InputError, SteersmanError
from steersman.perf.api_server_host import api_server_host
from steersman.perf.collecting import Measurement
from steersman.perf.embedded_host import embedded_host
from steersman.perf.host import Host
from steersman.perf.operations import Operation, Unsupported
from steersman.perf.outcomes import Outcome, Verdict
from steersman.perf.parameters import Parameters, Step, unrolled
from steersman.perf.running import Run
from steersman.perf.scheduling_loop import Tasks
from steersman.perf.selection import Selected
from steersman.perf.support import obstacle
from steersman.perf.templates import Templates
from steersman.perf.uncached import UncachedCheck

PROGRESS_SECONDS: Final = 0.2

_replace = msgspec.structs.replace


class Progress(NamedTuple):
    """How far a workload has got."""

    workload: str
    operation: str
    done: int
    wanted: int


OnProgress: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What a user may choose for all workloads."""

    #: Instead of the configurations that files name.
    config_file: str = ""
    seed: int = 0
    #: Of so many evaluations one is computed anew without anything kept, and compared; 0: none.
    check_every: int = 0
    #: The API server to run on; None: the embedded cluster.
    connection: Connection | None = None


def run(selected: Selected, options: BenchOptions, on_progress: OnProgress | None = None) -> Outcome:
    """Takes as long as it takes. `InputError` for a workload that is wrong; what fails while it runs is an outcome."""
    case, workload = selected
    bare = Outcome(
        case.topic,
        case.name,
        workload.name,
        Verdict.MEASURED,
        threshold=case.threshold_of(workload),
        threshold_metric=case.threshold_metric_of(workload),
    )
    try:
        return _run(selected, options, bare, on_progress)
    except InputError as error:
        raise error.located(file=case.file, object=f"test case {case.name}, workload {workload.name}") from error
    finally:
        gc.collect()


def _run(selected: Selected, options: BenchOptions, bare: Outcome, on_progress: OnProgress | None) -> Outcome:
    steps, templates = _steps(selected), Templates()
    reason = obstacle(steps, selected.case.pod_template_file, templates)
    if reason:
        return _replace(bare, verdict=Verdict.UNSUPPORTED, reason=reason)
    operations = [step for _, step in steps if isinstance(step, Operation)]
    gates, notes = _gates(selected)
    scheduler_options = SchedulerOptions(_configuration(selected, options, gates), gates)
    try:
        work = _measured(selected, options, operations, templates, scheduler_options, on_progress)
        measurements, check = asyncio.run(work)
        return _replace(bare, measurements=measurements, notes=(*notes, *check))
    except InputError:
        raise
    except SteersmanError as error:
        return _replace(bare, verdict=Verdict.FAILED, reason=str(error), notes=notes)


async def _measured(
    selected: Selected,
    options: BenchOptions,
    operations: Sequence[Operation],
    templates: Templates,
    scheduler_options: SchedulerOptions,
    on_progress: OnProgress | None,
) -> tuple[tuple[Measurement, ...], tuple[str, ...]]:
    """What was measured, and what there is to say about it."""
    case = selected.case
    try:
        async with _host(scheduler_options, options) as host, asyncio.TaskGroup() as group:
            tasks = Tasks(group)
            check = UncachedCheck(host.scheduler, options.check_every) if options.check_every else None
            wanted = None if case.metrics is None else case.metrics.metrics
            run = Run(host, tasks, templates, case.pod_template_file, wanted)
            try:
                for place, operation in enumerate(operations):
                    watch = tasks.spawn(_report(selected, operation, run, on_progress)) if on_progress else None
                    await run.step(place, operation)
                    if watch is not None:
                        watch.cancel()
            finally:
                tasks.cancel()
    except ExceptionGroup as group_of_errors:
        raise _most_telling(group_of_errors) from group_of_errors
    return tuple(run.measurements), () if check is None else check.finish()


def _host(scheduler_options: SchedulerOptions, options: BenchOptions) -> AbstractAsyncContextManager[Host]:
    if options.connection is None:
        return embedded_host(scheduler_options, options.seed)
    return api_server_host(scheduler_options, options.seed, options.connection)


async def _report(selected: Selected, operation: Operation, run: Run, on_progress: OnProgress) -> None:
    while True:
        done, wanted = run.progress
        on_progress(Progress(selected.name, operation.opcode, done, wanted))
        await asyncio.sleep(PROGRESS_SECONDS)


# -- before the run ----------------------------------------------------------------------------------------------------


def _steps(selected: Selected) -> list[tuple[int, Step]]:
    """What is to be done, with the places in the file."""
    parameters = Parameters(selected.workload.params)
    steps = list(unrolled(selected.case.operations, parameters))
    unused = parameters.unused()
    if unused and not any(isinstance(step, Unsupported) for _, step in steps):
        raise InputError("is used by no operation", field=f"params.{unused[0]}", hint="remove it, or correct its name")
    return steps


def _gates(selected: Selected) -> tuple[FeatureGates, tuple[str, ...]]:
    """The file's gates but for those that v1.36 does not let anybody set, which are told."""
    wanted = selected.case.gates_of(selected.workload)
    locked = {name for name, value in wanted.items() if name in GATES and _is_locked(name, value)}
    notes = tuple(f"{name}={str(wanted[name]).lower()} cannot be set in v1.36" for name in sorted(locked))
    return FeatureGates({name: value for name, value in wanted.items() if name not in locked}), notes


def _is_locked(name: str, value: bool) -> bool:
    return GATES[name].locked and GATES[name].default != value


def _configuration(selected: Selected, options: BenchOptions, gates: FeatureGates) -> SchedulerConfiguration:
    file = options.config_file or selected.case.scheduler_config_file
    if not file:
        return config.default_configuration(gates)
    try:
        return config.load(Path(file).read_text(encoding="utf-8"), file, gates)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", file=file) from error


def _most_telling(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Tasks end together; one error says why. What is meant for users comes first."""
    leaves = list(_leaves(group))
    return next((leaf for leaf in leaves if isinstance(leaf, SteersmanError)), leaves[0])


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    leaves: list[BaseException] = []
    for error in group.exceptions:
        leaves += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return leaves
