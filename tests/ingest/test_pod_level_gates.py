# SPDX-License-Identifier: Apache-2.0
"""Requests of whole pods, and resizes of them, count only where their gates are on."""

from __future__ import annotations

import msgspec
import pytest

from steersman import api
from steersman.config import FeatureGates
from steersman.scheduler.ingest.pod_level_resources import seen_pods
from steersman.simulation import Simulation
from steersman.testing import make_node, make_pod

RESIZE_OFF = {"InPlacePodLevelResourcesVerticalScaling": False}
BOTH_OFF = {"PodLevelResources": False, **RESIZE_OFF}
NODE = make_node("n1").capacity(cpu="8", memory="16Gi", pods="110")


def shrinking(name: str = "shrinks") -> api.Pod:
    """Asks for one core as a whole; eight are in force, and two of a container."""
    pod = make_pod(name).req(cpu="2").pod_req(cpu="1").node("n1").obj()
    status = api.PodStatus(resources=api.ResourceRequirements(requests={"cpu": "8"}), allocated_resources={"cpu": "8"})
    return msgspec.structs.replace(pod, status=status)


@pytest.mark.parametrize(
    ("gates", "fitting"), [({}, 0), (RESIZE_OFF, 7), (BOTH_OFF, 6)], ids=["both on", "no resize", "both off"]
)
def test_a_running_pod_takes_what_the_gates_let_count(gates: dict[str, bool], fitting: int) -> None:
    waiting = [make_pod(f"p{index}").req(cpu="1").obj() for index in range(8)]
    result = Simulation.load(NODE.obj(), shrinking(), *waiting, gates=gates).run()
    assert result.summary.scheduled == fitting


@pytest.mark.parametrize(("gates", "pending"), [({}, 1), (RESIZE_OFF, 1), (BOTH_OFF, 0)])
def test_a_new_pod_asks_for_what_the_gates_let_count(gates: dict[str, bool], pending: int) -> None:
    result = Simulation.load(NODE.obj(), make_pod("web").req(cpu="1").pod_req(cpu="100").obj(), gates=gates).run()
    assert result.summary.pending == pending


def test_an_explanation_counts_as_the_decision_does() -> None:
    pod = make_pod("web").req(cpu="1").pod_req(cpu="100").obj()
    assert Simulation.load(NODE.obj(), pod, gates=BOTH_OFF).run().explain("web").node_explanation("n1").fits


def test_a_pod_is_the_very_same_where_nothing_is_hidden() -> None:
    plain = make_pod("web").req(cpu="1").obj()
    assert seen_pods(FeatureGates())(shrinking()) == shrinking()
    assert seen_pods(FeatureGates(BOTH_OFF))(plain) is plain
