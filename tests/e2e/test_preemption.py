# SPDX-License-Identifier: Apache-2.0
"""Preemption on a real API server: victims, disruption budgets, nominations, and what is written about them."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import EACH_VERSION, Both, run_both
from tests.e2e.objects import HOSTNAME, create_priority_classes, on, prioritised
from tests.e2e.pictures import Picture

from steersman.testing import PodBuilder, make_disruption_budget, make_node, make_pod
from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, manifest

pytestmark = EACH_VERSION

PACKED, GUARDED, EVEN = "packed", "guarded", "even"


def prepare(admin: KubeClient) -> None:
    """`packed` has two unprotected pods of four; `guarded` only protected ones; `even` only pods of the same priority."""
    create_priority_classes(admin)
    nodes = (make_node(name).capacity(cpu="4", memory="8Gi").label(HOSTNAME, name) for name in (PACKED, GUARDED, EVEN))
    admin.create_nodes(*map(manifest, nodes))
    admin.create_with_status(budget())
    residents = [
        *(prioritised(resident(f"packed-{i}", PACKED), "low") for i in (1, 2)),
        *(prioritised(resident(f"packed-guarded-{i}", PACKED).label("guard", "yes"), "low") for i in (1, 2)),
        *(prioritised(resident(f"guarded-{i}", GUARDED).label("guard", "yes"), "low") for i in range(4)),
        *(prioritised(resident(f"even-{i}", EVEN), "high") for i in range(4)),
    ]
    admin.create_many(residents)
    admin.create_many(
        [
            # Two of the four must go, and they are those without a budget, on the node that has such.
            prioritised(on(make_pod("preemptor"), PACKED, GUARDED).req(cpu="2"), "high"),
            prioritised(on(make_pod("polite"), PACKED, GUARDED).req(cpu="1").preemption_policy("Never"), "polite"),
            prioritised(on(make_pod("equal"), EVEN).req(cpu="1"), "high"),
            prioritised(on(make_pod("too-large"), GUARDED).req(cpu="5"), "high"),
        ]
    )


def resident(name: str, node: str) -> PodBuilder:
    return make_pod(name).node(node).req(cpu="1")


def budget() -> JsonObject:
    made = manifest(make_disruption_budget("guard").selector({"guard": "yes"}))
    made["spec"]["maxUnavailable"] = 0
    made["status"] = {"disruptionsAllowed": 0, "currentHealthy": 6, "desiredHealthy": 6, "expectedPods": 6}
    return made


def kubelets_end_the_victims(admin: KubeClient) -> None:
    """Waits for the nomination; then the pods that are being deleted are gone, as when their node had stopped them."""
    admin.wait_until(lambda: admin.get("Pod", "preemptor")["status"].get("nominatedNodeName"), what="a nomination")
    leaving = admin.wait_until(lambda: being_deleted(admin) if len(being_deleted(admin)) == 2 else None, what="victims")
    for name in leaving or ():
        admin.delete("Pod", name, grace_seconds=0)


def being_deleted(admin: KubeClient) -> list[str]:
    pods = admin.list("Pod", "default")
    return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]]


@pytest.fixture(scope="module")
def before(shared_plane: ControlPlane) -> Both:
    """While the victims are being stopped."""
    return run_both(shared_plane, prepare)


@pytest.fixture(scope="module")
def after(shared_plane: ControlPlane) -> Both:
    """When they are gone."""
    return run_both(shared_plane, prepare, act=kubelets_end_the_victims)


def test_everything_written_is_what_kube_scheduler_writes(before: Both) -> None:
    assert before.steersman == before.upstream


def test_everything_written_in_the_end_is_what_kube_scheduler_writes(after: Both) -> None:
    assert after.steersman.pods == after.upstream.pods
    # How often pods were tried in vain between the end of the first victim and that of the second is left to chance.
    assert lasting(after.steersman) == lasting(after.upstream)


def lasting(seen: Picture) -> list[JsonObject]:
    return [event for event in seen.events if event["reason"] != "FailedScheduling"]


def test_victims_are_those_without_a_disruption_budget(before: Both) -> None:
    victims = {name for name, pod in before.steersman.pods.items() if pod["deleted"]}
    assert victims == {"packed-1", "packed-2"}


def test_victims_are_told_why(before: Both) -> None:
    [target] = before.steersman.pods["packed-1"]["conditions"]
    assert (target["type"], target["status"], target["reason"]) == ("DisruptionTarget", "True", "PreemptionByScheduler")
    assert [event["reason"] for event in before.steersman.events_of("packed-1")] == ["Preempted"]


def test_the_preemptor_waits_on_its_nominated_node(before: Both) -> None:
    assert before.steersman.pods["preemptor"]["nominated"] == PACKED
    assert before.steersman.scheduled("preemptor")["reason"] == "Unschedulable"


def test_the_preemptor_takes_the_place_of_its_victims(after: Both) -> None:
    assert after.steersman.node("preemptor") == PACKED


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        ("polite", "preemption: not eligible due to preemptionPolicy=Never."),
        ("equal", "preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod"),
        ("too-large", "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."),
    ],
)
def test_a_pod_that_may_not_or_cannot_preempt_is_told_why(before: Both, pod: str, reason: str) -> None:
    assert reason in before.steersman.message(pod)


def only_guarded(admin: KubeClient) -> None:
    create_priority_classes(admin)
    admin.create_nodes(manifest(make_node(GUARDED).capacity(cpu="1", memory="8Gi")))
    admin.create_with_status(budget())
    admin.create(prioritised(resident("guarded-0", GUARDED).label("guard", "yes"), "low"))
    admin.create(prioritised(make_pod("preemptor").req(cpu="1"), "high"))


def test_a_budget_is_broken_when_nothing_else_makes_room(shared_plane: ControlPlane) -> None:
    both = run_both(shared_plane, only_guarded)

    assert both.steersman == both.upstream
    assert both.steersman.pods["guarded-0"]["deleted"]
