# SPDX-License-Identifier: Apache-2.0
"""Records outlive versions: those of formats 2 and 3, which earlier versions have written, are read and decided the same.

`format_2/simulation` is `steersman simulate --example quickstart --seed 1 --record`, `format_2/live` a scheduler of a small
cluster with a pod that fits and one that does not. `format_3/live` is the busy time of `test_live_records`, with a
preemption; `format_3/simulation` has replicas that were placed together, a pod that was left out, a preemption, a deletion and
a crashed node.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.commands import steersman

from steersman import api
from steersman.config import FeatureGates, default_configuration
from steersman.record import history, replay, simulation_at
from steersman.record.comparison import comparable
from steersman.record.frames import DecisionBody, RunBody
from steersman.record.recorded_run import run_body, scheduler_options
from steersman.scheduler.assembly.registry import default_registry
from steersman.scheduler.diagnosis import Outcome

RECORDS = Path(__file__).parent
FORMAT_2, FORMAT_3 = RECORDS / "format_2", RECORDS / "format_3"


@pytest.mark.parametrize(
    ("record", "decisions"),
    [
        (FORMAT_2 / "simulation", 18),
        (FORMAT_2 / "live", 2),
        (FORMAT_3 / "simulation", 53),
        (FORMAT_3 / "live", 18),
    ],
)
def test_a_record_of_an_earlier_format_decides_the_same(record: Path, decisions: int) -> None:
    found = replay(record)
    assert found.is_same
    assert found.same == decisions


def test_the_history_of_a_record_of_format_2_is_reported() -> None:
    assert [entry.event for entry in history(FORMAT_2 / "live", "small").entries] == ["added", "scheduled", "bound"]
    events = [entry.event for entry in history(FORMAT_2 / "simulation", "report").entries]
    assert events[:2] == ["added", "unschedulable"]
    assert events[-2:] == ["scheduled", "bound"]


def test_the_history_of_a_record_of_format_3_is_reported() -> None:
    large = [entry.event for entry in history(FORMAT_3 / "live", "large").entries]
    assert (large[0], large[1], large[-2:]) == ("added", "unschedulable", ["scheduled", "bound"])
    assert [entry.event for entry in history(FORMAT_3 / "simulation", "mighty").entries] == [
        *("added", "unschedulable", "nominated", "unschedulable", "scheduled", "bound")
    ]
    assert [entry.event for entry in history(FORMAT_3 / "simulation", "p-7").entries][:3] == [
        *("added", "scheduled", "bound")
    ]


def test_a_moment_of_a_record_of_format_3_is_a_simulation() -> None:
    with simulation_at(FORMAT_3 / "simulation", 30.0) as simulation:
        assert simulation.now == 30.0
        assert simulation.cluster.get(api.Pod, "default/p-7").spec.node_name
        assert simulation.cluster.get(api.Pod, "default/left").spec.node_name == ""
    last = history(FORMAT_3 / "live", "large").entries[-1].at
    with simulation_at(FORMAT_3 / "live", last) as simulation:
        assert simulation.cluster.get(api.Pod, "default/large").spec.node_name == "big"


def test_a_pod_in_a_record_of_format_3_is_explained() -> None:
    waiting = steersman("explain", "mighty", "--record", FORMAT_3 / "simulation", "--at", "25s", "-o", "json")
    assert json.loads(waiting.stdout)["cause"]["code"] == "InsufficientResources"
    placed = steersman("explain", "large", "--record", FORMAT_3 / "live", "-o", "json")
    assert json.loads(placed.stdout)["node"] == "big"


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
