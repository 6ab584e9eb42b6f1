# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import Cycle, node_in

from steersman.framework.status import SKIP, unresolvable, unschedulable
from steersman.scheduler.plugins.inter_pod_affinity import (
    ERR_AFFINITY_RULES_NOT_MATCH,
    ERR_ANTI_AFFINITY_RULES_NOT_MATCH,
)
from steersman.testing import absent, exists, is_in, make_pod, not_in

NODE = node_in("node1", region="r1", zone="z11")
SCANNER = make_pod("scanner").label("service", "securityscan").node("node1")
NOT_NEAR = unresolvable(ERR_AFFINITY_RULES_NOT_MATCH)


def test_a_pod_without_terms_in_a_cluster_without_terms_is_not_checked() -> None:
    assert Cycle(make_pod(), [NODE], [SCANNER]).pre_filter() == SKIP


def test_preferred_terms_are_nothing_to_check() -> None:
    pod = (
        make_pod().pod_affinity("zone", exists("service"), weight=1).anti_affinity("zone", exists("service"), weight=1)
    )
    assert Cycle(pod, [NODE], [SCANNER]).pre_filter() == SKIP


def test_a_matching_pod_in_the_domain_satisfies_the_affinity() -> None:
    pod = make_pod().pod_affinity("region", is_in("service", "securityscan", "value2"))
    assert Cycle(pod, [NODE], [SCANNER]).verdicts() == [None]


def test_negative_selectors_match_pods_with_other_values() -> None:
    pod = make_pod().pod_affinity("region", not_in("service", "securityscan3", "value3"))
    assert Cycle(pod, [NODE], [SCANNER]).verdicts() == [None]


def test_without_a_matching_pod_no_node_satisfies_the_affinity() -> None:
    pod = make_pod().pod_affinity("region", is_in("service", "antivirusscan"))
    assert Cycle(pod, [NODE], [SCANNER]).verdicts() == [NOT_NEAR]


def test_expressions_of_several_terms_must_all_hold() -> None:
    both = make_pod().pod_affinity("region", (exists("service"), absent("wrongkey")))
    satisfied = both.pod_affinity("region", (is_in("service", "securityscan"), not_in("service", "WrongValue")))
    violated = both.pod_affinity("region", (is_in("service", "securityscan2"), not_in("service", "WrongValue")))
    assert Cycle(satisfied, [NODE], [SCANNER]).verdicts() == [None]
    assert Cycle(violated, [NODE], [SCANNER]).verdicts() == [NOT_NEAR]


def test_one_pod_must_satisfy_all_terms() -> None:
    pod = make_pod().pod_affinity("region", exists("foo")).pod_affinity("zone", exists("bar"))
    nodes = [node_in("a", region="r1", zone="z1"), node_in("b", region="r1", zone="z2")]
    one_of_each = [make_pod("foo").label("foo", "").node("a"), make_pod("bar").label("bar", "").node("b")]
    both = [make_pod("both").label("foo", "").label("bar", "").node("a")]
    assert Cycle(pod, nodes, one_of_each).verdicts() == [NOT_NEAR, NOT_NEAR]
    assert Cycle(pod, nodes, both).verdicts() == [None, NOT_NEAR]


def test_the_domain_is_all_nodes_with_the_same_label_value() -> None:
    pod = make_pod().pod_affinity("region", is_in("foo", "bar"))
    nodes = [node_in("n1", region="China"), node_in("n2", region="China", az="az1"), node_in("n3", region="India")]
    existing = [make_pod("p1").label("foo", "bar").node("n1")]
    assert Cycle(pod, nodes, existing).verdicts() == [None, None, NOT_NEAR]


def test_a_node_without_the_topology_label_is_outside_of_every_domain() -> None:
    pod = make_pod().pod_affinity("zone", exists("service"))
    nodes = [NODE, node_in("bare")]
    assert Cycle(pod, nodes, [SCANNER]).verdicts() == [None, NOT_NEAR]


def test_a_term_without_a_selector_matches_no_pod() -> None:
    pod = make_pod().pod_affinity("zone", None)
    assert Cycle(pod, [NODE], [SCANNER]).verdicts() == [NOT_NEAR]


def test_the_affinity_is_named_before_the_anti_affinity() -> None:
    pod = make_pod().pod_affinity("zone", {"service": "none"}).anti_affinity("zone", exists("service"))
    assert Cycle(pod, [NODE], [SCANNER]).verdicts() == [NOT_NEAR]


def test_affinity_may_hold_where_anti_affinity_does_not() -> None:
    pod = make_pod().pod_affinity("region", exists("service"))
    apart_by_node = pod.anti_affinity("node", is_in("service", "antivirusscan"))
    apart_by_zone = pod.anti_affinity("zone", is_in("service", "securityscan"))
    assert Cycle(apart_by_node, [NODE], [SCANNER]).verdicts() == [None]
    assert Cycle(apart_by_zone, [NODE], [SCANNER]).verdicts() == [unschedulable(ERR_ANTI_AFFINITY_RULES_NOT_MATCH)]


def test_filter_without_pre_filter_is_an_error() -> None:
    (status,) = Cycle(make_pod(), [NODE]).filter_all()
    assert status is not None
    assert status.message == 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
