# SPDX-License-Identifier: Apache-2.0
"""`steersman simulate --scenario`: what it prints, its options, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.commands import refused, steersman
from tests.scenario.scenarios import a_deployment, a_node, a_pod, a_scenario


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return write(tmp_path, expect={"pending": "<= ${allowed}"}, parameters={"allowed": 0, "replicas": 3})


def write(folder: Path, **parts: Any) -> Path:
    deployment = a_deployment()
    deployment["spec"]["replicas"] = "${replicas}"
    document = a_scenario(name="small", timeline=[{"at": "1m", "apply": deployment}], **parts)
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_scenario_prints_milestones_numbers_and_expectations_in_80_columns(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEERSMAN_WIDTH", "80")
    result = steersman("simulate", "--scenario", scenario, "--seed", 3)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "Scenario small: seed 3, allowed=0, replicas=3"
    assert "1m0s  applied Deployment default/web" in lines
    assert any(line.split()[:5] == ["pending", "0", "<=", "0", "met"] for line in lines)
    assert lines[-1] == "3 of 3 pods scheduled on 2 nodes; 3 attempts in 1m0s of virtual time"
    assert max(map(len, lines)) <= 80


def test_an_expectation_that_is_not_met_exits_with_1(scenario: Path) -> None:
    result = steersman("simulate", "--scenario", scenario, "--set", "replicas=9")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "Error: pending is 1, expected <= 0"
    assert "NOT MET" in result.stdout
    assert steersman("simulate", "--scenario", scenario, "--set", "replicas=9", "--set", "allowed=1").exit_code == 0


def test_json_has_the_scenario_beside_the_result(scenario: Path) -> None:
    document = json.loads(steersman("simulate", "--scenario", scenario, "-o", "json").stdout)
    assert document["scenario"]["parameters"] == {"allowed": 0, "replicas": 3}
    assert document["scenario"]["numbers"]["pending"] == document["summary"]["pending"] == 0
    assert document["scenario"]["expectations"] == [
        {"measure": "pending", "expected": "<= 0", "value": 0, "isMet": True}
    ]
    assert [milestone["at"] for milestone in document["scenario"]["milestones"]] == [60, 60]


def test_more_objects_an_end_and_explanations_are_added_by_options(scenario: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text(yaml.safe_dump_all([a_node("n3"), a_pod("early")]))
    options = ("-f", more, "--until", "2m", "--explain", "early")
    result = steersman("simulate", "--scenario", scenario, *options)
    assert result.exit_code == 0, result.output
    assert "Pod default/early, Running, on " in result.stdout
    assert result.stdout.splitlines()[-1].endswith("on 3 nodes; 4 attempts in 2m0s of virtual time")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "replica=2"), 'did you mean "replicas"?'),
        (("--set", "replicas"), "'replicas' is not of the form name=value"),
        (("--example", "quickstart"), "--example and --scenario do not go together"),
        (("--no-controllers",), "write controllers: false there"),
    ],
)
def test_options_that_cannot_be_used_are_refused(scenario: Path, options: tuple[str, ...], message: str) -> None:
    result = steersman("simulate", "--scenario", scenario, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_values_need_a_scenario(tmp_path: Path) -> None:
    assert "--set is for --scenario" in steersman("simulate", "-f", tmp_path, "--set", "a=1").stderr


def test_a_file_that_is_no_scenario_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(yaml.safe_dump(a_pod("p")))
    assert "is no Scenario" in refused("simulate", "--scenario", path)
