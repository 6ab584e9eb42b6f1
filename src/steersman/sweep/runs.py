# SPDX-License-Identifier: Apache-2.0
"""One run of a sweep, wherever it happens: the function that travels to the workers, and what comes back."""

from __future__ import annotations

import os
import platform
import time

import msgspec

from steersman.errors import SteersmanError
from steersman.sweep.cells import load_cell
from steersman.sweep.document import Sweep
from steersman.sweep.input_files import InputFiles
from steersman.sweep.matrix import Matrix, Run
from steersman.sweep.measures import Row, failure, measures


class Outcome(msgspec.Struct, frozen=True, rename="camel"):
    """What came of a run: its row, and where and how long it ran, which is not part of the row."""

    run: int
    row: Row
    seconds: float
    cpu_seconds: float
    worker: str


class Runs:
    """Carries runs out. Holds the document and all input files."""

    def __init__(self, sweep: Sweep, files: InputFiles) -> None:
        self._sweep = sweep
        self._files = files
        self._cells = Matrix(sweep).cells

    def __call__(self, run: Run) -> Outcome:
        began, cpu_began = time.perf_counter(), time.process_time()
        try:
            row = self._row(run)
        except SteersmanError as error:
            row = failure(error)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        return Outcome(run.number, row, seconds, cpu_seconds, f"{platform.node()}:{os.getpid()}")

    def _row(self, run: Run) -> Row:
        with self._files.unpacked() as unpacked:
            loaded = load_cell(self._sweep, self._cells[run.cell], unpacked.at, run.seed)
        with loaded.simulation as simulation:
            return measures(loaded.run(simulation, run.seed))
