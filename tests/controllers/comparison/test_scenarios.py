# SPDX-License-Identifier: Apache-2.0
"""Scenario files say what they mean, and recordings belong to the scenarios that are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.controllers.comparison.changes import completed, has, merged
from tests.controllers.comparison.recordings import RECORDED, recorded_result
from tests.controllers.comparison.scenario import Scenario, all_scenarios, load


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("[{aply: []}]", r"wrong.yaml: Object contains unknown field `aply`"),
        ("[{snapshot: a, delete: {kind: Pod, name: b}}]", r"wrong.yaml: steps\[0\]: set exactly one of apply"),
        ("[{}]", r"wrong.yaml: steps\[0\]: set exactly one of apply"),
    ],
)
def test_a_step_that_means_nothing_is_refused(tmp_path: Path, steps: str, said: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(f"{{shows: nothing, steps: {steps}}}")

    with pytest.raises(ValueError, match=said):
        load(path)


@pytest.mark.parametrize("scenario", all_scenarios(), ids=lambda scenario: scenario.name)
def test_every_scenario_has_a_recording_of_its_present_text(scenario: Scenario) -> None:
    assert recorded_result(scenario).snapshots["end"]


def test_no_recording_is_left_over() -> None:
    assert {path.stem for path in RECORDED.glob("*.json")} == {scenario.name for scenario in all_scenarios()}


def test_merge_patches_leave_the_original_alone() -> None:
    before = {"spec": {"a": 1, "b": {"c": 2}}}

    assert merged(before, {"spec": {"a": None, "b": {"d": 3}}}) == {"spec": {"b": {"c": 2, "d": 3}}}
    assert before == {"spec": {"a": 1, "b": {"c": 2}}}


def test_a_change_is_completed_by_what_the_server_stored_and_by_nothing_else() -> None:
    stored = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"replicas": 1, "containers": [{"name": "main", "policy": "x"}]},
    }

    assert completed({"spec": {"containers": [{"name": "main"}], "paused": None}}, stored) == {
        "spec": {"containers": [{"name": "main", "policy": "x"}], "paused": None}
    }


def test_what_is_waited_for_is_a_part_of_what_is_found() -> None:
    found = {"status": {"ready": 2, "conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "False"}]}}

    assert has(found, {"status": {"conditions": [{"type": "B"}]}})
    assert not has(found, {"status": {"conditions": [{"type": "A", "status": "False"}]}})
    assert not has(found, {"status": {"ready": 3}})
