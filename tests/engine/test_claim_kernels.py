# SPDX-License-Identifier: Apache-2.0
"""Pods that differ in their volume claims share a signature; what their claims decide is laid on top for each."""

from __future__ import annotations

import pytest
from tests.equivalence.cluster import PROFILE, Cluster

from steersman.framework.pod_info import PodShapes
from steersman.scheduler.engine.evaluation_plan import make_plan
from steersman.scheduler.engine.signatures import Signatures
from steersman.testing import make_claim, make_node, make_pod, make_volume

ZONE = "topology.kubernetes.io/zone"


def test_they_do_not_pile_up() -> None:
    cluster = Cluster()
    cluster.cache.set_node(make_node("n").obj())
    signatures = Signatures(make_plan(cluster.profiles[PROFILE]), cluster.cache.nodes, cluster.cache.objects)
    signatures.get(cluster.pending(make_pod("plain").obj()))
    for index in range(6):
        signatures.get(cluster.pending(make_pod(f"p{index}").pvc(f"c{index}").obj()))
    assert len(signatures) == 2


def test_a_shape_does_not_say_which_claims() -> None:
    shapes = PodShapes()
    first, second = (shapes.info(make_pod(name).pvc(f"claim-of-{name}").obj()) for name in ("a", "b"))
    assert first.shape is second.shape
    assert (first.claims, second.claims) == (("default/claim-of-a",), ("default/claim-of-b",))
    assert shapes.info(make_pod("two").pvc("x").pvc("y").obj()).shape is not first.shape
    assert shapes.info(make_pod("none").obj()).shape is not first.shape


@pytest.mark.parametrize("name", ["a", "b", "missing"])
def test_each_goes_where_its_own_volume_is(name: str) -> None:
    cluster = Cluster()
    for zone in ("a", "b"):
        cluster.cache.set_node(make_node(f"n-{zone}").label(ZONE, zone).capacity(cpu="4", memory="8Gi").obj())
        claim = make_claim(f"claim-{zone}").bound(f"volume-{zone}")
        cluster.objects.put(claim.obj())
        cluster.objects.put(make_volume(f"volume-{zone}").label(ZONE, zone).claimed(claim).obj())
    for other in ("a", "b", name):
        pod = cluster.pending(make_pod(f"pod-{other}").pvc(f"claim-{other}").obj())
        assert cluster.everything(cluster.columnar, pod) == cluster.everything(cluster.scalar, pod)
        placed = cluster.columnar.evaluate(cluster.profiles[PROFILE], pod).feasible()
        assert list(placed) == ([] if other == "missing" else [f"n-{other}"])
