# SPDX-License-Identifier: Apache-2.0
"""Steersman beside the real kube-scheduler, each with pods of its own, on the same nodes: no node gets too much.

Both decide on what they have seen, and only a kubelet would refuse a pod that two schedulers gave the same room. While a
node has more room than both can give away before they see each other's pods, that cannot happen; `docs/resilience.md` has
figures for nodes that are full to the last pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import (
    ControlPlane,
    JsonObject,
    KubeScheduler,
    Steersman,
    bound_to,
    condition,
    manifest,
    wait_until,
)

OURS, THEIRS = "steersman", "default-scheduler"
FAST: dict[str, Any] = {"clientConnection": {"qps": 5000, "burst": 5000}}
NODES, PODS_PER_NODE, MILLICORES = 10, 40, 100
CAPACITY = NODES * PODS_PER_NODE


@contextmanager
def both(plane: ControlPlane) -> Iterator[None]:
    """Both schedulers, on empty nodes."""
    cpu = f"{PODS_PER_NODE * MILLICORES}m"
    nodes = (make_node(f"n{index}").capacity(cpu=cpu, memory="64Gi", pods="110") for index in range(NODES))
    plane.admin.create_nodes(*map(manifest, nodes))
    with (
        KubeScheduler(plane, config=FAST),
        Steersman(plane, config={**FAST, "profiles": [{"schedulerName": OURS}]}),
    ):
        yield


def pods(count: int, scheduler: str, prefix: str) -> list[JsonObject]:
    built = (make_pod(f"{prefix}-{index}").req(cpu=f"{MILLICORES}m").scheduler(scheduler) for index in range(count))
    return [manifest(pod) for pod in built]


def settled(plane: ControlPlane, count: int) -> list[JsonObject]:
    """All pods, when each has a node or a reason why it has none."""

    def found() -> list[JsonObject]:
        seen = plane.admin.list("Pod")
        return (
            seen if len(seen) == count and all(bound_to(pod) or condition(pod, "PodScheduled") for pod in seen) else []
        )

    return wait_until(found, 60, what="a node or a reason for every pod")


def bound(seen: list[JsonObject]) -> Counter[str]:
    """By scheduler; and no node has more than it can carry."""
    on_nodes = Counter(bound_to(pod) for pod in seen if bound_to(pod))
    assert max(on_nodes.values()) <= PODS_PER_NODE
    return Counter(pod["spec"]["schedulerName"] for pod in seen if bound_to(pod))


def test_a_burst_to_both_overcommits_no_node(plane: ControlPlane) -> None:
    share = CAPACITY * 2 // 5
    with both(plane):
        mixed = zip(pods(share, OURS, "ours"), pods(share, THEIRS, "theirs"), strict=True)
        plane.admin.create_many([pod for pair in mixed for pod in pair])
        assert bound(settled(plane, 2 * share)) == {OURS: share, THEIRS: share}


def test_each_counts_the_pods_of_the_other_down_to_the_last_place(plane: ControlPlane) -> None:
    quarter = CAPACITY // 4
    with both(plane):
        for wave in range(2):
            for turn, scheduler in enumerate((OURS, THEIRS)):
                plane.admin.create_many(pods(quarter, scheduler, f"{scheduler}-{wave}"))
                seen = settled(plane, (2 * wave + turn + 1) * quarter)
                assert sum(bound(seen).values()) == len(seen)
        for scheduler in (OURS, THEIRS):
            plane.admin.create_many(pods(5, scheduler, f"{scheduler}-late"))
        seen = settled(plane, CAPACITY + 10)
        assert bound(seen) == {OURS: CAPACITY // 2, THEIRS: CAPACITY // 2}
        reasons = {str(condition(pod, "PodScheduled")) for pod in seen if not bound_to(pod)}
        assert all("Insufficient cpu" in reason for reason in reasons)


def test_room_that_one_gives_up_is_used_by_the_other(plane: ControlPlane) -> None:
    with both(plane):
        plane.admin.create_many(pods(CAPACITY, THEIRS, "theirs"))
        settled(plane, CAPACITY)
        plane.admin.create_many(pods(10, OURS, "ours"))
        assert bound(settled(plane, CAPACITY + 10)) == {THEIRS: CAPACITY}
        for index in range(10):
            plane.admin.delete("Pod", f"theirs-{index}")
        wait_until(lambda: sum(bound(plane.admin.list("Pod")).values()) == CAPACITY, what="ours in their place")
