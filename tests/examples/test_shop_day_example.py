# SPDX-License-Identifier: Apache-2.0
"""The example of a scenario: its first hours go as its documentation says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.commands import steersman

from steersman.simulation.scenario import ScenarioResult, load_scenario, run_scenario

EXAMPLE = Path(__file__).parents[2] / "examples" / "shop_day" / "scenario.yaml"


@pytest.fixture(scope="module")
def morning() -> ScenarioResult:
    return run_scenario(EXAMPLE, until=3.5 * 3600, parameters={"reports": 10})


def test_pools_grow_for_reports_and_for_a_rollout(morning: ScenarioResult) -> None:
    texts = [milestone.text for milestone in morning.milestones]
    assert any(text.startswith("pool batch grows from 0 to 1") for text in texts)
    rollout = next(index for index, text in enumerate(texts) if text.startswith("new version"))
    assert any(text.startswith("pool general grows") for text in texts[rollout:])


def test_the_morning_is_as_expected(morning: ScenarioResult) -> None:
    assert morning.is_as_expected
    assert morning.numbers["completed"] > 5
    assert morning.numbers["nodesRemoved"] > 0


def test_parameters_are_declared() -> None:
    assert load_scenario(EXAMPLE).parameters == {"peak": 18, "reports": 40}


def test_the_example_runs_by_its_name() -> None:
    result = steersman("simulate", "--example", "shop_day", "--until", "10m")
    assert result.stdout.splitlines()[0] == "Scenario shop-day: seed 0, peak=18, reports=40"
