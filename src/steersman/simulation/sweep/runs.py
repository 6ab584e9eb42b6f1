# SPDX-License-Identifier: Apache-2.0
"""Runs of a sweep: the function that is sent to the workers, and its result.

A worker loads a cell once and caches it: each run of the cell is a fork.
"""

from __future__ import annotations

import os
import platform
import time
from typing import Any

import msgspec

from steersman.base import SteersmanError
from steersman.simulation.results.frames import FrameTable, result_table
from steersman.simulation.simulation import Simulation
from steersman.simulation.sweep.cells import LoadedCell, load_cell
from steersman.simulation.sweep.document import Matrix, Run, Sweep
from steersman.simulation.sweep.manifest import InputFiles
from steersman.simulation.sweep.measures import OwnMeasure, Row, failure, load_measures, measures, own_measures
from steersman.simulation.sweep.tables import PARAMETER
from steersman.simulation.virtual_time.tasks import SimulationError


class RunOutcome(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The outcome of a run: its row, and its durations and worker, which are not in the row."""

    run: int
    row: Row
    seconds: float
    cpu_seconds: float
    worker: str
    #: Table name → Parquet file; not in the journal.
    tables: dict[str, bytes] = {}


class Runs:
    """Executor of runs; has the document, all input files and, in a worker, the last cell."""

    def __init__(self, sweep: Sweep, files: InputFiles) -> None:
        self._sweep = sweep
        self._files = files
        self._cells = Matrix(sweep).cells
        self._loaded: LoadedCell | None = None
        self._measures: dict[str, OwnMeasure] | None = None

    def __call__(self, run: Run) -> RunOutcome:
        began, cpu_began = time.perf_counter(), time.process_time()
        tables: dict[str, bytes] = {}
        try:
            row = self._row(run, tables)
        except SteersmanError as error:
            row = failure(error)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        return RunOutcome(run.number, row, seconds, cpu_seconds, f"{platform.node()}:{os.getpid()}", tables)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without loaded cells and measures, which each worker loads itself."""
        return {**self.__dict__, "_loaded": None, "_measures": None}

    def _row(self, run: Run, tables: dict[str, bytes]) -> Row:
        loaded, simulation = self._simulation(run)
        with simulation:
            result = loaded.run(simulation, run.seed)
            for name in self._sweep.keep:
                tables[name] = self._table(run, result_table(result, name)).parquet_bytes()
            assert self._measures is not None, "loaded with the cell"
            return measures(result) | own_measures(self._measures, result)

    def _table(self, run: Run, table: FrameTable) -> FrameTable:
        """Return the table with columns that identify the run."""
        cell = self._cells[run.cell]
        types: dict[str, type] = {"configuration": str, "input": str, "seed": int}
        values: list[str | float] = [cell.configuration, cell.input, run.seed]
        for name, value in cell.parameters.items():
            is_number = all(type(each) in (int, float) for each in self._sweep.parameters[name])
            types[f"{PARAMETER}{name}"] = float if is_number else str
            values.append(float(value) if is_number else str(value))
        return FrameTable({**types, **table.types}, ((*values, *row) for row in table.rows))

    def _simulation(self, run: Run) -> tuple[LoadedCell, Simulation]:
        """Return a fork of the cell with the run's seed, or reload it if loading used the seed."""
        if self._loaded is None or self._loaded.cell.number != run.cell:
            self._loaded = None  # free its memory first
            self._loaded = self._load(run.cell)
        try:
            return self._loaded, self._loaded.simulation.fork().reseed(run.seed)
        except SimulationError:
            loaded = self._load(run.cell, run.seed)
            return loaded, loaded.simulation

    def _load(self, cell: int, seed: int = 0) -> LoadedCell:
        with self._files.unpacked() as unpacked:
            if self._measures is None:
                self._measures = load_measures(map(unpacked.unpacked_path, self._sweep.measures))
            return load_cell(self._sweep, self._cells[cell], unpacked.unpacked_path, seed)
