# SPDX-License-Identifier: Apache-2.0
"""Records outlive versions: those of format 2, which an earlier version has written, are read and decided the same.

`format_2/simulation` is `steersman simulate --example quickstart --seed 1 --record`, `format_2/live` a scheduler of a small
cluster with a pod that fits and one that does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from steersman.assembly.registry import default_registry
from steersman.config import FeatureGates, default_configuration
from steersman.explain import Outcome
from steersman.record import history, replay
from steersman.record.comparison import comparable
from steersman.record.frames import DecisionBody, RunBody
from steersman.record.recorded_setup import run_body, scheduler_options

RECORDS = Path(__file__).parent / "format_2"


@pytest.mark.parametrize(("name", "decisions"), [("simulation", 18), ("live", 2)])
def test_a_record_of_format_2_decides_the_same(name: str, decisions: int) -> None:
    found = replay(RECORDS / name)
    assert found.is_same
    assert found.same == decisions


def test_the_history_of_a_record_of_format_2_is_told() -> None:
    assert [entry.event for entry in history(RECORDS / "live", "small").entries] == ["added", "scheduled", "bound"]
    events = [entry.event for entry in history(RECORDS / "simulation", "report").entries]
    assert events[:2] == ["added", "unschedulable"]
    assert events[-2:] == ["scheduled", "bound"]


def test_digests_that_an_earlier_version_may_have_rounded_are_not_compared() -> None:
    """Sums of floating-point numbers were exact below 2**53."""
    rounded = DecisionBody("default/a", "u", "default-scheduler", Outcome.SCHEDULED, 1.0, digest="3fffffffffffff")
    small = msgspec.structs.replace(rounded, digest="fffffffffffff")
    earlier = _run(has_exact_digests=False)
    assert comparable(rounded, earlier).digest == ""
    assert comparable(small, earlier) is small
    assert comparable(rounded, _run(has_exact_digests=True)) is rounded


def test_a_replay_has_as_many_bindings_under_way_as_the_record() -> None:
    assert scheduler_options(_run(bindings_at_once=7)).bindings_at_once == 7


def _run(**fields: Any) -> RunBody:
    body = run_body("simulate", default_configuration(), FeatureGates(), default_registry(), 1, 0.0)
    return msgspec.structs.replace(body, **fields)
