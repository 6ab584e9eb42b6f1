# SPDX-License-Identifier: Apache-2.0
"""The rejection of a pod by all nodes is reused for its replicas, until something changes that it depends on."""

from __future__ import annotations

from tests.equivalence.cluster import PROFILE, Cluster

from steersman.framework import PodInfo
from steersman.scheduler.engine.columnar import ColumnarEvaluation
from steersman.testing import PodBuilder, make_node, make_pod, make_service

NODES = ("n1", "n2")


def cluster() -> Cluster:
    made = Cluster()
    for name in NODES:
        made.cache.set_node(make_node(name).capacity(cpu="4", pods=2).obj())
    made.cache.add_pod(make_pod("running").req(cpu="2").node("n1").obj())
    return made


def large(name: str) -> PodBuilder:
    return make_pod(name).req(cpu="3")


def agrees(cluster: Cluster, pod: PodInfo) -> bool:
    return cluster.everything(cluster.columnar, pod) == cluster.everything(cluster.scalar, pod)


def is_reused(cluster: Cluster, pod: PodInfo) -> bool:
    """Evaluate the pod, and return whether the result of the pod before was reused."""
    before = cluster.columnar._engines[PROFILE].latest
    assert before is not None
    evaluation = cluster.columnar.evaluate(cluster.profiles[PROFILE], pod)
    assert isinstance(evaluation, ColumnarEvaluation)
    assert evaluation.pod is pod
    return evaluation.statuses() is before.statuses()


def fill(cluster: Cluster) -> None:
    cluster.cache.add_pod(make_pod("other").req(cpu="2").node("n2").obj())


def test_replicas_share_the_rejection() -> None:
    made = cluster()
    fill(made)
    assert agrees(made, made.pending(large("a").obj()))
    assert is_reused(made, made.pending(large("b").obj()))
    assert agrees(made, made.pending(large("c").obj()))


def test_a_placement_is_not_reused() -> None:
    made = cluster()
    assert agrees(made, made.pending(large("a").obj()))
    assert not is_reused(made, made.pending(large("b").obj()))


def test_a_change_of_a_node_ends_the_reuse() -> None:
    made = cluster()
    fill(made)
    assert agrees(made, made.pending(large("a").obj()))
    made.cache.add_pod(make_pod("third").node("n2").obj())
    assert agrees(made, made.pending(large("b").obj()))


def test_a_nomination_ends_the_reuse() -> None:
    made = cluster()
    fill(made)
    assert agrees(made, made.pending(large("a").obj()))
    made.nominated.put("n2", [made.pending(make_pod("rival").priority(5).obj())])
    replica = made.pending(large("b").obj())
    assert agrees(made, replica)
    assert "2 Too many pods" not in str(made.everything(made.columnar, replica))


def test_a_pod_of_another_priority_leaves_room_for_other_nominated_pods() -> None:
    made = cluster()
    fill(made)
    made.nominated.put("n2", [made.pending(make_pod("rival").priority(5).obj())])
    for priority in (0, 9, 5, 6):
        assert agrees(made, made.pending(large(f"p{priority}").priority(priority).obj()))


def test_a_nominated_pod_leaves_no_room_for_itself() -> None:
    made = cluster()
    fill(made)
    nominated = made.pending(large("b").obj())
    made.nominated.put("n2", [nominated])
    assert agrees(made, made.pending(large("a").obj()))
    assert not is_reused(made, nominated)
    assert agrees(made, nominated)


def test_a_change_of_an_object_ends_the_reuse() -> None:
    made = cluster()
    fill(made)
    assert agrees(made, made.pending(large("a").obj()))
    made.objects.put(make_service("web").selector({"app": "web"}).obj())
    assert not is_reused(made, made.pending(large("b").obj()))


def test_rows_excluded_from_an_evaluation_are_not_excluded_for_the_replica() -> None:
    made = cluster()
    first = made.columnar.evaluate(made.profiles[PROFILE], made.pending(large("a").obj()))
    first.restrict(())
    assert first.feasible_count == 0
    assert made.columnar.evaluate(made.profiles[PROFILE], made.pending(large("b").obj())).feasible_count == 1
