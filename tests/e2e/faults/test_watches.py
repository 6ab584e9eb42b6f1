# SPDX-License-Identifier: Apache-2.0
"""Watches end in every way there is: the scheduler follows on, and its picture of the cluster stays true."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.e2e.faults.arena import FAST, Arena
from tests.e2e.faults.faults import CutMidLine, ExpiredLine, Fault, Refusal, Selection
from tests.e2e.faults.proxy import FaultProxy

from steersman.testing.control_plane import Steersman, wait_until

PODS = Selection(method="GET", path="/pods", watches=True)
NODES = Selection(method="GET", path="/nodes", watches=True)
PODS_OR_NODES = (PODS, NODES)


def _end_watches(arena: Arena, proxy: FaultProxy, fault: Callable[[Selection], Fault]) -> None:
    """While pods come, each kind's watch meets the fault twice."""
    arena.create_nodes(5)
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        arena.create_pods(20, "before")
        wait_until(lambda: follower.bound >= 20, what="pods before the fault")
        faults = [proxy.add(fault(selection)) for selection in PODS_OR_NODES]
        arena.create_pods(40, "meanwhile")
        arena.create_nodes(1, "late")
        wait_until(lambda: all(one.happened for one in faults), what="the faults")
        arena.create_pods(20, "after")
        arena.all_bound(steersman, follower, 80)
        assert steersman.stop() == 0


def test_a_watch_that_is_cut_in_the_middle_of_a_line_is_resumed(arena: Arena, proxy: FaultProxy) -> None:
    _end_watches(arena, proxy, lambda selection: CutMidLine(selection=selection, times=2))


def test_a_watch_that_has_expired_begins_with_a_new_list(arena: Arena, proxy: FaultProxy) -> None:
    _end_watches(arena, proxy, lambda selection: ExpiredLine(selection=selection, times=2))


def test_deletions_that_an_expired_watch_hid_are_found_by_the_list(arena: Arena, proxy: FaultProxy) -> None:
    arena.create_nodes(1, cpu="1")
    arena.create_pods(10, "first")
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        wait_until(lambda: follower.bound >= 10, what="a full node")
        with proxy.suffering(ExpiredLine(selection=PODS)) as expired:
            arena.plane.admin.delete_all("Pod")
            wait_until(lambda: expired.happened, what="a hidden deletion")
        arena.create_pods(10, "second")
        arena.all_bound(steersman, follower, 10)


@pytest.mark.parametrize("watches", [True, False], ids=["watches", "lists"])
def test_refusals_with_410_are_overcome(arena: Arena, proxy: FaultProxy, watches: bool) -> None:
    arena.create_nodes(3)
    selection = Selection(method="GET", path="/pods", watches=watches)
    gone = proxy.add(Refusal(selection=selection, code=410, reason="Expired", times=3))
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        arena.create_pods(20, "gone")
        wait_until(lambda: gone.happened == 3, what="the refusals")
        arena.all_bound(steersman, follower, 20)
