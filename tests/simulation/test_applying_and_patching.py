# SPDX-License-Identifier: Apache-2.0
"""What becomes of objects that are applied again, or patched, while a simulation runs; and how it goes on in small steps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.clusters import a_pod, nodes, pods

from steersman import InputError, Simulation, api
from steersman.testing import make_node


def a_deployment(replicas: int, cpu: str = "1") -> dict[str, Any]:
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
        },
    }


def test_an_object_that_is_applied_again_gets_the_new_spec() -> None:
    sim = Simulation.load(nodes("n1", "n2")).apply(a_deployment(2))
    assert sim.run().summary.scheduled == 2
    assert sim.apply(a_deployment(5)).run().summary.scheduled == 5


def test_a_node_that_is_applied_again_gets_its_new_size() -> None:
    sim = Simulation.load(nodes("n1", cpu="1"), pods(2))
    assert sim.run().summary.pending == 1
    bigger = make_node("n1").capacity(cpu="2", memory="8Gi", pods=10).obj()
    assert sim.apply(bigger).run().summary.pending == 0


def test_a_pod_that_is_applied_again_keeps_its_node_and_gets_its_labels() -> None:
    sim = Simulation.load(nodes("n1"), a_pod("p").obj())
    sim.run()
    result = sim.apply(a_pod("p").label("tier", "front").obj()).run()
    assert result.placements["default/p"].node == "n1"
    assert sim.cluster.get(api.Pod, "default/p").metadata.labels == {"tier": "front"}


def test_a_patch_scales_a_deployment() -> None:
    sim = Simulation.load(nodes("n1", "n2"), a_deployment(1))
    sim.run()
    assert sim.patch("deployment/web", {"spec": {"replicas": 4}}).run().summary.scheduled == 4


def test_a_null_in_a_patch_removes_a_field() -> None:
    node = make_node("n1").capacity(cpu="2", memory="8Gi", pods=10).label("tier", "front").obj()
    sim = Simulation.load(node).patch("node/n1", {"metadata": {"labels": {"tier": None, "zone": "a"}}})
    assert sim.cluster.get(api.Node, "n1").metadata.labels == {"zone": "a"}


@pytest.mark.parametrize(
    ("what", "document", "message"),
    [
        ("deployment/api", {}, 'deployments.apps "api" not found'),
        ("deployment/web", {"spec": {"replicas": "many"}}, "Deployment default/web: spec.replicas: must be an integer"),
        ("node/n1", {"status": {"allocatable": {"cpu": "-1"}}}, "Node n1: status.allocatable.cpu"),
        ("pod/default/p", {"spec": {"nodeName": "n1"}}, "may not change the spec of a pod"),
    ],
)
def test_a_patch_that_cannot_be_carried_out_says_why(what: str, document: dict[str, Any], message: str) -> None:
    sim = Simulation.load(nodes("n1"), a_deployment(1), a_pod("p").obj())
    with pytest.raises(InputError, match=message.replace("[", r"\[").replace(".", r"\.")):
        sim.patch(what, document)


def test_what_was_applied_and_patched_can_be_explained_afterwards() -> None:
    sim = Simulation.load(nodes("n1", "n2"), a_deployment(1))
    sim.advance(10)
    sim.patch("deployment/web", {"spec": {"replicas": 2}}).cordon("n1").apply(a_deployment(3)).advance()
    result = sim.result()
    last = list(result.placements.values())[-1]
    assert result.explain(last.pod).node == last.node == "n2"


def test_small_steps_lead_to_the_same_result_as_one_run() -> None:
    whole = Simulation.load(nodes("n1", "n2", cpu="2"), pods(7), seed=3)
    stepwise = Simulation.load(nodes("n1", "n2", cpu="2"), pods(7), seed=3)
    for moment in (0, 5, 17.5, 400):
        stepwise.advance(moment)
    assert stepwise.result().to_dict() == whole.run(until=400).to_dict()


def test_a_simulation_is_at_rest_when_no_time_would_change_it() -> None:
    finite = a_pod("p").annotation("steersman.dev/run-seconds", "30").obj()
    sim = Simulation.load(nodes("n1"), finite)
    assert not sim.internals.driver.is_at_rest
    sim.advance(10)
    assert not sim.internals.driver.is_at_rest
    sim.advance()
    assert sim.internals.driver.is_at_rest
    assert sim.now == 30


def test_pods_in_backoff_are_tried_at_once_when_that_is_requested() -> None:
    sim = Simulation.load(nodes("n1", cpu="1"), pods(3)).fork()
    sim.advance(0)
    assert sim.result().summary.pending == 2
    sim.add(nodes("n2", cpu="1")).schedule_now()
    assert sim.now == 0
    assert sim.result().summary.pending == 1
