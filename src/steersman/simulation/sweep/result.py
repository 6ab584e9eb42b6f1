# SPDX-License-Identifier: Apache-2.0
"""The result of a sweep: a row per run, and means with confidence intervals per cell.

During the sweep it contains the rows so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from steersman.base import InputError
from steersman.base.report import Report
from steersman.simulation.results.confidence import Estimate, estimate
from steersman.simulation.sweep.document import Cell, Matrix, ParameterValue
from steersman.simulation.sweep.measures import Row
from steersman.simulation.sweep.runs import RunOutcome
from steersman.simulation.sweep.tables import PARAMETER, write_parquet


class CellSummary(msgspec.Struct, frozen=True):
    """Summary of a cell of the matrix."""

    name: str
    configuration: str
    input: str
    parameters: Mapping[str, ParameterValue]
    #: Number of finished runs, and of those that failed or did not come to rest.
    runs: int
    failed: int
    #: Column → estimate over all runs with a number there.
    estimates: Mapping[str, Estimate]


class SweepResult:
    """The rows of all finished runs in the order of the matrix, and their summary per cell."""

    def __init__(self, name: str, matrix: Matrix, output: Path | None = None, description: str = "") -> None:
        self.name = name
        self.description = description
        #: Folder of the files; None for a sweep without files.
        self.output = output
        self._matrix = matrix
        self._outcomes: list[RunOutcome | None] = [None] * len(matrix.runs)
        self._runs_of_a_cell = len(matrix.runs) // len(matrix.cells)
        self.done = 0

    def add(self, outcome: RunOutcome) -> None:
        """Add a finished run."""
        self.done += self._outcomes[outcome.run] is None
        self._outcomes[outcome.run] = msgspec.structs.replace(outcome, tables={})

    def is_done(self, run: int) -> bool:
        return self._outcomes[run] is not None

    @property
    def rows(self) -> list[Row]:
        """The rows of the finished runs in the order of the matrix."""
        return [self._row(outcome) for outcome in self.outcomes]

    @property
    def failed(self) -> list[Row]:
        """The rows of runs that failed or did not come to rest."""
        return [row for row in self.rows if _is_failed(row)]

    @property
    def cells(self) -> list[CellSummary]:
        return [self._summary(cell) for cell in self._matrix.cells]

    @property
    def outcomes(self) -> list[RunOutcome]:
        """The outcomes of the finished runs in the order of the matrix."""
        return [outcome for outcome in self._outcomes if outcome is not None]

    def samples(self, measure: str) -> dict[str, list[float]]:
        """Return the numbers of one column by cell name, in the order of the seeds."""
        found: dict[str, list[float]] = {}
        for outcome in self.outcomes:
            value = outcome.row.get(measure)
            if isinstance(value, (int, float)):
                cell = self._matrix.cells[self._matrix.runs[outcome.run].cell]
                found.setdefault(cell.name, []).append(value)
        return found

    @property
    def configurations(self) -> list[str]:
        return list(dict.fromkeys(cell.configuration for cell in self._matrix.cells))

    def compare(self, baseline: str | None = None) -> list[CellSummary]:
        """Return the cells of other configurations as differences from `baseline` (default: first).

        Runs with the same input, parameters and seed are compared by a paired t-test, which detects
        smaller differences than separate means. `runs` counts pairs. Raises `InputError` if
        unknown.
        """
        chosen = self.configurations[0] if baseline is None else baseline
        if chosen not in self.configurations:
            hint = f"there are {', '.join(self.configurations)}"
            raise InputError("is not a configuration of the sweep", value=chosen, hint=hint)
        cells = self._matrix.cells
        bases = {(cell.input_index, cell.parameter_values): cell for cell in cells if cell.configuration == chosen}
        others = (cell for cell in cells if cell.configuration != chosen)
        return [self._difference(cell, bases[cell.input_index, cell.parameter_values]) for cell in others]

    def _difference(self, cell: Cell, base: Cell) -> CellSummary:
        pairs = [
            (a.row, b.row) for a, b in zip(self._cell_outcomes(cell), self._cell_outcomes(base), strict=True) if a and b
        ]
        samples: dict[str, list[float]] = {}
        for row, other in pairs:
            for name, value in row.items():
                before = other.get(name)
                if isinstance(value, (int, float)) and isinstance(before, (int, float)):
                    samples.setdefault(name, []).append(value - before)
        failed = sum(_is_failed(row) or _is_failed(other) for row, other in pairs)
        estimates = {name: estimate(values) for name, values in samples.items()}
        return CellSummary(cell.name, cell.configuration, cell.input, cell.parameters, len(pairs), failed, estimates)

    def report(self, commands: Sequence[str] = ()) -> Report:
        """Return the report for `steersman.base.report.render_html`."""
        from steersman.simulation.sweep.report import sweep_report

        return sweep_report(self, commands)

    def to_parquet(self, path: Path) -> list[str]:
        """Write the rows deterministically to a file; return the columns. Needs pyarrow."""
        return write_parquet(self.rows, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists, dicts and values."""
        document: dict[str, Any] = msgspec.to_builtins(
            {
                "name": self.name,
                "runs": len(self._matrix.runs),
                "done": self.done,
                "cells": self.cells,
                "differences": self.compare(),
                "rows": self.rows,
            }
        )
        return document

    def _row(self, outcome: RunOutcome) -> Row:
        run = self._matrix.runs[outcome.run]
        cell = self._matrix.cells[run.cell]
        values = {f"{PARAMETER}{name}": value for name, value in cell.parameters.items()}
        return {
            "configuration": cell.configuration,
            "input": cell.input,
            "seed": run.seed,
            **values,
            **outcome.row,
        }

    def _cell_outcomes(self, cell: Cell) -> list[RunOutcome | None]:
        """Return the runs of a cell in the order of the seeds; None for unfinished ones."""
        first = cell.number * self._runs_of_a_cell
        return self._outcomes[first : first + self._runs_of_a_cell]

    def _summary(self, cell: Cell) -> CellSummary:
        rows = [outcome.row for outcome in self._cell_outcomes(cell) if outcome is not None]
        samples: dict[str, list[float]] = {}
        for row in rows:
            for name, value in row.items():
                if isinstance(value, (int, float)):
                    samples.setdefault(name, []).append(value)
        estimates = {name: estimate(values) for name, values in samples.items()}
        failed = sum(map(_is_failed, rows))
        return CellSummary(cell.name, cell.configuration, cell.input, cell.parameters, len(rows), failed, estimates)


def _is_failed(row: Row) -> bool:
    return bool(row.get("error") or row.get("stopped"))
