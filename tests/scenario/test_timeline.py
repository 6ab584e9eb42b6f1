# SPDX-License-Identifier: Apache-2.0
"""The steps of a timeline: what each does to the cluster, and when."""

from __future__ import annotations

from typing import Any

import pytest
from tests.scenario.scenarios import a_deployment, a_node, a_pod, a_scenario

from steersman import api
from steersman.simulation.node_pools import price_of
from steersman.simulation.scenario import ScenarioResult, run_scenario


def run(*steps: dict[str, Any], until: float | None = None, **parts: Any) -> ScenarioResult:
    return run_scenario(a_scenario(timeline=list(steps), **parts), until=until)


def texts(result: ScenarioResult) -> list[str]:
    return [milestone.text for milestone in result.milestones if milestone.source == "timeline"]


def images(result: ScenarioResult) -> set[str]:
    pods = result.simulation.cluster.objects(api.Pod).values()
    return {pod.spec.containers[0].image for pod in pods}


def node(result: ScenarioResult, name: str) -> api.Node:
    return result.simulation.cluster.get(api.Node, name)


WEB = {"at": 0, "apply": a_deployment(replicas=2)}


def test_objects_are_applied_when_their_time_comes() -> None:
    result = run({"at": "1m", "apply": [a_pod("p"), a_deployment()]})
    assert {placement.at for placement in result.placements.values()} == {60}
    assert texts(result) == ["applied Deployment default/web, Pod default/p"]


def test_a_workload_is_scaled() -> None:
    result = run(WEB, {"at": 30, "scale": {"target": "deploy/web", "replicas": 5}})
    assert result.summary.scheduled == 5
    assert texts(result)[1] == "scaled Deployment default/web from 2 to 5"


def test_objects_are_deleted_with_what_they_own() -> None:
    result = run(WEB, {"at": 30, "delete": "deployment/default/web"})
    assert result.summary.pods == 0
    assert result.numbers["arrived"] == 2


@pytest.mark.parametrize(
    ("rollout", "expected"),
    [
        ({"image": "app:2"}, {"app:2"}),
        ({"image": "app:2", "container": "c"}, {"app:2"}),
        ({"template": {"spec": {"containers": [{"name": "c", "image": "app:3"}]}}}, {"app:3"}),
        ({"restart": True}, {"app:1"}),
    ],
)
def test_a_rollout_replaces_all_pods(rollout: dict[str, Any], expected: set[str]) -> None:
    result = run(WEB, {"at": 30, "rollout": {"target": "deploy/web", **rollout}})
    assert images(result) == expected
    assert result.numbers["arrived"] == 4
    assert result.summary.scheduled == 2


def test_a_rollout_is_undone() -> None:
    change = {"spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "app:2"}]}}
    result = run(
        WEB,
        {"at": 30, "rollout": {"target": "deploy/web", "template": change}},
        {"at": 90, "rollout": {"target": "deploy/web", "undo": True}},
    )
    assert images(result) == {"app:1"}
    pods = result.simulation.cluster.objects(api.Pod).values()
    assert {pod.spec.termination_grace_period_seconds for pod in pods} == {30}


def test_nodes_arrive_from_a_template_under_new_names() -> None:
    template = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"}}}
    result = run({"at": 5, "addNodes": {"count": 2, "template": template}}, cluster=[a_node("n-0")])
    assert set(result.utilisation.nodes) == {"n-0", "n-1", "n-2"}


def test_nodes_are_chosen_by_name_pattern_and_label() -> None:
    cluster = [a_node("a-1", zone="x"), a_node("a-2", zone="y"), a_node("b-1", zone="x"), a_node("b-2", zone="y")]
    result = run({"at": 1, "cordon": ["a-*", "zone=x"]}, {"at": 2, "uncordon": "a-2"}, cluster=cluster)
    cordoned = [name for name in ("a-1", "a-2", "b-1", "b-2") if node(result, name).spec.unschedulable]
    assert cordoned == ["a-1", "b-1"]


def test_a_pattern_that_matches_no_node_is_reported() -> None:
    assert texts(run({"at": 1, "crash": "gpu-*"})) == ["no nodes crashed: none matches"]


def test_pods_of_a_crashed_node_go_elsewhere_and_a_drained_node_is_empty() -> None:
    crashed = run(WEB, {"at": 60, "crash": "n1"}, until=1200)
    assert {p.node for p in crashed.placements.values() if p.at is not None and p.at > 60} == {"n2"}
    drained = run(WEB, {"at": 60, "drain": "n1"})
    assert {placement.node for placement in drained.placements.values()} == {"n2"}


def test_nodes_that_are_deleted_take_their_pods_along() -> None:
    result = run(WEB, {"at": 60, "deleteNodes": "n1"})
    assert {placement.node for placement in result.placements.values()} == {"n2"}
    assert result.numbers["minNodes"] == result.numbers["nodes"] == 1


def test_taints_come_replace_each_other_and_go() -> None:
    result = run(
        {"at": 1, "taint": {"nodes": "n*", "add": ["a=b:NoSchedule", "c:NoExecute"]}},
        {"at": 2, "taint": {"nodes": "n1", "add": ["a=d:NoSchedule"]}},
        {"at": 3, "taint": {"nodes": "n2", "remove": ["a:NoSchedule"]}},
    )
    taints = {name: [(t.key, t.value) for t in node(result, name).spec.taints] for name in ("n1", "n2")}
    assert taints == {"n1": [("c", ""), ("a", "d")], "n2": [("c", "")]}


def test_a_price_holds_from_its_step_on() -> None:
    result = run({"at": "1h", "price": {"nodes": "n1", "perHour": 0.5}}, stop={"after": "3h"})
    assert price_of(node(result, "n1")) == 0.5
    assert result.numbers["cost"] == 1.0
    assert result.numbers["nodeHours"] == 6.0


def test_a_load_counts_from_its_step_on() -> None:
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "minReplicas": 1,
            "maxReplicas": 6,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                }
            ],
        },
    }
    load = {"target": "hpa/web", "curve": "0s=500m, 10m=2500m"}
    result = run({"at": 0, "apply": [a_deployment(replicas=1), scaler]}, {"at": "1h", "load": load}, until=2 * 3600)
    deployment = result.simulation.cluster.get(api.Deployment, "default/web")
    assert deployment.spec.replicas == 5
    later = [placement.at for placement in result.placements.values() if placement.at is not None and placement.at > 0]
    assert min(later) >= 3600 + 600


def test_a_step_may_repeat() -> None:
    step = {"at": "1m", "every": "30s", "times": 3, "name": "again", "scale": {"target": "deploy/web", "replicas": 3}}
    result = run(WEB, step)
    assert [m.at for m in result.milestones if m.text.startswith("again: ")] == [60, 90, 120]


def test_steps_of_one_moment_come_in_the_order_of_the_document() -> None:
    result = run(WEB, {"at": 0, "scale": {"target": "deploy/web", "replicas": 1}}, {"at": 0, "cordon": "n1"})
    assert result.summary.scheduled == 1
    assert [placement.node for placement in result.placements.values()] == ["n2"]
