# SPDX-License-Identifier: Apache-2.0
"""The report of a scenario: its answer, its numbers and milestones, and the page that the command writes."""

from __future__ import annotations

from pathlib import Path

import yaml
from tests.cli.commands import steersman
from tests.scenario.scenarios import a_deployment, a_scenario

from steersman.base.report import Table
from steersman.simulation.scenario import run_scenario
from steersman.simulation.scenario.result import scenario_report

STEP = {"at": 60, "apply": a_deployment(replicas=9)}


def test_the_report_says_which_expectation_is_not_met() -> None:
    result = run_scenario(a_scenario(name="small", timeline=[STEP], expect={"pending": 0, "nodes": 2}))
    report = scenario_report(result, ["steersman simulate"])
    assert (report.title, report.fits) == ("Scenario small", False)
    assert report.answer == "Not as expected: pending is 1, expected 0."
    numbers, milestones = (section for section in report.sections[:2] if isinstance(section, Table))
    assert ("pending", 1, "0", "NO", "pods at the end that wait for a node") in numbers.rows
    assert (60.0, "1m0s", "timeline", "applied Deployment default/web") in milestones.rows


def test_the_report_says_that_all_is_well() -> None:
    report = scenario_report(run_scenario(a_scenario(timeline=[STEP], expect={"pending": 1})))
    assert report.fits
    assert report.answer.endswith("All expectations are met.")


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    path, page = tmp_path / "small.yaml", tmp_path / "small.html"
    path.write_text(yaml.safe_dump(a_scenario(timeline=[STEP])))
    result = steersman("simulate", "--scenario", path, "--report", page)
    assert result.exit_code == 0, result.output
    assert "applied Deployment default/web" in page.read_text(encoding="utf-8")


def test_every_meaning_of_a_number_can_be_read_alone() -> None:
    """The report of a sweep shows single ones as captions."""
    from steersman.simulation.scenario import MEASURES

    for name, meaning in MEASURES.items():
        assert not any(word in meaning.split() for word in ("those", "same", "them", "they")), (name, meaning)
