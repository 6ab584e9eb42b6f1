# SPDX-License-Identifier: Apache-2.0
"""A search that is too long for a cycle goes on after it, and the pod's next cycle finds what it came to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.plugins.dynamic_resources.handle import OnePlugin

from steersman.api import Duration
from steersman.base.clock import ManualClock
from steersman.config import DynamicResourcesArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.postponement import CyclePostponed, SlicedWork
from steersman.framework.status import Status
from steersman.scheduler.plugins.dynamic_resources import CLAIMS_STATE_KEY, CycleClaims, DynamicResources
from steersman.testing import make_device_class, make_node, make_pod, make_resource_claim, make_slice
from steersman.testing.devices import ResourceClaimBuilder, make_device

NODES = [make_node(name).info() for name in "ab"]
POD = make_pod("train").resource_claim("c").info()
IMPOSSIBLE = make_resource_claim("c").asks("many", "any", count=4).asks("never", "any", "false")


class HurriedClock(ManualClock):
    """More time than a cycle has passes whenever somebody looks."""

    def monotonic(self) -> float:
        self.advance(0.021)
        return super().monotonic()


class Postponing(OnePlugin):
    """The plugin under a host that postpones cycles."""

    def __init__(self, *claims: ResourceClaimBuilder, seconds: int = 10) -> None:
        slices = [make_slice(name).on_node(name) for name in "ab"]
        slices = [each.devices(*map(make_device, "stuvwxyz")) for each in slices]
        super().__init__(make_device_class("any"), *slices, *claims, nodes=NODES)
        self.handle.clock = HurriedClock()
        self.handle.postpones = True
        args = DynamicResourcesArgs(filter_timeout=Duration.from_seconds(seconds))
        self.plugin = DynamicResources(args, self.handle)

    def cycle(self, pod: PodInfo = POD, nodes: Sequence[NodeInfo] = NODES) -> dict[str, Status | None] | SlicedWork:
        """What Filter says of each node, or the work that the cycle waits for."""
        self.state = CycleState()
        assert self.plugin.pre_filter(self.state, pod, ()) is None
        try:
            return {node.name: self.plugin.filter(self.state, pod, node) for node in nodes}
        except CyclePostponed as postponed:
            return postponed.work

    def finish(self, pod: PodInfo = POD) -> tuple[dict[str, str], int]:
        """Cycles and work in turn until all nodes have an answer; and how many cycles that took."""
        for count in range(1, 1000):
            answers = self.cycle(pod)
            if isinstance(answers, dict):
                return {name: "" if status is None else status.message for name, status in answers.items()}, count
            assert sum(1 for _ in answers) >= 0
        raise AssertionError("no end")

    def found(self, node: str) -> list[str]:
        cycle = self.state.read(CLAIMS_STATE_KEY, CycleClaims)
        assert cycle is not None
        allocation = cycle.allocation_on(node)
        return [] if allocation is None else [one.device.id[2] for each in allocation.found for one in each]


def test_cycles_and_work_in_turn_come_to_what_one_long_cycle_comes_to() -> None:
    answers, cycles = Postponing(IMPOSSIBLE).finish()
    assert answers == dict.fromkeys("ab", "cannot allocate all claims")
    assert cycles > 1


def test_devices_that_were_found_after_the_cycle_are_taken_in_the_next_one() -> None:
    one = Postponing(make_resource_claim("c").asks("r", "any", count=4))
    answers, cycles = one.finish()
    assert answers == {"a": "", "b": ""}
    assert cycles > 1
    assert one.plugin.reserve(one.state, POD, "a") is None
    assert one.found("a") == ["s", "t", "u", "v"]


def test_pods_whose_claims_are_allocated_in_part_get_on_from_cycle_to_cycle() -> None:
    allocated = make_resource_claim("old").asks("r", "any").allocated(("r", "gpu.example.com", "a", "s"), on_node="a")
    one = Postponing(allocated, make_resource_claim("new").asks("r", "any", count=3))
    answers, cycles = one.finish(make_pod("train").resource_claim("old").resource_claim("new").info())
    assert answers == {"a": "", "b": "resourceclaim not available on the node"}
    assert cycles > 1


def test_a_device_that_was_taken_meanwhile_is_not_given_again() -> None:
    one = Postponing(make_resource_claim("c").asks("r", "any", count=2), make_resource_claim("d").asks("r", "any"))
    work = one.cycle(nodes=NODES[:1])
    assert not isinstance(work, dict)
    one.handle.store.put(make_resource_claim("d").asks("r", "any").allocated(("r", "gpu.example.com", "a", "s")).obj())
    list(work)
    one.finish()
    assert one.found("a") == ["t", "u"]


def test_slices_that_changed_meanwhile_are_searched_again() -> None:
    one = Postponing(make_resource_claim("c").asks("r", "any", count=2))
    work = one.cycle(nodes=NODES[:1])
    assert not isinstance(work, dict)
    one.handle.store.put(make_slice("a").on_node("a").device("new").obj())
    list(work)
    answers, _ = one.finish()
    assert answers == {"a": "cannot allocate all claims", "b": ""}


def test_slices_of_other_nodes_may_change_all_the_time() -> None:
    one = Postponing(IMPOSSIBLE)
    for count in range(100):
        one.handle.store.put(make_slice("elsewhere").on_node("elsewhere").pool("elsewhere", generation=count).obj())
        answers = one.cycle()
        if isinstance(answers, dict):
            assert count == len(NODES)
            return
        list(answers)
    raise AssertionError("every cycle began anew")


def test_pods_whose_claims_are_allocated_in_part_see_changed_slices() -> None:
    allocated = make_resource_claim("old").asks("r", "any").allocated(("r", "gpu.example.com", "a", "s"), on_node="a")
    one = Postponing(allocated, make_resource_claim("new").asks("r", "any", count=3))
    pod = make_pod("train").resource_claim("old").resource_claim("new").info()
    one.finish(pod)
    one.handle.store.put(make_slice("a").on_node("a").device("s").device("new").obj())
    assert one.finish(pod)[0]["a"] == "cannot allocate all claims"


def test_a_search_that_is_too_long_for_all_cycles_ends_the_attempt_and_is_not_repeated_while_nothing_changes() -> None:
    one = Postponing(IMPOSSIBLE, seconds=1)
    work = one.cycle()
    assert not isinstance(work, dict)
    list(work)
    for _ in range(2):
        ended = one.cycle(nodes=NODES[:1])
        assert isinstance(ended, dict)
        assert ended["a"] is not None
        assert not ended["a"].is_rejected
        assert ended["a"].message == "node a: timed out trying to allocate devices"
    one.handle.store.put(make_resource_claim("d").asks("r", "any").allocated(("r", "gpu.example.com", "b", "s")).obj())
    assert isinstance(one.cycle(nodes=NODES[:1]), dict)
    assert not isinstance(one.cycle(nodes=NODES[:1]), dict)


def test_reserve_is_not_postponed() -> None:
    one = Postponing(make_resource_claim("c").asks("r", "any", count=4))
    one.state = CycleState()
    assert one.plugin.pre_filter(one.state, POD, ()) is None
    status = one.plugin.reserve(one.state, POD, "a")
    assert status is not None
    assert status.message == "claim allocation not found for node"


@pytest.mark.parametrize("seconds", [0, 1])
def test_closing_the_work_of_a_pod_that_is_gone_leaves_nothing_behind(seconds: int) -> None:
    one = Postponing(IMPOSSIBLE, seconds=seconds)
    work = one.cycle()
    assert not isinstance(work, dict)
    next(work, None)
    work.close()
    assert not isinstance(one.cycle(), dict)
