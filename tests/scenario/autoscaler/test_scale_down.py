# SPDX-License-Identifier: Apache-2.0
"""Nodes that go because nobody needs them, and those that stay: cluster-autoscaler's rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.scenario.autoscaler.pools import Watched, a_pool, actions, autoscaled
from tests.scenario.scenarios import a_deployment, a_pod

from steersman import api
from steersman.simulation.scenario import ScenarioResult, run_scenario

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def nodes(count: int, cpu: str = "4", **annotations: str) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"n{index}",
                "labels": {"steersman.dev/pool": "general", "kubernetes.io/hostname": f"n{index}"},
                "annotations": annotations,
            },
            "status": {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "20"}},
        }
        for index in range(count)
    ]


def run(*objects: dict[str, Any], count: int = 2, pool: dict[str, Any] | None = None, **parts: Any) -> ScenarioResult:
    """Some nodes of a pool with a deployment of two pods, one on each; what is in the way may be added."""
    cluster = parts.pop("cluster", nodes(count))
    timeline = [{"at": 0, "apply": list(objects)}] if objects else []
    return run_scenario(autoscaled(a_pool(**(pool or {})), cluster=cluster, timeline=timeline, **parts))


def changed(document: dict[str, Any], **template: Any) -> dict[str, Any]:
    """The deployment with another pod template."""
    old = document["spec"]["template"]
    metadata = {**old["metadata"], **template.pop("metadata", {})}
    spec = {**old["spec"], **template}
    return {**document, "spec": {**document["spec"], "template": {"metadata": metadata, "spec": spec}}}


def test_empty_nodes_go_when_they_were_not_needed_for_long_enough() -> None:
    result = run(count=3, pool={"min": 1, "scaleDownDelaySeconds": 300})
    assert actions(result) == ["2 nodes n0 … n1 removed, empty"]
    assert [m.at for m in result.milestones if m.source == "autoscaler"] == [310]
    assert (result.numbers["nodesRemoved"], result.numbers["nodes"]) == (2, 1)


def test_empty_nodes_are_removed_in_limited_batches() -> None:
    result = run(count=5, settings={"maxEmptyBulkDelete": 2})
    assert [text.rpartition(" removed")[0] for text in actions(result)] == [
        "2 nodes n0 … n1",
        "2 nodes n2 … n3",
        "node n4",
    ]


def test_a_little_used_node_is_drained_and_goes() -> None:
    result = run(a_deployment(replicas=2))
    assert actions(result)[0] in (
        "node n0 is drained: 1 pod would fit elsewhere",
        "node n1 is drained: 1 pod would fit elsewhere",
    )
    assert result.numbers["nodes"] == 1
    assert result.summary.pending == 0


def test_a_node_stays_if_its_pods_fit_nowhere_else() -> None:
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    assert actions(run(changed(a_deployment(replicas=2), affinity=apart))) == []


def test_a_node_stays_if_it_is_used_enough() -> None:
    assert actions(run(a_deployment(replicas=2, cpu="2"))) == []
    assert actions(run(a_deployment(replicas=2, cpu="2"), settings={"scaleDownUtilizationThreshold": 0.6})) != []


KEEPERS = {
    "a bare pod": a_pod("bare"),
    "a pod that is not safe": changed(
        a_deployment("x", 1), metadata={"labels": {"app": "x"}, "annotations": {SAFE: "false"}}
    ),
    "local storage": changed(a_deployment("x", 1), volumes=[{"name": "data", "emptyDir": {}}]),
    "a host path": changed(a_deployment("x", 1), volumes=[{"name": "data", "hostPath": {"path": "/data"}}]),
    "a system pod": {**a_deployment("x", 1), "metadata": {"name": "x", "namespace": "kube-system"}},
}


@pytest.mark.parametrize("keeper", KEEPERS.values(), ids=KEEPERS)
def test_some_pods_keep_their_node(keeper: dict[str, Any]) -> None:
    result = run(keeper, count=2)
    assert len(actions(result)) == 1, "the empty node goes"
    assert result.numbers["nodes"] == 1
    (placement,) = result.placements.values()
    assert placement.node in result.utilisation.nodes


LEAVERS = {
    "a bare pod that is safe": {
        **a_pod("bare"),
        "metadata": {"name": "bare", "annotations": {SAFE: "true"}},
    },
    "memory as storage": changed(a_deployment("x", 1), volumes=[{"name": "data", "emptyDir": {"medium": "Memory"}}]),
    "storage that may go": changed(
        a_deployment("x", 1),
        metadata={
            "labels": {"app": "x"},
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "data"},
        },
        volumes=[{"name": "data", "emptyDir": {}}],
    ),
}


@pytest.mark.parametrize("leaver", LEAVERS.values(), ids=LEAVERS)
def test_some_pods_do_not_keep_their_node(leaver: dict[str, Any]) -> None:
    """The two nodes have a pod each that keeps the first one; the other node goes with the pod in question."""
    anchor = changed(a_deployment("anchor", 1), nodeSelector={"kubernetes.io/hostname": "n0"})
    pinned = {**leaver, "spec": {**leaver["spec"]}}
    timeline = [
        {"at": 0, "cordon": "n0"},
        {"at": 1, "apply": [pinned]},
        {"at": 2, "uncordon": "n0"},
        {"at": 3, "apply": [anchor]},
    ]
    result = run_scenario(autoscaled(a_pool(min=1), cluster=nodes(2), timeline=timeline))
    assert any("n1 is drained" in text for text in actions(result))


def test_a_budget_that_allows_no_eviction_keeps_the_node() -> None:
    budget: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    }
    assert actions(run(a_deployment(replicas=2), budget)) == []
    looser = {**budget, "spec": {**budget["spec"], "minAvailable": 1}}
    assert run(a_deployment(replicas=2), looser).numbers["nodes"] == 1


def test_a_node_may_say_that_it_stays() -> None:
    disabled = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
    assert actions(run(cluster=nodes(2, **disabled))) == []


def test_nodes_of_no_pool_stay() -> None:
    stranger = {**nodes(1)[0], "metadata": {"name": "stranger"}}
    assert actions(run(cluster=[stranger])) == []


def test_no_node_goes_right_after_others_came() -> None:
    timeline = [
        {"at": 0, "apply": a_deployment(replicas=4)},
        {"at": 90, "scale": {"target": "deploy/web", "replicas": 0}},
    ]
    settings = {"scaleDownDelayAfterAdd": "20m"}
    result = run_scenario(autoscaled(a_pool(), settings=settings, timeline=timeline))
    removed = [m.at for m in result.milestones if "removed" in m.text]
    assert removed == [10 + 20 * 60]


def test_daemons_count_for_the_utilisation_unless_they_are_ignored() -> None:
    daemon = a_deployment("agent", cpu="2")
    daemon["kind"] = "DaemonSet"
    del daemon["spec"]["replicas"]
    assert actions(run(daemon)) == []
    assert run(daemon, settings={"ignoreDaemonsetsUtilization": True}).numbers["nodes"] == 0


def test_a_drain_that_a_budget_holds_up_is_given_up() -> None:
    """The budget lets one of two pods go; the other may not follow before the new one is ready, which takes ten minutes."""
    budget: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    stays = nodes(1, **{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"})
    timeline = [
        {"at": 0, "cordon": "n0"},
        {"at": 1, "apply": [a_deployment(replicas=2, cpu="500m"), budget]},
        {"at": 5, "uncordon": "n0"},
    ]
    policy = {"apiVersion": "steersman.dev/v1", "kind": "KubeletPolicy", "pods": {"readyAfterSeconds": 600}}
    parts: dict[str, Any] = {"cluster": [*stays, nodes(2)[1]], "timeline": timeline, "kubelets": policy}
    result = run_scenario(autoscaled(a_pool(), stop={"after": "20m"}, **parts))
    assert actions(result) == [
        "node n1 is drained: 2 pods would fit elsewhere",
        "node n1 stays: 1 pod could not be evicted",
    ]
    node = result.simulation.cluster.get(api.Node, "n1")
    assert not node.spec.unschedulable
    assert not any(taint.key.startswith("ToBeDeleted") for taint in node.spec.taints)
    later = run_scenario(autoscaled(a_pool(), stop={"after": "1h"}, **parts))
    assert actions(later)[-1] == "node n1 removed", "it goes when the new pod is ready and the delay is over"


def test_candidates_get_a_soft_taint_until_they_are_needed() -> None:
    timeline = [{"at": 60, "apply": a_deployment(replicas=2, cpu="3")}]
    result = run_scenario(
        autoscaled(a_pool(scaleDownDelaySeconds=3600), cluster=nodes(2), timeline=timeline, stop={"after": 50})
    )
    marked = [node.spec.taints for node in result.simulation.cluster.objects(api.Node).values()]
    assert {taint.key for taints in marked for taint in taints} == {"DeletionCandidateOfClusterAutoscaler"}
    later = run_scenario(
        autoscaled(a_pool(scaleDownDelaySeconds=3600), cluster=nodes(2), timeline=timeline, stop={"after": 100})
    )
    assert not any(node.spec.taints for node in later.simulation.cluster.objects(api.Node).values())


# -- properties --------------------------------------------------------------------------------------------------------

workloads = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(0, 4)), min_size=1, max_size=3)


@given(workloads, st.integers(1, 4), st.integers(0, 2), st.integers(0, 3))
@examples(4)
def test_pools_keep_their_limits_and_no_pod_loses_its_room(
    sizes: list[tuple[int, int, int]], most: int, least: int, seed: int
) -> None:
    grown = [a_deployment(f"w{index}", replicas, str(cpu)) for index, (replicas, cpu, _) in enumerate(sizes)]
    shrunk = [
        {"at": 300, "scale": {"target": f"deploy/w{index}", "replicas": min(replicas, later)}}
        for index, (replicas, _, later) in enumerate(sizes)
    ]
    document = autoscaled(
        a_pool("a", max=most, min=min(least, most)),
        a_pool("b", cpu="8", price=0.5, max=most),
        timeline=[{"at": 0, "apply": grown}, *shrunk],
        stop={"after": "1h", "atRest": True},
    )
    run = Watched(document, seed)
    assert all(size <= most for size in run.most.values())
    assert run.fewest.get("a", 99) >= min(least, most)
    # Once workloads have shrunk, no removal of a node may leave a pod without room that had some before.
    after = [waiting for milestone, waiting in run.waiting if milestone.at > 360 and milestone.source == "autoscaler"]
    settled = next((waiting for milestone, waiting in run.waiting if milestone.at > 300), 0)
    assert all(waiting <= settled for waiting in after)
    late = [p for p in run.result.placements.values() if p.at is not None and p.at > 400]
    assert all(placement.attempts == 1 for placement in late), "evicted pods found their new node at once"
    assert Watched(document, seed).result.to_dict() == run.result.to_dict()
