# SPDX-License-Identifier: Apache-2.0
"""Draining, losing and tainting nodes: the plan says what the simulation does when it really happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from steersman import Simulation, api, plan
from steersman.base.errors import InputError
from steersman.cluster.controllers.controller import controller_of
from steersman.plan.disruption import Disruption
from steersman.testing import make_claim, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def a_node(name: str, cpu: int = 4, zone: str = "a") -> api.Node:
    return make_node(name).capacity(cpu=str(cpu), memory="8Gi", pods=10).label(HOSTNAME, name).label(ZONE, zone).obj()


def a_workload(kind: str, name: str, replicas: int, cpu: str = "1", **pod: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **pod}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def a_budget(name: str, app: str, min_available: int) -> dict[str, Any]:
    spec = {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}


def a_random_cluster(random: Random) -> list[Any]:
    nodes = [a_node(f"n{number}", random.choice((2, 4, 6)), random.choice("ab")) for number in range(5)]
    workloads = [
        a_workload(
            random.choice(("Deployment", "StatefulSet")), f"app-{number}", random.randint(1, 5), priority=10 * number
        )
        for number in range(3)
    ]
    budgets = [a_budget(f"budget-{number}", f"app-{number}", random.randint(0, 3)) for number in range(2)]
    bare = [make_pod(f"bare-{number}").req(cpu="500m").obj() for number in range(random.randint(0, 2))]
    return [*nodes, *workloads, *budgets, *bare]


def by_owner(simulation: Simulation) -> Counter[tuple[str, str]]:
    """Pods on nodes that exist by (name of the owner or of the pod itself, node)."""
    nodes = simulation.cluster.objects(api.Node)
    found: Counter[tuple[str, str]] = Counter()
    for pod in simulation.cluster.objects(api.Pod).values():
        owner = controller_of(pod)
        if not pod.spec.node_name or pod.spec.node_name in nodes:
            found[(owner.name if owner else pod.metadata.name, pod.spec.node_name)] += 1
    return found


def replayed(simulation: Simulation, answer: Disruption) -> Counter[tuple[str, str]]:
    """Where pods are if those that the answer says move, wait or are lost do so."""
    found = by_owner(simulation)
    for pod in simulation.cluster.objects(api.Pod).values():
        key, owner = api.key(pod), controller_of(pod)
        name, node = owner.name if owner else pod.metadata.name, pod.spec.node_name
        goes = key in answer.moved or (key in answer.pending and bool(node)) or key in answer.lost
        if goes or key in answer.preempted:
            found[(name, node)] -= 1
        if key in answer.moved:
            found[(name, answer.moved[key])] += 1
        elif goes and key in answer.pending:
            found[(name, "")] += 1
    return +found


def deleted(simulation: Simulation, nodes: Sequence[str]) -> None:
    simulation.delete(*(f"node/{node}" for node in nodes))


def drained(simulation: Simulation, nodes: Sequence[str]) -> None:
    for node in nodes:
        simulation.drain(node)


def tainted(simulation: Simulation, nodes: Sequence[str]) -> None:
    taint = {"key": "broken", "value": "disk", "effect": "NoExecute"}
    for node in nodes:
        simulation.patch(f"node/{node}", {"spec": {"taints": [taint]}})


QUESTIONS: dict[str, tuple[Callable[..., Disruption], Callable[[Simulation, Sequence[str]], None]]] = {
    "lose": (plan.lose, deleted),
    "drain": (plan.drain, drained),
    "taint": (lambda simulation, nodes: plan.taint(simulation, nodes, ["broken=disk:NoExecute"]), tainted),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("case", range(12))
def test_a_plan_says_what_the_simulation_does_when_it_happens(question: str, case: int) -> None:
    random = Random(case)
    cluster, nodes = a_random_cluster(random), random.sample([f"n{number}" for number in range(5)], 2)
    ask, do = QUESTIONS[question]
    simulation = Simulation.load(cluster, seed=case)
    simulation.run()
    answer = ask(simulation, nodes)
    real = Simulation.load(cluster, seed=case)
    real.run()
    do(real, nodes)
    result = real.run()
    assert replayed(simulation, answer) == by_owner(real)
    assert {answer.successors.get(pod, pod): why for pod, why in answer.pending.items()} == {
        pod: place.message for pod, place in result.pending.items() if place.reason != "NodeNotFound"
    }
    assert {(one.pod, one.preemptor) for one in result.preempted} == set(answer.preempted.items())


def test_pods_of_a_lost_zone_move_and_bare_ones_are_lost() -> None:
    cluster: list[Any] = [
        a_node("a1"),
        a_node("b1", zone="b"),
        a_workload("StatefulSet", "db", 2, "1500m", nodeSelector={}),
    ]
    bare = make_pod("bare").req(cpu="1").node("a1").obj()
    simulation = Simulation.load(cluster, bare, seed=1)
    answer = plan.lose(simulation, [f"{ZONE}=a"])
    assert answer.nodes == ("a1",)
    assert set(answer.moved.values()) == {"b1"}
    assert answer.lost == {"default/bare": "not recreated: it has no controller"}
    assert not answer.fits


def test_a_budget_that_blocks_is_named_with_the_pod() -> None:
    budget = a_budget("guard", "web", 2)
    simulation = Simulation.load(a_node("a1"), a_node("b1"), a_workload("Deployment", "web", 2), budget)
    answer = plan.drain(simulation, ["a1", "b1"])
    assert set(answer.blocked.values()) == {"default/guard"}
    assert len(answer.blocked) == 2
    assert (answer.is_met, answer.moved, answer.pending) == (False, {}, {})


def test_a_drain_takes_as_many_rounds_as_budgets_make_it_take() -> None:
    """Three pods on a node, of which one may be missing at a time."""
    budget = a_budget("guard", "web", 2)
    web = a_workload("Deployment", "web", 3, nodeSelector={"old": "yes"})
    del web["spec"]["template"]["spec"]["nodeSelector"]
    cordoned = make_node("b1").capacity(cpu="4", memory="8Gi", pods=10).unschedulable().obj()
    simulation = Simulation.load(a_node("a1"), cordoned, web, budget)
    simulation.run()
    simulation.uncordon("b1")
    answer = plan.drain(simulation, ["a1"])
    assert answer.rounds == {"a1": 3}
    assert list(answer.moved.values()) == ["b1"] * 3
    assert answer.is_met


def test_a_volume_that_holds_a_pod_back_is_reported() -> None:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "local": {"path": "/x"},
        "claimRef": {"name": "data", "namespace": "default"},
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["a1"]}]}]
            }
        },
    }
    document = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec}
    claim = make_claim("data").bound("v").obj()
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    web = a_workload("Deployment", "web", 1, volumes=volumes)
    simulation = Simulation.load(a_node("a1"), a_node("b1"), document, claim, web)
    answer = plan.drain(simulation, ["a1"])
    (pod,) = answer.pending
    assert answer.held_by == {pod: ["volumes"]}
    assert "didn't match PersistentVolume's node affinity" in answer.pending[pod]


def test_a_device_that_holds_a_pod_back_is_reported() -> None:
    def resource(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}

    pool = {"name": "a1", "generation": 1, "resourceSliceCount": 1}
    slice_spec = {"driver": "gpu.example.com", "nodeName": "a1", "pool": pool, "devices": [{"name": "gpu-0"}]}
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    devices = [
        resource("DeviceClass", "gpu", {}),
        resource("ResourceSlice", "gpus-of-a1", slice_spec),
        resource("ResourceClaimTemplate", "gpu", {"spec": {"devices": {"requests": [request]}}}),
    ]
    train = a_workload("Deployment", "train", 1, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}])
    answer = plan.lose(Simulation.load(a_node("a1"), a_node("b1"), devices, train), ["a1"])
    (pod,) = answer.pending
    assert answer.held_by == {pod: ["devices"]}


def test_a_pool_is_replaced_node_by_node() -> None:
    nodes = [a_node("a1"), a_node("a2")]
    simulation = Simulation.load(nodes, a_workload("Deployment", "web", 4))
    answer = plan.drain(simulation, ["a1", "a2"], one_by_one=True)
    assert [(step.node, step.replacement, step.pending) for step in answer.steps] == [
        ("a1", "a1-new", 0),
        ("a2", "a2-new", 0),
    ]
    assert set(answer.moved.values()) <= {"a1-new", "a2-new"}
    assert answer.is_met


def test_a_replacement_ends_at_a_node_that_cannot_be_emptied() -> None:
    budget = a_budget("guard", "web", 4)
    simulation = Simulation.load(a_node("a1"), a_node("a2"), a_workload("Deployment", "web", 4), budget)
    answer = plan.drain(simulation, ["a1", "a2"], one_by_one=True)
    assert [(step.node, step.replacement) for step in answer.steps] == [("a1", "")]
    assert not answer.is_met


def test_a_replacement_that_keeps_going_examines_every_node() -> None:
    nodes = [a_node(f"a{number}") for number in range(4)]
    bound = [make_pod("w").label("app", "web").node("a1").owner("ReplicaSet", "web", uid="u").obj()]
    simulation = Simulation.load(nodes, bound, a_budget("guard", "web", 1))
    ended = plan.drain(simulation, ["a0", "a1", "a2", "a3"], one_by_one=True)
    assert [step.node for step in ended.steps] == ["a0", "a1"]
    assert ended.notes[0].startswith("2 nodes after the one that could not be emptied")
    answer = plan.drain(simulation, ["a0", "a1", "a2", "a3"], one_by_one=True, keep_going=True)
    assert [step.replacement for step in answer.steps] == ["a0-new", "", "a2-new", "a3-new"]
    assert answer.blocked == {"default/w": "default/guard"}
    assert not answer.is_met


def test_nodes_replaced_together_take_less_time_than_one_by_one() -> None:
    nodes = [a_node(f"a{number}") for number in range(4)]
    simulation = Simulation.load(nodes, a_workload("Deployment", "web", 8))
    simulation.run()
    single = plan.drain(simulation, [f"a{number}" for number in range(4)], one_by_one=True)
    pairs = plan.drain(simulation, [f"a{number}" for number in range(4)], one_by_one=True, at_a_time=2)
    assert [step.replacement for step in pairs.steps] == [f"a{number}-new" for number in range(4)]
    assert single.minutes == pytest.approx(sum(step.minutes for step in single.steps), abs=0.1)
    assert all(step.minutes >= 0.5 for step in single.steps if step.evicted), "pods have 30 seconds to end"
    assert 0 < pairs.minutes < single.minutes
    assert "in about" in pairs.sentence()


def test_an_owner_that_the_input_leaves_out_recreates_nothing() -> None:
    owner = api.OwnerReference(api_version="x/v1", kind="Thing", name="t", uid="u", controller=True)
    metadata = api.ObjectMeta(name="p", namespace="default", owner_references=(owner,))
    pod = api.Pod(metadata=metadata, spec=api.PodSpec(node_name="a1"))
    answer = plan.drain(Simulation.load(a_node("a1"), a_node("b1"), pod), ["a1"])
    assert answer.lost == {"default/p": "its Thing t is not in the input and cannot recreate it"}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("a11", 'selects no node (got "a11"); did you mean a1?'),
        (
            "zone=x",
            'selects no node (got "zone=x"); no node has the label zone; did you mean topology.kubernetes.io/zone?',
        ),
        ("pool/x", 'selects no node (got "pool/x"); pools are: none that a label names'),
    ],
)
def test_nodes_that_are_not_there_are_refused_with_what_would_be_right(wanted: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        plan.drain(Simulation.load(a_node("a1")), [wanted])
    assert str(refused.value) == message


def test_a_taint_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match=r"is not a taint \(got \"a=b:Never\"\); use key=value:EFFECT"):
        plan.taint(Simulation.load(a_node("a1")), ["a1"], ["a=b:Never"])


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_a_pod_of_a_stateful_set_that_waits_for_its_predecessor_is_pending_and_not_lost(policy: str) -> None:
    made = a_workload("StatefulSet", "db", 3)
    made["spec"]["podManagementPolicy"] = policy
    simulation = Simulation.load(a_node("n1"), made)
    simulation.run()
    answer = plan.lose(simulation, ["n1"])
    assert answer.lost == {}
    assert set(answer.pending) == {"default/db-0", "default/db-1", "default/db-2"}
    assert not answer.fits
    if policy == "OrderedReady":
        waits = "StatefulSet default/db creates its pods in order, and waits for default/db-0"
        assert answer.pending["default/db-1"] == answer.pending["default/db-2"] == waits
