# SPDX-License-Identifier: Apache-2.0
"""Explanations say which spread constraint, affinity term or volume is in the way, with the counts that decided."""

from __future__ import annotations

from typing import Any

from steersman import api
from steersman.simulation import Simulation
from steersman.testing import (
    Builder,
    NodeBuilder,
    PodBuilder,
    is_in,
    make_claim,
    make_csi_node,
    make_node,
    make_pod,
    make_storage_capacity,
    make_storage_class,
    make_volume,
)

Given = Builder[Any] | api.Object
ZONE = "topology.kubernetes.io/zone"
SPREAD = "PodTopologySpread: node(s) didn't match pod topology spread constraints"
TAKEN = "InterPodAffinity: node(s) didn't match pod anti-affinity rules"
FAR = "InterPodAffinity: node(s) didn't match pod affinity rules"
OBJECTED = "InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules"
OUT_OF_REACH = "VolumeBinding: node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "VolumeBinding: node(s) didn't find available persistent volumes to bind"
NO_SPACE = "VolumeBinding: node(s) did not have enough free storage"


def in_zone(name: str, zone: str) -> NodeBuilder:
    return make_node(name).capacity(cpu="8", memory="16Gi", pods=10).label(ZONE, zone)


def said_of(node: str, *objects: Given) -> str:
    """The first objection to the pod `wanted` on a node."""
    given = [obj.obj() if isinstance(obj, Builder) else obj for obj in objects]
    explanation = Simulation.load(given).run().explain("wanted")
    return str(explanation.node_explanation(node).verdicts[0])


def web(name: str, node: str = "") -> PodBuilder:
    pod = make_pod(name).label("app", "web")
    return pod.node(node) if node else pod


# -- topology spread ----------------------------------------------------------------------------------------------------


def spread(max_skew: int = 1, **options: Any) -> PodBuilder:
    return web("wanted").spread(ZONE, max_skew=max_skew, selector={"app": "web"}, **options)


def test_the_constraint_is_named_with_domain_counts_and_skew() -> None:
    full = in_zone("c", "z").unschedulable()
    cluster: list[Given] = [in_zone("a", "x"), full, web("w1", "a"), web("w2", "a")]
    assert said_of("a", *cluster, spread()) == (
        f"{SPREAD} ({ZONE}=x has 2 pods with app=web, the least is 0: the skew would be 3, maxSkew is 1)"
    )


def test_a_pod_that_does_not_count_itself_adds_nothing_to_the_skew() -> None:
    cluster: list[Given] = [in_zone("a", "x"), in_zone("c", "z").unschedulable(), web("w1", "a"), web("w2", "a")]
    wanted = make_pod("wanted").spread(ZONE, selector={"app": "web"})
    assert said_of("a", *cluster, wanted) == (
        f"{SPREAD} ({ZONE}=x has 2 pods with app=web, the least is 0: the skew would be 2, maxSkew is 1)"
    )


def test_too_few_domains_are_reported() -> None:
    assert said_of("a", in_zone("a", "x"), web("w1", "a"), spread(min_domains=3)) == (
        f"{SPREAD} ({ZONE}=x has 1 pod with app=web, the least is 0 because 1 of minDomains 3 are there: the skew would be 2, "
        "maxSkew is 1)"
    )


def test_the_missing_label_is_named() -> None:
    assert said_of("a", make_node("a").capacity(cpu="8", memory="16Gi", pods=10), spread()) == (
        f"{SPREAD} (missing required label) (has no {ZONE})"
    )


# -- affinity between pods ----------------------------------------------------------------------------------------------


def test_an_affinity_is_named_with_what_is_there_and_elsewhere() -> None:
    cluster: list[Given] = [in_zone("a", "x"), in_zone("b", "y").unschedulable(), web("w1", "b"), web("w2", "b")]
    wanted = make_pod("wanted").pod_affinity(ZONE, {"app": "web"})
    assert said_of("a", *cluster, wanted) == f"{FAR} (wants app=web in {ZONE}=x: no pods there, 2 elsewhere)"


def test_an_affinity_on_a_node_without_the_label_names_the_label() -> None:
    wanted = make_pod("wanted").pod_affinity(ZONE, {"app": "web"})
    assert said_of("a", make_node("a").capacity(cpu="8", memory="16Gi", pods=10), wanted) == f"{FAR} (has no {ZONE})"


def test_an_anti_affinity_is_named_with_how_many_pods_match() -> None:
    wanted = make_pod("wanted").anti_affinity(ZONE, {"app": "db"}).anti_affinity(ZONE, {"app": "web"})
    cluster: list[Given] = [in_zone("a", "x"), in_zone("b", "x"), web("w1", "a"), web("w2", "b")]
    assert said_of("a", *cluster, wanted) == f"{TAKEN} ({ZONE}=x has 2 pods with app=db or app=web)"


def test_the_anti_affinity_of_others_is_counted() -> None:
    others = [make_pod(f"o{n}").anti_affinity(ZONE, {"app": "web"}).node("a") for n in range(2)]
    assert said_of("a", in_zone("a", "x"), *others, web("wanted")) == (
        f"{OBJECTED} (2 anti-affinity terms of pods in {ZONE}=x match it)"
    )


# -- volumes ------------------------------------------------------------------------------------------------------------


def test_a_bound_claim_is_named_with_the_affinity_of_its_volume() -> None:
    claim = make_claim("data").storage_class("fast").bound("pv-1")
    volume = make_volume("pv-1").storage_class("fast").on(is_in(ZONE, "y", "z")).claimed(claim)
    wanted = make_pod("wanted").pvc("data")
    assert said_of("a", in_zone("a", "x"), make_storage_class("fast"), claim, volume, wanted) == (
        f"{OUT_OF_REACH} (claim data: volume pv-1 wants {ZONE} In y, z, has {ZONE}=x)"
    )


def test_a_claim_without_a_volume_is_named_with_what_it_asks() -> None:
    local = make_storage_class("local").provisioner("kubernetes.io/no-provisioner").waits()
    claim = make_claim("data").asks("10Gi").storage_class("local")
    assert said_of("a", in_zone("a", "x"), local, claim, make_pod("wanted").pvc("data")) == (
        f"{NO_VOLUME} (claim data asks 10Gi of class local)"
    )


def test_too_little_storage_is_reported_in_numbers() -> None:
    driver = api.CSIDriver(metadata=api.ObjectMeta(name="d"), spec=api.CSIDriverSpec(storage_capacity=True))
    fast = make_storage_class("fast").provisioner("d").waits()
    room = make_storage_capacity("c").storage_class("fast").capacity("4Gi").on({ZONE: "x"})
    claim = make_claim("data").asks("10Gi").storage_class("fast")
    objects: list[Given] = [in_zone("a", "x"), make_csi_node("a").driver("d"), driver, fast, room, claim]
    assert said_of("a", *objects, make_pod("wanted").pvc("data")) == (
        f"{NO_SPACE} (claim data asks 10Gi of class fast, the largest volume here is 4Gi)"
    )


def test_the_zone_of_a_volume_is_named() -> None:
    claim = make_claim("data").storage_class("fast").bound("pv-1")
    volume = make_volume("pv-1").storage_class("fast").label(ZONE, "y__z").claimed(claim)
    assert said_of(
        "a", in_zone("a", "x"), make_storage_class("fast"), claim, volume, make_pod("wanted").pvc("data")
    ) == (
        f"VolumeZone: node(s) had no available volume zone (claim data: volume pv-1 is in {ZONE}=y or z, has {ZONE}=x)"
    )
