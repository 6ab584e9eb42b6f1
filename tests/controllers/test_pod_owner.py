# SPDX-License-Identifier: Apache-2.0
"""Controllers that own pods: selectors that do not match the template, and pods that end as soon as they start."""

from __future__ import annotations

from typing import Any

import pytest
from tests.controllers.world import World, template, workload

from steersman import Simulation, api
from steersman.cluster.kubelets import RUN_SECONDS

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
OWNERS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")


def _owner(
    kind: str, selected: str = "web", *, annotations: dict[str, str] | None = None, **pod: Any
) -> dict[str, Any]:
    made = workload(kind, replicas=3)
    labels = {"app": selected}
    made["spec"]["selector"] = labels if kind == "ReplicationController" else {"matchLabels": labels}
    made["spec"]["template"] = template(**pod)
    made["spec"]["template"]["metadata"] = {"labels": {"app": "web"}, "annotations": annotations or {}}
    if kind == "ReplicationController":
        made["apiVersion"] = "v1"
    if kind == "DaemonSet":
        del made["spec"]["replicas"]
    return made


@pytest.mark.parametrize("kind", OWNERS)
def test_an_owner_whose_selector_does_not_match_its_template_creates_no_pods_and_says_so(kind: str) -> None:
    world = World()
    world.create(_owner(kind, "other"))
    world.pass_time(60)
    assert world.pods() == []
    assert world.all(api.ReplicaSet) == [] or kind == "ReplicaSet"
    said = [event for event in world.events if event.about == f"{kind}/web" and event.is_warning]
    assert {event.reason for event in said} == {"FailedCreate"}
    assert "`selector` does not match template `labels`" in said[0].message
    assert len(said) < 5


def test_a_corrected_selector_lets_a_replica_set_create_its_pods() -> None:
    world = World()
    made = world.create(_owner("ReplicaSet", "other"))
    world.settle()
    world.change_spec(made, selector=api.LabelSelector(match_labels={"app": "web"}))
    world.settle()
    assert len(world.pods(app="web")) == 3


@pytest.mark.parametrize("kind", OWNERS)
def test_pods_that_end_as_soon_as_they_start_are_replaced_after_a_growing_backoff(kind: str) -> None:
    world = World(nodes=["n1"])
    world.create(_owner(kind, annotations={RUN_SECONDS: "0"}, terminationGracePeriodSeconds=0))
    world.pass_time(100)
    created = sum(reason == "SuccessfulCreate" for event in world.events if (reason := event.reason))
    assert 3 < created < 60


@pytest.mark.parametrize("kind", OWNERS)
def test_a_simulation_of_pods_that_are_replaced_forever_ends_and_says_so(kind: str) -> None:
    result = Simulation.load([NODE, _owner(kind, annotations={RUN_SECONDS: "10"})]).run()
    assert not result.pending
    assert any("end and are replaced forever" in note for note in result.notes)
