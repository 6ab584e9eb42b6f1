# SPDX-License-Identifier: Apache-2.0
"""Pods that are pinned to different nodes, as those of a DaemonSet, share a signature; each sees its own node only."""

from __future__ import annotations

import pytest
from tests.equivalence.cluster import PROFILE, Cluster

from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.testing import PodBuilder, is_in, make_claim, make_node, make_pod, make_volume

NODES = ("n0", "n1", "n2", "n3")
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    for name in NODES:
        cluster.cache.set_node(make_node(name).label("disk", "ssd").capacity(cpu="2", memory="4Gi").obj())
    return cluster


def daemon(node: str) -> PodBuilder:
    return make_pod(f"daemon-{node}").req(cpu="1").required_node_affinity(fields=[is_in("metadata.name", node)])


def placed(cluster: Cluster, pod: PodInfo) -> list[str]:
    evaluation = cluster.columnar.evaluate(cluster.profiles[PROFILE], pod)
    return list(evaluation.feasible())


def test_their_shapes_are_one_and_the_same() -> None:
    shapes = PodShapes()
    first, second = shapes.info(daemon("n0").obj()), shapes.info(daemon("n1").obj())
    assert first.shape is second.shape
    assert (first.pinned_to, second.pinned_to) == ("n0", "n1")


@pytest.mark.parametrize(
    "other",
    [
        make_pod().req(cpu="1"),
        daemon("n0").label("app", "x").req(cpu="2"),
        make_pod().req(cpu="1").required_node_affinity(fields=[is_in("metadata.name", "n0", "n1")]),
        make_pod().req(cpu="1").required_node_affinity(is_in("disk", "ssd"), fields=[is_in("metadata.name", "n0")]),
        daemon("n0").spread("zone"),
    ],
    ids=["not pinned", "other requests", "two nodes", "labels as well", "spread"],
)
def test_others_have_shapes_of_their_own(other: PodBuilder) -> None:
    shapes = PodShapes()
    assert shapes.info(daemon("n1").obj()).shape is not shapes.info(other.obj()).shape


def test_each_fits_on_its_node(cluster: Cluster) -> None:
    for name in NODES:
        assert placed(cluster, cluster.pending(daemon(name).obj())) == [name]


def test_a_node_that_is_full_or_missing_is_no_place(cluster: Cluster) -> None:
    for number in range(2):
        cluster.cache.assume(cluster.pending(make_pod(f"p{number}").req(cpu="1").obj()), "n1")
    assert placed(cluster, cluster.pending(daemon("n0").obj())) == ["n0"]
    assert placed(cluster, cluster.pending(daemon("n1").obj())) == []
    assert placed(cluster, cluster.pending(daemon("n9").obj())) == []


@pytest.mark.parametrize("node", ["n0", "n1", "n2", "n3", "n9"])
def test_both_engines_say_the_same(cluster: Cluster, node: str) -> None:
    cluster.cache.set_node(make_node("n1").capacity(cpu="2", memory="4Gi").taint("dedicated").obj())
    cluster.cache.set_node(make_node("n2").unschedulable().capacity(cpu="2", memory="4Gi").obj())
    repelling = make_pod("other").label("app", "lonely").anti_affinity("kubernetes.io/hostname", {"app": "daemon"})
    cluster.cache.set_node(make_node("n3").label("kubernetes.io/hostname", "n3").capacity(cpu="2", memory="4Gi").obj())
    cluster.cache.assume(cluster.pending(repelling.obj()), "n3")
    for pinned_to in (*NODES, node):
        pod = cluster.pending(daemon(pinned_to).label("app", "daemon").obj())
        assert cluster.everything(cluster.columnar, pod) == cluster.everything(cluster.scalar, pod)


@pytest.mark.parametrize("node", [*NODES, "n9"])
def test_claims_of_a_pinned_pod_count_on_its_node(cluster: Cluster, node: str) -> None:
    for name in NODES:
        zone = "z1" if name in ("n1", "n2") else "z0"
        cluster.cache.set_node(make_node(name).label(ZONE, zone).capacity(cpu="2", memory="4Gi").obj())
    claim = make_claim("claim").bound("volume")
    cluster.objects.put(claim.obj())
    cluster.objects.put(make_volume("volume").label(ZONE, "z1").claimed(claim).obj())
    pod = cluster.pending(daemon(node).pvc("claim").obj())
    assert placed(cluster, pod) == ([node] if node in ("n1", "n2") else [])
    assert cluster.everything(cluster.columnar, pod) == cluster.everything(cluster.scalar, pod)
