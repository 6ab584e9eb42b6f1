# SPDX-License-Identifier: Apache-2.0
"""Preemption for groups and of groups: victims, nominations, and what is written about them."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import Both
from tests.e2e.groups.groups import (
    create_in_order,
    important,
    member,
    run_groups,
    small,
    wait_for_decisions,
    wait_for_nodes,
)
from tests.e2e.objects import create_priority_classes, on, prioritised

from steersman.testing import make_pod, make_pod_group
from steersman.testing.control_plane import ControlPlane, KubeClient, manifest

VICTIMS = frozenset({"resident-a", "resident-b", "unit-a", "unit-b"})


def prepare(admin: KubeClient) -> None:
    create_priority_classes(admin)
    names = ("room-a", "room-b", "half-a", "half-b", "unit-a", "unit-b")
    admin.create_nodes(*(manifest(small(name)) for name in names))
    unit = manifest(make_pod_group("unit").gang(2).disrupted_as_one())
    unit["spec"]["priorityClassName"] = "low"
    create_in_order(
        admin,
        [
            *(prioritised(make_pod(f"resident-{x}").node(f"room-{x}").req(cpu="2"), "low") for x in "ab"),
            prioritised(make_pod("half-low").node("half-a").req(cpu="2"), "low"),
            prioritised(make_pod("half-high").node("half-b").req(cpu="2"), "high"),
            unit,
            *(prioritised(make_pod(f"unit-{x}").in_group("unit").node(f"unit-{x}").req(cpu="2"), "low") for x in "ab"),
        ],
    )


def preempt(admin: KubeClient) -> None:
    """Create members one by one while the scheduler runs, and wait for the victims."""
    create_in_order(
        admin,
        [
            *important(make_pod_group("gang").gang(2), *(member("gang", x, f"room-{x}") for x in "ab")),
            # The group that is in the way is evicted as one.
            prioritised(on(make_pod("single"), "unit-a").req(cpu="1"), "high"),
        ],
    )
    admin.wait_until(lambda: being_deleted(admin) == VICTIMS, what=f"deletion of {sorted(VICTIMS)}")


def preempt_in_vain(admin: KubeClient) -> None:
    """Half of the room of the second gang is taken by pods of the same priority: nothing is evicted."""
    preempt(admin)
    create_in_order(admin, important(make_pod_group("stuck").gang(2), *(member("stuck", x, f"half-{x}") for x in "ab")))
    wait_for_decisions(admin, "stuck-b")


def end_victims(admin: KubeClient) -> None:
    """Remove the victims, as kubelets do."""
    preempt(admin)
    for name in sorted(VICTIMS):
        admin.delete("Pod", name, grace_seconds=0)
    wait_for_nodes(admin, "gang-a", "gang-b", "single")


def being_deleted(admin: KubeClient) -> frozenset[str]:
    pods = admin.list("Pod", "default")
    return frozenset(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"])


@pytest.fixture(scope="module")
def before(shared_plane: ControlPlane) -> Both:
    return run_groups(shared_plane, prepare, preempt_in_vain)


@pytest.fixture(scope="module")
def after(shared_plane: ControlPlane) -> Both:
    return run_groups(shared_plane, prepare, end_victims)


def test_pods_and_groups_are_written_like_kube_scheduler_does(before: Both) -> None:
    assert before.steersman.pods == before.upstream.pods
    assert before.steersman.groups == before.upstream.groups


def test_victims_get_the_events_that_kube_scheduler_writes(before: Both) -> None:
    for name in VICTIMS:
        assert before.steersman.events_of(name) == before.upstream.events_of(name)


def test_nothing_is_evicted_for_a_gang_that_would_still_not_fit(before: Both) -> None:
    assert not before.steersman.pods["half-low"]["deleted"]


def test_pods_and_groups_in_the_end_are_written_like_kube_scheduler_does(after: Both) -> None:
    assert after.steersman.pods == after.upstream.pods
    assert after.steersman.groups == after.upstream.groups


def test_the_gang_takes_the_place_of_its_victims(after: Both) -> None:
    assert [after.steersman.node(f"gang-{x}") for x in "ab"] == ["room-a", "room-b"]
