# SPDX-License-Identifier: Apache-2.0
"""Runs a prepared workload on a host of its own.

Prepared ─► host ─► operations (`workload_executor`) ─► WorkloadOutcome
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from steersman.base import InputError, SeededRng, SteersmanError, most_informative_error
from steersman.framework import PodInfo
from steersman.scheduler.assembly import EvaluationObserver, Scheduler
from steersman.scheduler.cycle import SchedulingCycle
from steersman.scheduler.engine import Evaluation
from steersman.scheduler.host import HostTasks
from steersman.scheduler.state import StateInvariantError
from steersman.testing.bench.api_server_host import api_server_host
from steersman.testing.bench.embedded_host import embedded_host
from steersman.testing.bench.host import Host, WorkloadError
from steersman.testing.bench.measurement import Measurement
from steersman.testing.bench.operations import Operation
from steersman.testing.bench.outcomes import WorkloadOutcome, WorkloadVerdict
from steersman.testing.bench.preparation import Prepared
from steersman.testing.bench.workload_executor import WorkloadExecutor
from steersman.testing.bench.workload_files import Selected
from steersman.testing.conformance.scenarios import evaluation_document

SAMPLED: Final = "percentageOfNodesToScore leaves nodes out, in an order of its own; there is nothing to compare with"


class UncachedCheck:
    """Compares one in `every` evaluations with an uncached one; `WorkloadError` if different."""

    def __init__(self, scheduler: Scheduler, every: int = 1) -> None:
        if scheduler.options.configuration.percentage_of_nodes_to_score not in (None, 0, 100):
            raise InputError(SAMPLED)
        self._scheduler = scheduler
        self._every = every
        self._seen = 0
        #: Number of compared evaluations.
        self.compared = 0
        self._plain = SchedulingCycle(
            scheduler.cache, scheduler.profiles, scheduler.nominations, SeededRng(0), scalar=True
        )
        scheduler.observe(EvaluationObserver(self._observe))

    def finish(self) -> tuple[str, ...]:
        """Validate all columns against nodes and pods, and return a note with the number of
        comparisons."""
        try:
            self._scheduler.cache.validate_state()
        except StateInvariantError as error:
            raise WorkloadError(f"the columns are not what nodes and pods make them: {error}") from error
        return (f"{self.compared} evaluations are the same without caches",)

    def _observe(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self._seen += 1
        if self._seen % self._every == 0:
            self._compare(pod, evaluation)

    def _compare(self, pod: PodInfo, evaluation: Evaluation) -> None:
        profile = self._scheduler.profiles[pod.scheduler_name]
        table = self._scheduler.cache.nodes
        nodes = [table.names[row] for row in table.live_rows()]
        kept = _document(evaluation, nodes)
        fresh = _document(self._plain.evaluate(profile, pod), nodes)
        self.compared += 1
        if kept != fresh:
            where = ", ".join(_differences(kept, fresh))
            raise WorkloadError(f"pod {pod.key} is evaluated differently without caches: {where}")


def _document(evaluation: Evaluation, nodes: list[str]) -> dict[str, Any]:
    """Return statuses and scores of an evaluation in a form in which engines are comparable."""
    document = evaluation_document(evaluation, nodes)
    for group in document.pop("rejected", ()):
        for node in group["nodes"]:
            document[f"status of {node}"] = (group["code"], group["plugin"], group["reasons"])
    for plugin in document.get("scores", {}).pop("plugins", ()):
        document[f"scores of {plugin['name']}"] = (plugin["weight"], plugin["norm"])
    return document


def _differences(kept: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    names = [name for name in {**kept, **fresh} if kept.get(name) != fresh.get(name)]
    return names[:5]


# -- running -----------------------------------------------------------------------------------------------------------


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
        measurements, notes = asyncio.run(_measured(prepared, on_progress))
    except SteersmanError as error:
        return _replace(bare, verdict=WorkloadVerdict.FAILED, reason=str(error), notes=prepared.notes)
    finally:
        gc.collect()
    return _replace(bare, measurements=measurements, notes=(*prepared.notes, *notes))


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
