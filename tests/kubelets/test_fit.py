# SPDX-License-Identifier: Apache-2.0
"""Pods that do not fit on the node that they were bound to."""

from __future__ import annotations

import pytest
from tests.kubelets.kubelet_world import KubeletWorld

from steersman.cluster.kubelets import KubeletPolicy
from steersman.cluster.store import Pods
from steersman.testing import PodBuilder, make_node, make_pod


def refusal(world: KubeletWorld, pod: PodBuilder) -> tuple[str, str, str]:
    status = world.run(pod).status
    return status.phase, status.reason, status.message


def test_a_pod_for_which_there_is_no_cpu_left_fails() -> None:
    world = KubeletWorld()
    world.run(make_pod("first").req(cpu="6"))
    assert refusal(world, make_pod("web").req(cpu="3")) == (
        "Failed",
        "OutOfcpu",
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 6000, capacity: 8000",
    )
    assert world.events[-1] == (
        "OutOfcpu",
        "Node didn't have enough resource: cpu, requested: 3000, used: 6000, capacity: 8000",
    )


def test_room_is_free_again_when_a_pod_has_gone() -> None:
    world = KubeletWorld()
    world.run(make_pod("first").req(cpu="6"))
    Pods(world.store).delete("default/first")
    assert world.run(make_pod("web").req(cpu="3")).status.phase == "Running"


def test_a_pod_that_was_rejected_takes_no_room() -> None:
    world = KubeletWorld()
    world.run(make_pod("large").req(cpu="9"))
    assert world.run(make_pod("web").req(cpu="8")).status.phase == "Running"


def test_too_many_pods() -> None:
    world = KubeletWorld(nodes=[make_node("n1").capacity(pods="1")])
    world.run(make_pod("first"))
    assert refusal(world, make_pod("web"))[1:] == (
        "OutOfpods",
        "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1",
    )


def test_a_resource_that_the_node_does_not_know_is_not_the_kubelets_business() -> None:
    world = KubeletWorld()
    assert world.run(make_pod("web").req(**{"example.com/gpu": "1"})).status.phase == "Running"


@pytest.mark.parametrize(
    ("pod", "reason", "message"),
    [
        (
            make_pod("web").node_selector("disk", "ssd"),
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            make_pod("web").host_port(80),
            "NodePorts",
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        ),
    ],
)
def test_a_pod_that_does_not_belong_on_the_node_fails(pod: PodBuilder, reason: str, message: str) -> None:
    world = KubeletWorld()
    world.run(make_pod("first").host_port(80))
    assert refusal(world, pod) == ("Failed", reason, f"Pod was rejected: {message}")


def test_a_pod_that_does_not_tolerate_to_be_evicted_fails() -> None:
    world = KubeletWorld(nodes=[make_node("n1").taint("maintenance", effect="NoExecute")])
    assert refusal(world, make_pod("web")) == (
        "Failed",
        "TaintToleration",
        "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    )


def test_simulations_trust_their_scheduler_by_default() -> None:
    trusting = KubeletWorld(keeps_documents=False)
    assert trusting.run(make_pod("web").req(cpu="99")).status.phase == "Running"
    strict = KubeletWorld(keeps_documents=False, policy=KubeletPolicy(rejects_unfit_pods=True))
    assert strict.run(make_pod("web").req(cpu="99")).status.reason == "OutOfcpu"
