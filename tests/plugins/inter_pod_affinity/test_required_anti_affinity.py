# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import Cycle, node_in

from steersman.framework.status import unschedulable
from steersman.scheduler.plugins.inter_pod_affinity import ERR_ANTI_AFFINITY_RULES_NOT_MATCH
from steersman.testing import exists, is_in, make_pod

TOO_NEAR = unschedulable(ERR_ANTI_AFFINITY_RULES_NOT_MATCH)
CHINA, CHINA_AZ, INDIA = (
    node_in("a", region="China"),
    node_in("b", region="China", az="az1"),
    node_in("c", region="India"),
)


def test_a_matching_pod_closes_its_whole_domain() -> None:
    pod = make_pod().anti_affinity("region", is_in("foo", "abc"))
    existing = [make_pod("p1").label("foo", "abc").node("a")]
    assert Cycle(pod, [CHINA, CHINA_AZ, INDIA], existing).verdicts() == [TOO_NEAR, TOO_NEAR, None]


def test_any_of_the_terms_closes_a_domain() -> None:
    pod = make_pod().anti_affinity("region", exists("foo")).anti_affinity("zone", exists("bar"))
    nodes = [node_in("a", region="r1", zone="z1"), node_in("b", region="r2", zone="z2"), node_in("c", region="r3")]
    existing = [make_pod("p1").label("foo", "").node("a"), make_pod("p2").label("bar", "").node("b")]
    assert Cycle(pod, nodes, existing).verdicts() == [TOO_NEAR, TOO_NEAR, None]


def test_a_term_whose_label_no_node_has_closes_nothing() -> None:
    pod = make_pod().anti_affinity("unknown", exists("foo")).anti_affinity("zone", exists("bar"))
    nodes = [node_in("a", zone="z1"), node_in("b", zone="z2")]
    existing = [make_pod("p1").label("foo", "").label("bar", "").node("a")]
    assert Cycle(pod, nodes, existing).verdicts() == [TOO_NEAR, None]


def test_a_domain_counts_only_under_its_own_key() -> None:
    pod = make_pod().anti_affinity("zone", exists("foo"))
    nodes = [node_in("a", zone="x"), node_in("b", region="x")]
    existing = [make_pod("p1").label("foo", "").node("a")]
    assert Cycle(pod, nodes, existing).verdicts() == [TOO_NEAR, None]


def test_terminating_pods_still_count() -> None:
    pod = make_pod().anti_affinity("region", exists("foo"))
    existing = [make_pod("p1").label("foo", "").terminating().node("a")]
    assert Cycle(pod, [CHINA], existing).verdicts() == [TOO_NEAR]


def test_nodes_without_the_label_are_no_domain_even_if_a_matching_pod_is_there() -> None:
    pod = make_pod().anti_affinity("zone", exists("foo"))
    nodes = [node_in("a", zone="x"), node_in("b", zone="y"), node_in("c"), node_in("d")]
    existing = [make_pod("p1").label("foo", "").node("a"), make_pod("p2").label("foo", "").node("c")]
    assert Cycle(pod, nodes, existing).verdicts() == [TOO_NEAR, None, None, None]
