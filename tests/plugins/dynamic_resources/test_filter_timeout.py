# SPDX-License-Identifier: Apache-2.0
"""A search that takes too long is given up, and the attempt with it."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.handle import DevicesFakeHandle

from steersman.api import Duration
from steersman.base.clock import ManualClock
from steersman.config import DynamicResourcesArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import Code
from steersman.scheduler.plugins.dynamic_resources import DynamicResources
from steersman.testing import make_device_class, make_node, make_pod, make_resource_claim, make_slice

NODE = make_node("n").info()
POD = make_pod("train").resource_claim("gpu").info()


class RunningClock(ManualClock):
    """A second passes whenever somebody looks."""

    def monotonic(self) -> float:
        self.advance(1.0)
        return super().monotonic()


def messages(seconds: int, gate: bool = True) -> str | None:
    handle = DevicesFakeHandle(
        make_resource_claim("gpu").asks("r", "any", count=4).obj(),
        make_device_class("any").obj(),
        make_slice("n").on_node("n").device("a").device("b").device("c").device("d").obj(),
        nodes=[NODE],
        gates={"DRASchedulerFilterTimeout": gate},
    )
    handle.clock = RunningClock()
    plugin = DynamicResources(DynamicResourcesArgs(filter_timeout=Duration.from_seconds(seconds)), handle)
    state = CycleState()
    assert plugin.pre_filter(state, POD, ()) is None
    status = plugin.filter(state, POD, NODE)
    assert status is None or status.code is Code.ERROR
    return None if status is None else status.message


def test_a_search_that_takes_too_long_ends_the_attempt() -> None:
    assert messages(2) == "node n: timed out trying to allocate devices"


@pytest.mark.parametrize(("seconds", "gate"), [(100, True), (0, True), (2, False)])
def test_a_longer_limit_none_or_the_gate_let_it_go_on(seconds: int, gate: bool) -> None:
    assert messages(seconds, gate) is None
