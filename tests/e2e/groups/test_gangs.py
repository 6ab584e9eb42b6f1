# SPDX-License-Identifier: Apache-2.0
"""Gangs and basic groups: all members, those that fit, or none."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import Both
from tests.e2e.groups.groups import create_in_order, member, run_groups, small, wait_for_decisions, wait_for_nodes
from tests.e2e.objects import on
from tests.e2e.pictures import UNTRIED

from steersman.testing import make_pod, make_pod_group
from steersman.testing.control_plane import ControlPlane, KubeClient, manifest


def prepare(admin: KubeClient) -> None:
    admin.create_nodes(*(manifest(small(name)) for name in ("fits-a", "fits-b", "short-a", "short-b", "basic-a")))


def arrive(admin: KubeClient) -> None:
    """Create members one by one while the scheduler runs: their order in the queue is that of their creation."""
    create_in_order(
        admin,
        [
            manifest(make_pod_group("fits").gang(2)),
            manifest(member("fits", "a", "fits-a")),
            manifest(member("fits", "b", "fits-b")),
            # One of two has no room, and so neither is bound.
            manifest(make_pod_group("short").gang(2)),
            manifest(member("short", "a", "short-a")),
            manifest(member("short", "b", "short-b", cpu="3")),
            manifest(make_pod_group("incomplete").gang(2)),
            manifest(member("incomplete", "a", "fits-a").label(UNTRIED, "")),
            manifest(on(make_pod("orphan"), "fits-b").in_group("missing").label(UNTRIED, "")),
            manifest(make_pod_group("basic").basic()),
            manifest(member("basic", "a", "basic-a")),
        ],
    )
    wait_for_nodes(admin, "basic-a")
    # A basic group binds those that fit.
    admin.create(manifest(member("basic", "b", "basic-a", cpu="3")))
    wait_for_decisions(admin, "fits-b", "short-b", "basic-b")


def complete(admin: KubeClient) -> None:
    """Add the missing member, the missing group, and room for the member that had none."""
    arrive(admin)
    admin.create(manifest(member("incomplete", "b", "fits-b")))
    wait_for_nodes(admin, "incomplete-a", "incomplete-b")
    admin.create(manifest(make_pod_group("missing").gang(1)))
    size = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    for node in ("short-b", "fits-b"):
        admin.patch("Node", node, {"status": {"allocatable": size, "capacity": size}}, subresource="status")
    wait_for_nodes(admin, "orphan", "short-a", "short-b")


@pytest.fixture(scope="module")
def first(shared_plane: ControlPlane) -> Both:
    return run_groups(shared_plane, prepare, arrive)


@pytest.fixture(scope="module")
def completed(shared_plane: ControlPlane) -> Both:
    return run_groups(shared_plane, prepare, complete)


def test_everything_written_is_what_kube_scheduler_writes(first: Both) -> None:
    assert first.steersman == first.upstream


def test_a_gang_is_bound_as_a_whole_or_not_at_all(first: Both) -> None:
    found = first.steersman
    assert [found.node(name) for name in ("fits-a", "fits-b", "short-a", "short-b")] == ["fits-a", "fits-b", "", ""]


def test_members_of_a_basic_group_are_bound_if_they_fit(first: Both) -> None:
    assert [first.steersman.node(name) for name in ("basic-a", "basic-b")] == ["basic-a", ""]


def test_nothing_is_written_about_an_incomplete_gang(first: Both) -> None:
    assert first.steersman.pods["incomplete-a"]["conditions"] == []
    assert first.steersman.events_of("incomplete-a") == []


def test_pods_and_groups_of_completed_gangs_are_written_like_kube_scheduler_does(completed: Both) -> None:
    assert completed.steersman.pods == completed.upstream.pods
    assert completed.steersman.groups == completed.upstream.groups


def test_completed_gangs_are_bound(completed: Both) -> None:
    assert {completed.steersman.node(name) for name in ("short-a", "short-b")} == {"short-a", "short-b"}
    assert completed.steersman.node("orphan") == "fits-b"
