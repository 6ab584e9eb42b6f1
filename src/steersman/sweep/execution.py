# SPDX-License-Identifier: Apache-2.0
"""A sweep from its file to its results: check everything, run what is not done yet, note every run, write the files.

output/journal.jsonl     every run that is done, with how long it took and where; see `journal`
output/results.parquet   a row per run, written when all are done
output/manifest.json     what the numbers were made from
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from steersman.sim.processes import prepare_workers, run_in_processes
from steersman.sweep import tables
from steersman.sweep.cells import check_parameters, load_cell, load_configuration
from steersman.sweep.document import Sweep
from steersman.sweep.input_files import InputFiles, read_files
from steersman.sweep.journal import SweepJournal
from steersman.sweep.loading import SweepSource, load_sweep
from steersman.sweep.manifest import check_same, manifest_of, with_results
from steersman.sweep.matrix import Matrix, Run
from steersman.sweep.on_ray import check_cluster, run_on_ray
from steersman.sweep.result import SweepResult
from steersman.sweep.runs import RunOutcome, Runs

JOURNAL: Final = "journal.jsonl"
RESULTS: Final = "results.parquet"
MANIFEST: Final = "manifest.json"

OnProgress: TypeAlias = "Callable[[SweepProgress], None]"


class SweepProgress(NamedTuple):
    """How far a sweep has got."""

    done: int
    runs: int
    #: An estimate; None until a run is done.
    seconds_left: float | None
    #: The rows so far.
    result: SweepResult


def run(
    source: SweepSource,
    *,
    output: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    ray: str | None = None,
    resume: bool = False,
    on_progress: OnProgress | None = None,
) -> SweepResult:
    """Carries out a sweep: a file with a document of kind Sweep, or the document.

    `workers` processes of this machine do the runs, by default one per core; or a Ray cluster, whose address `ray` is ("auto":
    the one that runs here). The numbers are the same. Files are written into the folder `output`, if there is one; with
    `resume` the runs that are done there are not done again. Raises `InputError` for what cannot be run, before anything runs.
    """
    sweep = load_sweep(source)
    matrix = Matrix(sweep)
    if ray is None and workers != 1:
        prepare_workers(Runs.__module__)
    check_cells(sweep, matrix)
    files = read_files(sweep, matrix)
    runs = Runs(sweep, files)
    if ray is not None:
        check_cluster(ray)
    folder = None if output is None else Path(output)
    result = SweepResult(sweep.name, matrix, folder, sweep.description)
    with ExitStack() as stack:
        journal = None if folder is None else _opened(folder, sweep, files, matrix, result, resume)
        if journal is not None:
            stack.callback(journal.close)
        todo = [run for run in matrix.runs if not result.is_done(run.number)]
        session = _Session(result, len(matrix.runs), len(todo), journal, on_progress)
        outcomes = _outcomes(runs, todo, matrix, workers, ray, session.done)
        with closing(outcomes):
            count = sum(1 for _ in outcomes)
        if count != len(todo):
            raise RuntimeError(f"{count} of {len(todo)} runs have come back")
    if folder is not None:
        _write(result, folder, manifest_of(sweep, files, matrix))
    return result


def check_cells(sweep: Sweep, matrix: Matrix) -> None:
    """Loads every input, every configuration and every value of a parameter once, from where they are, so that errors name
    the files that users know. A configuration needs no input for that."""
    seen: set[object] = set()
    for cell in matrix.cells:
        about_input = {("input", cell.input), *cell.parameters.items()}
        parts = {("configuration", cell.configuration), *about_input}
        if not about_input <= seen:
            load_cell(sweep, cell, lambda source: source).simulation.close()
        elif not parts <= seen:
            load_configuration(sweep, cell, lambda source: source).close()
        seen |= parts
    check_parameters(sweep)


def _outcomes(
    runs: Runs,
    todo: Sequence[Run],
    matrix: Matrix,
    workers: int | None,
    ray: str | None,
    on_done: Callable[[int, RunOutcome], None],
) -> Generator[RunOutcome, None, None]:
    if ray is None:
        return run_in_processes(runs, todo, workers=workers, name=matrix.name, on_done=on_done)
    return run_on_ray(runs, todo, address=ray, name=matrix.name, on_done=on_done)


def _opened(
    folder: Path, sweep: Sweep, files: InputFiles, matrix: Matrix, result: SweepResult, resume: bool
) -> SweepJournal:
    """The journal, with the runs that it has added to the result."""
    tables.require_pyarrow()
    manifest = manifest_of(sweep, files, matrix)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / JOURNAL
    if not resume or not path.exists():
        return SweepJournal.create(path, manifest)
    journal, before, outcomes = SweepJournal.open(path)
    check_same(before, manifest, folder)
    for outcome in outcomes:
        result.add(outcome)
    return journal


def _write(result: SweepResult, folder: Path, manifest: dict[str, object]) -> None:
    columns = result.to_parquet(folder / RESULTS)
    text = with_results(manifest, folder / RESULTS, result.done, columns)
    partial = folder / f".{MANIFEST}.partial"
    partial.write_bytes(text)
    os.replace(partial, folder / MANIFEST)


class _Session:
    """Notes, counts and tells each run that is done."""

    def __init__(
        self, result: SweepResult, runs: int, todo: int, journal: SweepJournal | None, on_progress: OnProgress | None
    ) -> None:
        self._result = result
        self._runs = runs
        self._todo = todo
        self._journal = journal
        self._on_progress = on_progress
        self._began = time.monotonic()
        self._done = 0

    def done(self, _: int, outcome: RunOutcome) -> None:
        if self._journal is not None:
            self._journal.add(outcome)
        self._result.add(outcome)
        self._done += 1
        if self._on_progress is not None:
            passed = time.monotonic() - self._began
            left = passed / self._done * (self._todo - self._done)
            self._on_progress(SweepProgress(self._result.done, self._runs, left, self._result))
