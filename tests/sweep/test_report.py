# SPDX-License-Identifier: Apache-2.0
"""The report of a sweep."""

from __future__ import annotations

from pathlib import Path

from tests.sweep.sweeps import write_scenario, write_sweep

from steersman.base.report import BarChart, Distribution, Figures, Table, render_html
from steersman.simulation.sweep import run


def test_a_report_has_cells_distributions_and_every_run(tmp_path: Path) -> None:
    report = run(write_sweep(tmp_path, seeds=6, description="Does packing help?"), workers=1).report(
        ["steersman sweep"]
    )
    assert report.question == "Does packing help?"
    assert report.answer.startswith("12 runs in 2 cells: with ")
    tables = {section.title: section for section in report.sections if isinstance(section, Table)}
    assert [row[:2] for row in tables["Cells"].rows] == [("spread cluster", 6), ("pack cluster", 6)]
    assert len(tables["Runs"].rows) == 12
    (bars,) = [section for section in report.sections if isinstance(section, BarChart)]
    assert bars.categories == ["cpu", "memory", "pods"]
    (figures,) = [section for section in report.sections if isinstance(section, Figures)]
    assert figures.values == {"runs": 12, "cells": 2, "failed": 0}
    spreads = [section for section in report.sections if isinstance(section, Distribution)]
    assert all(set(section.samples) == {"spread cluster", "pack cluster"} for section in spreads)
    assert "Does packing help?" in render_html(report)


def test_what_differs_between_seeds_is_shown_as_a_distribution(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    path = write_sweep(tmp_path, configurations=None, inputs=[{"scenario": "day.yaml"}], parameters={"rate": [30, 90]})
    report = run(path, workers=1).report()
    spreads = {section.title: section for section in report.sections if isinstance(section, Distribution)}
    assert [len(values) for values in spreads["cpu over seeds"].samples.values()] == [3, 3]
    assert list(spreads["cpu over seeds"].samples) == ["default day rate=30", "default day rate=90"]


def test_runs_that_failed_are_in_the_notes(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    text = (tmp_path / "day.yaml").read_text()
    (tmp_path / "day.yaml").write_text(text.replace("apply: more.yaml", "cordon: nobody"))
    report = run(write_sweep(tmp_path, configurations=None, inputs=[{"scenario": "day.yaml"}]), workers=1).report()
    assert report.answer == "3 runs in 1 cell; none could be carried out."
    assert report.notes[0].startswith("3 runs failed, the first of them: ")
