# SPDX-License-Identifier: Apache-2.0
"""The report of a sweep: means with intervals per cell, and distributions over the seeds.

Converts the result to a `steersman.base.report.Report` for `render_html`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steersman.base.report import (
    FRACTION,
    SECONDS,
    BarChart,
    Cell,
    Column,
    Distribution,
    Figures,
    Report,
    Section,
    Table,
)
from steersman.simulation.results.confidence import Estimate
from steersman.simulation.scenario import MEASURES
from steersman.simulation.sweep.measures import FRAGMENTATION, UTILISATION
from steersman.simulation.sweep.result import CellSummary, SweepResult

_SECONDS: Final = frozenset({"seconds", "waitP50", "waitP99", "waitMax", "makespan"})
_DISTRIBUTIONS: Final = ("pending", "waitP99", "cost", f"{UTILISATION}cpu", f"{UTILISATION}memory")
"""Shown as distributions over seeds if their values differ."""
_LEADING: Final = ("scheduled", "pending", "waitP50", "waitP99", "cost")


def sweep_report(result: SweepResult, commands: Sequence[str] = ()) -> Report:
    """Return the report; its answer is the cell with the fewest pending pods, then shortest
    wait."""
    return Report(
        title=f"Sweep {result.name}",
        question=result.description or "How do these configurations and inputs compare?",
        answer=_answer(result),
        sections=list(_sections(result)),
        commands=commands,
        notes=list(_notes(result)),
    )


def _notes(result: SweepResult) -> Iterator[str]:
    failed = result.failed
    if failed:
        yield f"{len(failed)} runs failed, the first of them: {failed[0].get('error') or failed[0].get('stopped')}"


def _answer(result: SweepResult) -> str:
    cells = [cell for cell in result.cells if "pending" in cell.estimates]
    summary = f"{result.done:,} runs in {len(result.cells)} cell{'s' if len(result.cells) > 1 else ''}"
    if not cells:
        return f"{summary}; none could be carried out."
    best = min(cells, key=lambda cell: (_mean(cell, "pending"), _mean(cell, "waitP99")))
    waiting = f", and 99 of 100 wait no longer than {_mean(best, 'waitP99'):.0f} s" if _mean(best, "waitP99") else ""
    return f"{summary}: with {best.name} the fewest pods are pending, {_mean(best, 'pending'):.1f} on average{waiting}."


def _sections(result: SweepResult) -> Iterator[Section]:
    cells = result.cells
    measures = list(dict.fromkeys(name for cell in cells for name in cell.estimates))
    figures: dict[str, Cell] = {"runs": result.done, "cells": len(cells), "failed": len(result.failed)}
    yield Figures("At a glance", figures)
    shown = [name for name in (*_LEADING, *_own(measures)) if name in measures] + _utilisation(measures)
    yield _cells("Cells", cells, shown, "Means over seeds; ± to both sides holds the true mean 95 times in 100.")
    differences = result.compare()
    if differences:
        paired = "Runs with the same seed are compared in pairs; a difference larger than its ± is not chance, 95 times in 100."
        yield _cells(f"Differences from {result.configurations[0]}", differences, shown, paired)
    shares = _utilisation(measures)
    if shares:
        series = {cell.name: [_mean(cell, name) for name in shares] for cell in cells}
        yield BarChart(
            "Requested of what all nodes offer, at the end", [_title(name) for name in shares], series, FRACTION
        )
    yield from _distributions(result, measures)
    yield _rows(result)


def _own(measures: Sequence[str]) -> list[str]:
    """Return the custom measures of the sweep."""
    return [name for name in measures if name not in MEASURES and not name.startswith((UTILISATION, FRAGMENTATION))]


def _cells(title: str, cells: Sequence[CellSummary], measures: Sequence[str], caption: str) -> Table:
    columns: list[Column | str] = ["cell", "runs"]
    for name in measures:
        columns += [Column(_title(name), _unit(name)), Column("±", _unit(name))]
    rows = [
        (cell.name, cell.runs, *(value for name in measures for value in _both(cell.estimates.get(name))))
        for cell in cells
    ]
    return Table(title, columns, rows, caption)


def _distributions(result: SweepResult, measures: Sequence[str]) -> Iterator[Distribution]:
    for name in _DISTRIBUTIONS:
        samples = result.samples(name) if name in measures else {}
        if len({value for values in samples.values() for value in values}) > 1:
            yield Distribution(f"{_title(name)} over seeds", samples, _unit(name), caption=MEASURES.get(name, ""))


def _rows(result: SweepResult) -> Table:
    """Return a table of all runs with their parameters and measures."""
    from steersman.simulation.sweep.tables import columns_of

    rows = result.rows
    names = [name for name in columns_of(rows) if any(row.get(name) is not None for row in rows)]
    return Table(
        "Runs",
        [Column(_title(name), _unit(name)) for name in names],
        [[row.get(name) for name in names] for row in rows],
    )


def _utilisation(measures: Sequence[str]) -> list[str]:
    return [name for name in measures if name.startswith(UTILISATION)]


def _both(found: Estimate | None) -> tuple[Cell, Cell]:
    return (None, None) if found is None else (found.mean, found.margin)


def _mean(cell: CellSummary, name: str) -> float:
    return cell.estimates[name].mean if name in cell.estimates else 0.0


def _title(name: str) -> str:
    return name.removeprefix(UTILISATION)


def _unit(name: str) -> str:
    if name.startswith(UTILISATION):
        return FRACTION
    return SECONDS if name in _SECONDS else ""
