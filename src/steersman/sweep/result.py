# SPDX-License-Identifier: Apache-2.0
"""The result of a sweep: a row per run, and per cell the means with their confidence intervals.

The same class serves while the sweep runs: it has the rows so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from steersman.report import Report
from steersman.sim.confidence import Estimate, estimate
from steersman.sweep.document import ParameterValue
from steersman.sweep.matrix import Cell, Matrix
from steersman.sweep.measures import Row
from steersman.sweep.runs import RunOutcome
from steersman.sweep.tables import PARAMETER, write_parquet


class CellSummary(msgspec.Struct, frozen=True):
    """A cell of the matrix in numbers."""

    name: str
    configuration: str
    input: str
    parameters: Mapping[str, ParameterValue]
    #: Runs that are done, and those of them that could not be carried out or did not come to rest.
    runs: int
    failed: int
    #: By name of the column, over all runs that have a number there.
    estimates: Mapping[str, Estimate]


class SweepResult:
    """The rows of all runs that are done, in the order of the matrix, and their summary per cell."""

    def __init__(self, name: str, matrix: Matrix, output: Path | None = None, description: str = "") -> None:
        self.name = name
        self.description = description
        #: Where the files are; None for a sweep that writes none.
        self.output = output
        self._matrix = matrix
        self._outcomes: list[RunOutcome | None] = [None] * len(matrix.runs)
        self._runs_of_a_cell = len(matrix.runs) // len(matrix.cells)
        self.done = 0

    def add(self, outcome: RunOutcome) -> None:
        """A run is done."""
        self.done += self._outcomes[outcome.run] is None
        self._outcomes[outcome.run] = outcome

    def is_done(self, run: int) -> bool:
        return self._outcomes[run] is not None

    @property
    def rows(self) -> list[Row]:
        """A row per run that is done, in the order of the matrix."""
        return [self._row(outcome) for outcome in self.outcomes]

    @property
    def failed(self) -> list[Row]:
        """The rows of runs that could not be carried out or did not come to rest."""
        return [row for row in self.rows if _is_failed(row)]

    @property
    def cells(self) -> list[CellSummary]:
        return [self._summary(cell) for cell in self._matrix.cells]

    @property
    def outcomes(self) -> list[RunOutcome]:
        """The runs that are done with where and how long they ran, in the order of the matrix."""
        return [outcome for outcome in self._outcomes if outcome is not None]

    def samples(self, measure: str) -> dict[str, list[float]]:
        """The numbers of one column by the name of the cell, in the order of the seeds."""
        found: dict[str, list[float]] = {}
        for outcome in self.outcomes:
            value = outcome.row.get(measure)
            if isinstance(value, (int, float)):
                cell = self._matrix.cells[self._matrix.runs[outcome.run].cell]
                found.setdefault(cell.name, []).append(value)
        return found

    def report(self, commands: Sequence[str] = ()) -> Report:
        """For people: `steersman.report.render_html` makes a page of it."""
        from steersman.sweep.report import sweep_report

        return sweep_report(self, commands)

    def to_parquet(self, path: Path) -> list[str]:
        """The rows as a file, the same bytes for the same rows; returns the columns. Needs pyarrow."""
        return write_parquet(self.rows, path)

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, dicts and values."""
        document: dict[str, Any] = msgspec.to_builtins(
            {
                "name": self.name,
                "runs": len(self._matrix.runs),
                "done": self.done,
                "cells": self.cells,
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

    def _summary(self, cell: Cell) -> CellSummary:
        first = cell.number * self._runs_of_a_cell
        outcomes = self._outcomes[first : first + self._runs_of_a_cell]
        rows = [outcome.row for outcome in outcomes if outcome is not None]
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
