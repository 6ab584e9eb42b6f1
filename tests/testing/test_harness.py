# SPDX-License-Identifier: Apache-2.0
"""The harness runs the real scheduler: placements, refusals, waiting, eviction, time."""

from __future__ import annotations

import pytest

from steersman.framework import Code, PermitPlugin, PermitResult, PodInfo, Status
from steersman.testing import Harness, NotPlacedError, make_node, make_pod


class AllowsNobody(PermitPlugin):
    name = "AllowsNobody"

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult:
        return PermitResult(Status(Code.WAIT), timeout_seconds=5)


def test_a_pod_is_placed_and_counts_from_then_on() -> None:
    harness = Harness(nodes=[make_node("a").capacity(cpu="1"), make_node("b").capacity(cpu="2")])
    first = make_pod("first").req(cpu="2")
    assert harness.place(first) == "b"
    with pytest.raises(NotPlacedError, match="2 Insufficient cpu"):
        harness.place(make_pod("second").req(cpu="2"))
    harness.delete(first.obj())
    assert [type(decision).__name__ for decision in harness.run()] == ["Scheduled"]


def test_rejections_tell_the_first_objection_of_each_node() -> None:
    harness = Harness(
        nodes=[make_node("full").capacity(cpu="1"), make_node("cordoned").capacity(cpu="8").unschedulable()]
    )
    rejected = harness.rejections(make_pod("web").req(cpu="4"))
    assert {name: status.plugin for name, status in rejected.items()} == {
        "full": "NodeResourcesFit",
        "cordoned": "NodeUnschedulable",
    }


def test_a_permit_plugin_may_let_a_pod_wait_until_its_time_is_over() -> None:
    with Harness(plugins=[AllowsNobody], nodes=[make_node("a").capacity(cpu="1")]) as harness:
        harness.add(make_pod("web"))
        harness.advance(4)
        assert len(harness.scheduler.waiting_pods) == 1
        harness.advance(2)
        assert "AllowsNobody" in harness.message(make_pod("web"))


def test_a_pod_of_higher_priority_takes_the_room_of_another() -> None:
    harness = Harness(nodes=[make_node("a").capacity(cpu="1")])
    assert harness.place(make_pod("low").req(cpu="1").priority(1)) == "a"
    assert harness.place(make_pod("high").req(cpu="1").priority(10)) == "a"
