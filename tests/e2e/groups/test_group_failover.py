# SPDX-License-Identifier: Apache-2.0
"""A scheduler that is killed in the middle of binding a gang: its successor completes the gang, as kube-scheduler's does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import pytest
from tests.e2e.faults.following import PodFollower
from tests.e2e.groups.groups import GATES

from steersman.testing import make_node, make_pod, make_pod_group
from steersman.testing.control_plane import (
    ControlPlane,
    JsonObject,
    KubeScheduler,
    ServerRefusal,
    Steersman,
    bound_to,
    condition,
    manifest,
    wait_until,
)

SIZE: Final = 60
SLOW: Final = {"clientConnection": {"qps": 10, "burst": 10}}
"""Limits at which the bindings of the gang take several seconds."""


def left_behind(
    plane: ControlPlane, kind: type[KubeScheduler] | type[Steersman]
) -> tuple[JsonObject, list[JsonObject]]:
    """Kill a scheduler while it binds a gang, let another one finish, and return the group and its members."""
    admin = plane.admin
    node = make_node("n1").capacity(cpu="64", memory="64Gi", pods=2 * SIZE)
    admin.create_nodes(manifest(node))
    admin.create(manifest(make_pod_group("gang").gang(SIZE)))
    admin.create_many([manifest(make_pod(f"member-{index}").in_group("gang").req(cpu="1")) for index in range(SIZE)])
    with PodFollower(plane) as follower:
        with kind(plane, config=SLOW, flags=[GATES]) as first:
            wait_until(lambda: follower.bound >= SIZE // 6, what="a part of the gang on its node")
            first.kill()
        bound = sum(bool(bound_to(pod)) for pod in admin.list("Pod"))
        assert bound < SIZE, "the scheduler was killed too late"
        with kind(plane, flags=[GATES]):
            wait_until(lambda: all(map(bound_to, admin.list("Pod"))), 60.0, what="a node for every member")
            wait_until(lambda: _is_scheduled(admin.get("PodGroup", "gang")), what="the condition of the group")
        wait_until(lambda: follower.bound == SIZE, what="a follower who has seen all")
        assert not {name: nodes for name, nodes in follower.nodes.items() if len(list(filter(None, nodes))) > 1}
    return admin.get("PodGroup", "gang"), admin.list("Pod")


def _is_scheduled(group: JsonObject) -> bool:
    found = condition(group, "PodGroupInitiallyScheduled")
    return found is not None and found["status"] == "True"


def conditions(obj: JsonObject) -> list[tuple[str, str, str, str]]:
    found = obj.get("status", {}).get("conditions", [])
    return sorted((one["type"], one["status"], one.get("reason", ""), one.get("message", "")) for one in found)


@pytest.fixture(autouse=True)
def empty_cluster(groups_plane: ControlPlane) -> Iterator[None]:
    clear(groups_plane)
    yield
    clear(groups_plane)


def clear(plane: ControlPlane) -> None:
    admin = plane.admin
    for kind in ("Pod", "PodGroup", "Node"):
        admin.delete_all(kind)
    for group in admin.list("PodGroup"):
        with contextlib.suppress(ServerRefusal):
            admin.patch("PodGroup", group["metadata"]["name"], {"metadata": {"finalizers": None}})
    wait_until(lambda: not admin.list("Pod") and not admin.list("PodGroup"), what="an empty cluster")


def test_the_successor_of_a_killed_scheduler_completes_the_gang_like_kube_scheduler(groups_plane: ControlPlane) -> None:
    group, pods = left_behind(groups_plane, KubeScheduler)
    clear(groups_plane)
    our_group, our_pods = left_behind(groups_plane, Steersman)
    assert conditions(our_group) == conditions(group)
    assert sorted(map(conditions, our_pods)) == sorted(map(conditions, pods))
    assert [pod.get("status", {}).get("nominatedNodeName") for pod in our_pods] == [
        pod.get("status", {}).get("nominatedNodeName") for pod in pods
    ]
