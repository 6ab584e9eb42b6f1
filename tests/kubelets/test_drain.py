# SPDX-License-Identifier: Apache-2.0
"""Draining a node: cordon, evictions within budgets, in rounds."""

from __future__ import annotations

import msgspec
import pytest
from tests.kubelets.kubelet_world import KubeletWorld

from steersman import api
from steersman.cluster.kubelets import KubeletPolicy, NodeDrain, PodSettings, cordon, drain, uncordon
from steersman.cluster.store import NotFound
from steersman.testing import PodBuilder, make_pod

POLICY = KubeletPolicy(pods=PodSettings(stop_seconds=2))


def world_of(*pods: PodBuilder, allowed: int | None = None) -> KubeletWorld:
    """Pods on n1, with a budget for those with the label app=web that allows so many evictions."""
    world = KubeletWorld(policy=POLICY)
    for pod in pods:
        world.run(pod)
    if allowed is not None:
        budget = api.PodDisruptionBudget(
            metadata=api.ObjectMeta(name="web", namespace="default"),
            spec=api.PodDisruptionBudgetSpec(selector=api.LabelSelector(match_labels={"app": "web"})),
            status=api.PodDisruptionBudgetStatus(disruptions_allowed=allowed, current_healthy=9, desired_healthy=1),
        )
        world.store.create(budget)
    return world


def web(name: str) -> PodBuilder:
    return make_pod(name).req(cpu="1").label("app", "web")


def allow(world: KubeletWorld, evictions: int) -> None:
    budget = world.store.get(api.PodDisruptionBudget, "default/web")
    status = msgspec.structs.replace(budget.status, disruptions_allowed=evictions)
    world.store.update_status(msgspec.structs.replace(budget, status=status))


def test_a_drained_node_is_cordoned_and_its_pods_are_evicted() -> None:
    world = world_of(web("a"), web("b"))
    told = drain(world.store, "n1")
    assert (told.evicted, told.refused, told.is_over) == (("default/a", "default/b"), {}, False)
    assert world.node().spec.unschedulable
    assert world.condition("DisruptionTarget", "a").reason == "EvictionByEvictionAPI"
    assert drain(world.store, "n1").terminating == ("default/a", "default/b")
    world.pass_time(2)
    assert drain(world.store, "n1").is_over


def test_daemons_and_static_pods_stay() -> None:
    daemon = make_pod("daemon").owner("DaemonSet", "agent")
    static = make_pod("static").annotation("kubernetes.io/config.mirror", "x")
    world = world_of(daemon, static, web("a"))
    assert drain(world.store, "n1").evicted == ("default/a",)


def test_budgets_are_kept() -> None:
    world = world_of(web("a"), web("b"), allowed=1)
    told = drain(world.store, "n1")
    assert told.evicted == ("default/a",)
    assert told.refused["default/b"].startswith("Cannot evict pod as it would violate the pod's disruption budget.")


def test_a_drain_goes_on_in_rounds_until_the_node_is_empty() -> None:
    world = world_of(web("a"), web("b"), allowed=1)
    draining = NodeDrain(world.store, world.timers, "n1")
    world.pass_time(60)
    assert (world.exists("a"), world.exists("b")) == (False, True)
    allow(world, 1)
    world.pass_time(70)
    assert not world.exists("b")
    assert draining.last.is_over
    assert world.timers.is_idle


def test_a_drain_ends_when_the_node_is_uncordoned() -> None:
    world = world_of(web("a"), allowed=0)
    NodeDrain(world.store, world.timers, "n1")
    uncordon(world.store, "n1")
    allow(world, 1)
    world.pass_time(60)
    assert world.exists("a")
    assert world.timers.is_idle


def test_a_node_that_is_not_there_cannot_be_drained() -> None:
    world = world_of()
    for act in (drain, cordon, uncordon):
        with pytest.raises(NotFound, match='"n9" not found'):
            act(world.store, "n9")
