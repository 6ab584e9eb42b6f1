# SPDX-License-Identifier: Apache-2.0
"""Records outlive versions: those of format 2, which an earlier version has written, are read and decided the same.

`format_2/simulation` is `steersman simulate --example quickstart --seed 1 --record`, `format_2/live` a scheduler of a small
cluster with a pod that fits and one that does not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.record import history, replay

RECORDS = Path(__file__).parent / "format_2"


@pytest.mark.parametrize(("name", "decisions"), [("simulation", 18), ("live", 2)])
def test_a_record_of_format_2_decides_the_same(name: str, decisions: int) -> None:
    found = replay(RECORDS / name)
    assert found.is_same
    assert found.same == decisions


def test_a_replay_says_that_fewer_bindings_were_under_way_at_once() -> None:
    assert any("had 16 bindings under way at once" in note for note in replay(RECORDS / "live").notes)


def test_the_history_of_a_record_of_format_2_is_told() -> None:
    assert [entry.event for entry in history(RECORDS / "live", "small").entries] == ["added", "scheduled", "bound"]
    events = [entry.event for entry in history(RECORDS / "simulation", "report").entries]
    assert events[:2] == ["added", "unschedulable"]
    assert events[-2:] == ["scheduled", "bound"]
