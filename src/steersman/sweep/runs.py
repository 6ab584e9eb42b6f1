# SPDX-License-Identifier: Apache-2.0
"""One run of a sweep, wherever it happens: the function that travels to the workers, and what comes back.

A worker loads a cell once and keeps it: each run of the cell is a fork of it.
"""

from __future__ import annotations

import os
import platform
import time
from typing import Any

import msgspec

from steersman.errors import SteersmanError
from steersman.sim import Simulation, SimulationError
from steersman.sweep.cells import LoadedCell, load_cell
from steersman.sweep.document import Sweep
from steersman.sweep.input_files import InputFiles
from steersman.sweep.matrix import Matrix, Run
from steersman.sweep.measures import Row, failure, measures


class RunOutcome(msgspec.Struct, frozen=True, rename="camel"):
    """The outcome of a run: its row, and where and how long it ran, which is not part of the row."""

    run: int
    row: Row
    seconds: float
    cpu_seconds: float
    worker: str


class Runs:
    """Carries runs out. Holds the document and all input files, and in a worker the cell that was loaded last."""

    def __init__(self, sweep: Sweep, files: InputFiles) -> None:
        self._sweep = sweep
        self._files = files
        self._cells = Matrix(sweep).cells
        self._loaded: LoadedCell | None = None

    def __call__(self, run: Run) -> RunOutcome:
        began, cpu_began = time.perf_counter(), time.process_time()
        try:
            row = self._row(run)
        except SteersmanError as error:
            row = failure(error)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        return RunOutcome(run.number, row, seconds, cpu_seconds, f"{platform.node()}:{os.getpid()}")

    def __getstate__(self) -> dict[str, Any]:
        """A simulation stays in its process; a worker loads its own."""
        return {**self.__dict__, "_loaded": None}

    def _row(self, run: Run) -> Row:
        loaded, simulation = self._simulation(run)
        with simulation:
            return measures(loaded.run(simulation, run.seed))

    def _simulation(self, run: Run) -> tuple[LoadedCell, Simulation]:
        """A fork of the cell with the seed of the run; the cell loaded anew where loading already depends on the seed."""
        if self._loaded is None or self._loaded.cell.number != run.cell:
            self._loaded = None  # before the next one takes its room
            self._loaded = self._load(run.cell)
        try:
            return self._loaded, self._loaded.simulation.fork().reseed(run.seed)
        except SimulationError:
            loaded = self._load(run.cell, run.seed)
            return loaded, loaded.simulation

    def _load(self, cell: int, seed: int = 0) -> LoadedCell:
        with self._files.unpacked() as unpacked:
            return load_cell(self._sweep, self._cells[cell], unpacked.at, seed)
