# SPDX-License-Identifier: Apache-2.0
"""Replicas that wait for the same reason are explained once; pods that differ are not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.explain.rejections import ZONE, node

from steersman import InputError, Simulation
from steersman.explain import ExplainOptions, explain_pending, explain_pod
from steersman.scheduler.diagnosis import CauseCode
from steersman.testing import make_node, make_pod


def deployment(name: str, replicas: int, cpu: str) -> dict[str, Any]:
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def test_pods_of_one_replica_set_are_explained_once() -> None:
    simulation = Simulation.load(node("n1").obj(), deployment("web", 340, "9"), deployment("api", 2, "8"))
    simulation.run()
    web, api = sorted(explain_pending(simulation), key=lambda answer: -len(answer.others))
    assert (len(web.others), len(api.others)) == (339, 1)
    assert web.text().splitlines()[0].startswith(f"Pod {web.pod} and 339 others of ReplicaSet web-")
    assert web.cause.sentence.startswith("The pod needs 9 cpu on one node")


def test_equal_pods_without_a_controller_are_explained_once_in_each_namespace() -> None:
    pods = [make_pod(name).namespace(space).req(cpu="9").obj() for name, space in (("a", "x"), ("b", "x"), ("a", "y"))]
    other = make_pod("c").namespace("x").req(cpu="8").obj()
    simulation = Simulation.load(node("n1").obj(), *pods, other)
    simulation.run()
    answers = explain_pending(simulation)
    assert [(answer.pod, answer.others) for answer in answers] == [("x/a", ("x/b",)), ("y/a", ()), ("x/c", ())]
    assert answers[0].text().startswith("Pod x/a and 1 other like it")
    assert [answer.pod for answer in explain_pending(simulation, namespace="y")] == ["y/a"]


def test_pods_that_are_placed_or_being_deleted_do_not_wait() -> None:
    simulation = Simulation.load(node("n1").obj(), make_pod("web").obj(), make_pod("gone").terminating().obj())
    simulation.run()
    assert explain_pending(simulation) == ()


def test_a_pod_that_is_being_deleted_is_told_so() -> None:
    simulation = Simulation.load(node("n1").obj(), make_pod("gone").terminating().obj())
    assert explain_pod(simulation, "gone", ExplainOptions(is_live=True)).cause.code is CauseCode.TERMINATING


def test_a_name_that_is_not_there_is_refused_with_similar_ones() -> None:
    simulation = Simulation.load(node("n1").obj(), make_pod("web-0").obj())
    with pytest.raises(InputError, match="there is no pod web-O in namespace default; similar names there: web-0"):
        explain_pod(simulation, "web-O")


def test_thousands_of_nodes_fit_on_a_screen() -> None:
    nodes = []
    for index in range(2000):
        builder = make_node(f"node-{index}").capacity(cpu="4", memory="8Gi", pods="10")
        builder = builder.taint(f"team-{index % 30}", "x") if index % 3 == 0 else builder
        nodes.append(builder.unschedulable(index % 7 == 0).obj())
    simulation = Simulation.load(nodes, make_pod("web").req(cpu="6").obj())
    simulation.run()
    answer = explain_pod(simulation, "web")
    text = answer.text(5, 80)
    assert len(text.splitlines()) < 60
    assert "other reasons" in text
    assert sum(group.count for group in answer.cause.groups) == 2000
    assert len(answer.text(None, 80).splitlines()) > 2000


def test_where_nodes_of_a_group_differ_each_domain_is_reported_with_its_counts() -> None:
    nodes = [node(f"{zone}{index}", zone).obj() for zone in "abc" for index in range(3)]
    running = [
        make_pod(f"{name}-{index}").label("app", "web").node(f"{name}0").phase("Running").obj()
        for name, count in (("a", 2), ("b", 1), ("c", 1))
        for index in range(count)
    ]
    wanted = make_pod("web").label("app", "web").anti_affinity(ZONE, {"app": "web"}).obj()
    simulation = Simulation.load(nodes, running, wanted)
    simulation.run()
    answer = explain_pod(simulation, "web")
    (group,) = answer.cause.groups
    assert {(detail.text, detail.count) for detail in group.details} == {
        (f"{ZONE}=a has 2 pods with app=web", 3),
        (f"{ZONE}=b has 1 pod with app=web", 3),
        (f"{ZONE}=c has 1 pod with app=web", 3),
    }
    assert "9 nodes would fit but for affinity between pods: " in answer.cause.sentence
    assert answer.cause.sentence.endswith(" (similar on other nodes).")
    lines = answer.text(5, 80).splitlines()
    assert "9      affinity between pods  a0, a1, a2 and 6 more" in lines
    assert f"    3 nodes: {ZONE}=a has 2 pods with app=web" in lines


def replica(name: str, message: str) -> dict[str, Any]:
    """A pod of a live cluster: its token has a name of its own, and its scheduler has said something else of it."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u1", "controller": True}
    token = f"kube-api-access-{name}"
    mounts = [{"name": token, "mountPath": "/var/run"}]
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "9"}}, "volumeMounts": mounts}
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}, "ownerReferences": [owner]},
        "spec": {"containers": [container], "volumes": [{"name": token, "projected": {"sources": []}}]},
        "status": {"phase": "Pending", "conditions": [condition]},
    }


def test_tokens_and_old_messages_do_not_tell_replicas_apart() -> None:
    pods = [replica(f"web-{index}", f"0/{index} nodes are available") for index in range(3)]
    simulation = Simulation.load(node("n1").obj(), *pods)
    (answer,) = explain_pending(simulation, ExplainOptions(is_live=True))
    assert answer.others == ("default/web-1", "default/web-2")
