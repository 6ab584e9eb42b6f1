# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import Cycle, node_in

from steersman.framework.status import unresolvable
from steersman.scheduler.plugins.inter_pod_affinity import ERR_AFFINITY_RULES_NOT_MATCH
from steersman.testing import is_in, make_pod, not_in

NOT_NEAR = unresolvable(ERR_AFFINITY_RULES_NOT_MATCH)
NODES = [node_in("a", zone="az1", hostname="h1"), node_in("b", zone="az2", hostname="h2")]
SERIES = (
    make_pod()
    .labels({"foo": "bar", "service": "securityscan"})
    .pod_affinity("zone", is_in("foo", "bar"))
    .pod_affinity("zone", is_in("service", "securityscan"))
)
PARTLY_MATCHING = make_pod("p1").label("foo", "bar").node("a")


def test_the_first_pod_of_a_series_may_go_to_any_domain() -> None:
    assert Cycle(SERIES, NODES, [PARTLY_MATCHING]).verdicts() == [None, None]


def test_the_first_pod_still_needs_the_topology_labels() -> None:
    nodes = [node_in("a", zone_label="az1"), node_in("b", zone="az2")]
    assert Cycle(SERIES, nodes, [PARTLY_MATCHING]).verdicts() == [NOT_NEAR, None]


def test_the_next_pods_follow_the_first() -> None:
    first = SERIES.name("first").node("b")
    assert Cycle(SERIES, NODES, [first]).verdicts() == [NOT_NEAR, None]


def test_a_pod_that_does_not_match_its_own_terms_cannot_start_a_series() -> None:
    pod = make_pod().label("service", "securityscan").pod_affinity("zone", not_in("service", "securityscan"))
    existing = make_pod("p1").label("service", "securityscan").node("elsewhere")
    assert Cycle(pod, NODES, [existing]).verdicts() == [NOT_NEAR, NOT_NEAR]


def test_a_match_outside_of_every_domain_does_not_end_the_wait_for_the_first() -> None:
    # The match is on a node without the label: there is no domain to follow it to.
    nodes = [*NODES, node_in("bare")]
    first = SERIES.name("first").node("bare")
    assert Cycle(SERIES, nodes, [first]).verdicts() == [None, None, NOT_NEAR]


def test_a_match_in_another_namespace_does_not_count() -> None:
    stranger = SERIES.name("first").namespace("other").node("a")
    assert Cycle(SERIES, NODES, [stranger]).verdicts() == [None, None]
