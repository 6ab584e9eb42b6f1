# SPDX-License-Identifier: Apache-2.0
"""Execution of a sweep: checks everything, executes and journals missing runs, writes the files.

output/journal.jsonl     every finished run with its duration and worker; see `journal`
output/results.parquet   a row per run, written at the end
output/manifest.json     the inputs of the results
output/<table>/*.parquet the tables of each run, as chosen by `keep`
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from steersman.base import InputError
from steersman.simulation.processes import prepare_workers, run_in_processes
from steersman.simulation.sweep import tables
from steersman.simulation.sweep.cells import check_parameters, load_cell, load_configuration
from steersman.simulation.sweep.document import Matrix, Run, Sweep
from steersman.simulation.sweep.journal import SweepJournal
from steersman.simulation.sweep.loading import SweepSource, load_sweep
from steersman.simulation.sweep.manifest import InputFiles, check_same, manifest_of, read_files, with_results
from steersman.simulation.sweep.measures import load_measures
from steersman.simulation.sweep.on_ray import check_cluster, run_on_ray
from steersman.simulation.sweep.result import SweepResult
from steersman.simulation.sweep.runs import RunOutcome, Runs

JOURNAL: Final = "journal.jsonl"
RESULTS: Final = "results.parquet"
MANIFEST: Final = "manifest.json"

OnProgress: TypeAlias = "Callable[[SweepProgress], None]"


class SweepProgress(NamedTuple):
    """Progress of a sweep."""

    done: int
    runs: int
    #: Estimated remaining time; None until a run has finished.
    seconds_left: float | None
    #: Result with the rows so far.
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
    """Run a sweep: a file with a document of kind Sweep, or the document.

    The runs use `workers` local processes, by default one per core, or the Ray cluster at address
    `ray` ("auto": the local one), with the same results. Files are written to the folder `output`,
    if given; `resume` skips runs that are finished there. Raises `InputError` before the first run.
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
    if folder is None and sweep.keep:
        raise InputError("needs a folder to write to", field="keep", hint="give output=…")
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
    """Load every input, configuration and parameter value once from its original path, so that
    errors name the user's files. Configurations are loaded without inputs if possible."""
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
    load_measures(sweep.measures)


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
    """Open the journal, and add its finished runs to the result."""
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


def _write_tables(outcome: RunOutcome, folder: Path | None) -> None:
    """Write the tables of a run, before it is added to the journal."""
    for name, content in outcome.tables.items():
        assert folder is not None, "checked before anything ran"
        path = folder / name / f"{outcome.run:06}.parquet"
        path.parent.mkdir(exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_bytes(content)
        os.replace(partial, path)


def _write(result: SweepResult, folder: Path, manifest: dict[str, object]) -> None:
    columns = result.to_parquet(folder / RESULTS)
    text = with_results(manifest, folder / RESULTS, result.done, columns)
    partial = folder / f".{MANIFEST}.partial"
    partial.write_bytes(text)
    os.replace(partial, folder / MANIFEST)


class _Session:
    """Receiver of finished runs: journals and counts them, and reports the progress."""

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
            _write_tables(outcome, self._result.output)
            self._journal.add(outcome)
        self._result.add(outcome)
        self._done += 1
        if self._on_progress is not None:
            passed = time.monotonic() - self._began
            left = passed / self._done * (self._todo - self._done)
            self._on_progress(SweepProgress(self._result.done, self._runs, left, self._result))
