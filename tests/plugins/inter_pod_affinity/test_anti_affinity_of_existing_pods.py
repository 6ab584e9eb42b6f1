# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import Cycle, node_in

from steersman.framework.status import SKIP, unschedulable
from steersman.scheduler.plugins.inter_pod_affinity import (
    ERR_ANTI_AFFINITY_RULES_NOT_MATCH,
    ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH,
)
from steersman.testing import exists, is_in, make_pod, not_in

UNWANTED = unschedulable(ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH)
TOO_NEAR = unschedulable(ERR_ANTI_AFFINITY_RULES_NOT_MATCH)
A, B = node_in("a", region="r1", zone="z1"), node_in("b", region="r1", zone="z2")
C = node_in("c", region="r1", zone="z3")


def test_existing_pods_keep_a_pod_without_terms_away() -> None:
    loner = make_pod("loner").anti_affinity("zone", is_in("service", "securityscan")).node("a")
    assert Cycle(make_pod().label("service", "securityscan"), [A, B], [loner]).verdicts() == [UNWANTED, None]


def test_nothing_is_checked_when_no_existing_term_matches() -> None:
    loner = make_pod("loner").anti_affinity("zone", not_in("service", "securityscan")).node("a")
    assert Cycle(make_pod().label("service", "securityscan"), [A], [loner]).pre_filter() == SKIP


def test_nothing_is_checked_when_the_matching_term_has_no_domain() -> None:
    loner = make_pod("loner").anti_affinity("unknown", exists("foo")).node("a")
    assert Cycle(make_pod().label("foo", ""), [A, B], [loner]).pre_filter() == SKIP


def test_every_existing_term_closes_its_own_domain() -> None:
    pod = make_pod().label("foo", "").label("bar", "")
    by_zone = make_pod("p1").anti_affinity("zone", exists("foo")).node("a")
    by_region = make_pod("p2").anti_affinity("region", exists("bar")).node("a")
    assert Cycle(pod, [A, B], [by_zone]).verdicts() == [UNWANTED, None]
    assert Cycle(pod, [A, B], [by_zone, by_region]).verdicts() == [UNWANTED, UNWANTED]


def test_one_matching_term_of_an_existing_pod_is_enough() -> None:
    pod = make_pod().label("foo", "").label("bar", "")
    first = make_pod("p1").anti_affinity("zone", exists("foo")).anti_affinity("zone", exists("x")).node("a")
    second = make_pod("p2").anti_affinity("zone", exists("bar")).anti_affinity("zone", exists("y")).node("b")
    assert Cycle(pod, [A, B, C], [first, second]).verdicts() == [UNWANTED, UNWANTED, None]


def test_the_own_anti_affinity_is_named_before_that_of_others() -> None:
    pod = make_pod().label("foo", "").anti_affinity("zone", exists("bar"))
    existing = make_pod("p1").label("bar", "").anti_affinity("zone", exists("foo")).node("a")
    assert Cycle(pod, [A], [existing]).verdicts() == [TOO_NEAR]


def test_the_anti_affinity_of_others_alone_is_named_when_the_own_is_satisfied() -> None:
    pod = make_pod().label("service", "scan").pod_affinity("region", exists("service")).anti_affinity("n", exists("x"))
    existing = make_pod("p1").label("service", "scan").anti_affinity("zone", is_in("service", "scan")).node("a")
    assert Cycle(pod, [A, B], [existing]).verdicts() == [UNWANTED, None]


def test_existing_affinity_terms_never_reject() -> None:
    existing = make_pod("p1").pod_affinity("zone", exists("foo")).node("a")
    assert Cycle(make_pod().label("foo", ""), [A, B], [existing]).pre_filter() == SKIP


def test_pods_of_other_namespaces_are_not_meant() -> None:
    existing = make_pod("p1").namespace("NS2").anti_affinity("region", is_in("foo", "123")).node("a")
    pod = make_pod().namespace("NS1").label("foo", "123")
    assert Cycle(pod, [A], [existing]).pre_filter() == SKIP
