# SPDX-License-Identifier: Apache-2.0
"""Something happens while a binding is on its way: somebody else was faster, or the pod or the node is gone."""

from __future__ import annotations

import pytest
from tests.e2e.faults.arena import FAST, Arena
from tests.e2e.faults.faults import Interruption, LostAnswer, Refusal, Selection
from tests.e2e.faults.proxy import FaultProxy

from steersman.testing.control_plane import ServerRefusal, Steersman, bound_to, wait_until

BINDINGS = Selection(method="POST", path="/binding")


def pod_in(path: str) -> str:
    """…/pods/NAME/binding"""
    return path.split("/")[-2]


def test_a_conflict_without_a_cause_is_tried_again(arena: Arena, proxy: FaultProxy) -> None:
    arena.create_nodes(2)
    conflict = proxy.add(Refusal(selection=BINDINGS, code=409, reason="Conflict", times=3))
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        arena.create_pods(10, "conflict")
        arena.all_bound(steersman, follower, 10)
        assert conflict.happened == 3


def test_a_pod_that_another_client_bound_first_stays_there(arena: Arena, proxy: FaultProxy) -> None:
    arena.create_nodes(2)
    elsewhere = proxy.add(
        Interruption(
            selection=BINDINGS, times=2, act=lambda path: arena.plane.admin.bind(pod_in(path), "not-of-this-cluster")
        )
    )
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        arena.create_pods(5, "contested")
        arena.all_bound(steersman, follower, 5)
        assert elsewhere.happened == 2
    assert [bound_to(pod) for pod in arena.plane.admin.list("Pod")].count("not-of-this-cluster") == 2


def test_a_binding_whose_answer_is_lost_is_not_repeated_elsewhere(arena: Arena, proxy: FaultProxy) -> None:
    arena.create_nodes(5)
    lost = proxy.add(LostAnswer(selection=BINDINGS, times=20))
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        arena.create_pods(20, "lost")
        arena.all_bound(steersman, follower, 20)
        assert lost.happened == 20


def test_a_pod_that_is_deleted_during_binding_leaves_its_room_to_others(arena: Arena, proxy: FaultProxy) -> None:
    arena.create_nodes(1, cpu="1")
    deleted = proxy.add(
        Interruption(selection=BINDINGS, times=1, act=lambda path: arena.plane.admin.delete("Pod", pod_in(path)))
    )
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        arena.create_pods(1, "deleted", cpu="1")
        wait_until(lambda: deleted.happened and not arena.plane.admin.list("Pod"), what="the deletion")
        arena.create_pods(1, "next", cpu="1")
        arena.all_bound(steersman, follower, 1)


def test_a_pod_that_is_recreated_during_binding_is_decided_again(arena: Arena, proxy: FaultProxy) -> None:
    arena.create_nodes(1, cpu="1")

    def recreate(path: str) -> None:
        arena.plane.admin.delete("Pod", pod_in(path))
        arena.create_pods(1, "again", cpu="500m")

    recreated = proxy.add(Interruption(selection=BINDINGS, times=1, act=recreate))
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        arena.create_pods(1, "again", cpu="1")
        arena.all_bound(steersman, follower, 1)
        assert recreated.happened == 1


def test_a_node_that_is_deleted_during_binding_causes_no_inconsistency(arena: Arena, proxy: FaultProxy) -> None:
    """The server accepts the binding nevertheless; a controller would remove the pod with the node."""
    arena.create_nodes(1, "doomed")
    gone = proxy.add(
        Interruption(selection=BINDINGS, times=1, act=lambda path: arena.plane.admin.delete("Node", "doomed0"))
    )
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        arena.create_pods(1, "orphan")
        wait_until(lambda: gone.happened, what="the deletion")
        wait_until(lambda: "doomed0" not in arena.cache_of(steersman), what="a scheduler that knows of it")
        arena.create_pods(3, "pending")
        pods = arena.judge(steersman, follower, 4)
        assert sum(map(bool, map(bound_to, pods))) == 1
        arena.create_nodes(1, "fresh")
        arena.all_bound(steersman, follower, 4)


def test_the_server_itself_refuses_a_second_binding(arena: Arena) -> None:
    """What everything here rests on."""
    arena.create_pods(1, "once")
    arena.plane.admin.bind("once-0", "first")
    with pytest.raises(ServerRefusal) as refusal:
        arena.plane.admin.bind("once-0", "second")
    assert refusal.value.code == 409
    assert bound_to(arena.plane.admin.get("Pod", "once-0")) == "first"
