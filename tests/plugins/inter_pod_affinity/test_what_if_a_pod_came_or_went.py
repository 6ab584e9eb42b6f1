# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import Cycle, node_in

from steersman.framework.status import unresolvable, unschedulable
from steersman.scheduler.plugins.inter_pod_affinity import (
    ERR_AFFINITY_RULES_NOT_MATCH,
    ERR_ANTI_AFFINITY_RULES_NOT_MATCH,
    ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH,
)
from steersman.scheduler.plugins.inter_pod_affinity.filtering import FilterState
from steersman.scheduler.plugins.inter_pod_affinity.plugin import FILTER_STATE_KEY
from steersman.testing import PodBuilder, exists, is_in, make_pod, not_in

NODES = [
    node_in("a", region="r1", zone="z11"),
    node_in("b", region="r1", zone="z12"),
    node_in("c", region="r2", zone="z21"),
]
FOO_BAR = make_pod().label("foo", "bar")
COMPLEX = ((is_in("foo", "bar", "buzz"), "region"), (not_in("service", "bar", "security", "test"), "zone"))


def apart(pod: PodBuilder) -> PodBuilder:
    for expression, topology_key in COMPLEX:
        pod = pod.anti_affinity(topology_key, expression)
    return pod


def near(pod: PodBuilder) -> PodBuilder:
    for expression, topology_key in COMPLEX:
        pod = pod.pod_affinity(topology_key, expression)
    return pod


def counts(cycle: Cycle) -> FilterState:
    state = cycle.state.read(FILTER_STATE_KEY, FilterState)
    assert state is not None
    return state


def test_adding_and_removing_a_pod_recounts_the_anti_affinity_of_both_sides() -> None:
    pending = FOO_BAR.anti_affinity("region", is_in("foo", "bar"))
    existing = [FOO_BAR.name("p1").node("a"), make_pod("p2").anti_affinity("region", is_in("foo", "bar")).node("c")]
    cycle = Cycle(pending, NODES, existing)
    cycle.pre_filter()
    before = counts(cycle).clone()
    added = FOO_BAR.name("added").anti_affinity("region", is_in("foo", "bar")).node("b").info()

    assert cycle.plugin.add_pod(cycle.state, cycle.pod, added, cycle.node("b")) is None
    assert counts(cycle).anti_affinity == {("region", "r1"): 2}
    assert counts(cycle).existing_anti_affinity == {("region", "r1"): 1, ("region", "r2"): 1}
    assert counts(cycle).affinity == {}

    assert cycle.plugin.remove_pod(cycle.state, cycle.pod, added, cycle.node("b")) is None
    assert counts(cycle) == before


def test_counts_after_adding_equal_those_of_a_cluster_that_has_the_pod() -> None:
    existing = [FOO_BAR.name("p1").node("a"), make_pod("p2").anti_affinity("region", is_in("foo", "bar")).node("c")]
    added = apart(FOO_BAR.name("added")).node("a")
    for pending in (apart(FOO_BAR), near(FOO_BAR)):
        later, whole = Cycle(pending, NODES, existing), Cycle(pending, NODES, [*existing, added])
        later.pre_filter()
        whole.pre_filter()
        later.plugin.add_pod(later.state, later.pod, added.info(), later.node("a"))
        assert counts(later).affinity == counts(whole).affinity
        assert counts(later).anti_affinity == counts(whole).anti_affinity
        assert counts(later).existing_anti_affinity == counts(whole).existing_anti_affinity


def test_every_term_counts_in_its_own_domain() -> None:
    existing = [FOO_BAR.name("p1").node("a"), make_pod("p2").node("c"), FOO_BAR.name("p3").node("a")]
    two_sided = Cycle(near(apart(FOO_BAR)), NODES, existing)
    two_sided.pre_filter()
    assert counts(two_sided).anti_affinity == {("region", "r1"): 2, ("zone", "z11"): 2, ("zone", "z21"): 1}
    assert counts(two_sided).affinity == {("region", "r1"): 2, ("zone", "z11"): 2}


def test_terms_with_the_same_key_count_once_each() -> None:
    pending = make_pod().pod_affinity("region", exists("x")).pod_affinity("region", exists("y"))
    cycle = Cycle(pending, NODES, [make_pod("p1").label("x", "").label("y", "").node("a")])
    cycle.pre_filter()
    assert counts(cycle).affinity == {("region", "r1"): 2}


def test_verdicts_follow_the_counts() -> None:
    cycle = Cycle(FOO_BAR.anti_affinity("zone", exists("enemy")), NODES)
    assert cycle.verdicts() == [None, None, None]
    enemy = make_pod("enemy").label("enemy", "").info()
    loner = make_pod("loner").anti_affinity("zone", exists("foo")).info()
    cycle.plugin.add_pod(cycle.state, cycle.pod, enemy, cycle.node("a"))
    cycle.plugin.add_pod(cycle.state, cycle.pod, loner, cycle.node("b"))
    assert cycle.filter_all() == [
        unschedulable(ERR_ANTI_AFFINITY_RULES_NOT_MATCH),
        unschedulable(ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH),
        None,
    ]


def test_the_series_starts_again_when_its_only_pod_goes() -> None:
    series = FOO_BAR.pod_affinity("zone", is_in("foo", "bar"))
    first = series.name("first").node("a")
    cycle = Cycle(series, NODES, [first])
    not_near = unresolvable(ERR_AFFINITY_RULES_NOT_MATCH)
    assert cycle.verdicts() == [None, not_near, not_near]
    cycle.plugin.remove_pod(cycle.state, cycle.pod, first.info(), cycle.node("a"))
    assert cycle.filter_all() == [None, None, None]


def test_a_clone_of_the_cycle_state_does_not_change_the_original() -> None:
    cycle = Cycle(FOO_BAR.anti_affinity("zone", exists("enemy")), NODES)
    cycle.pre_filter()
    what_if = cycle.state.clone()
    cycle.plugin.add_pod(what_if, cycle.pod, make_pod().label("enemy", "").info(), cycle.node("a"))
    assert cycle.plugin.filter(what_if, cycle.pod, cycle.node("a")) is not None
    assert cycle.plugin.filter(cycle.state, cycle.pod, cycle.node("a")) is None


def test_adding_a_pod_without_pre_filter_is_an_error() -> None:
    cycle = Cycle(make_pod(), NODES)
    status = cycle.plugin.add_pod(cycle.state, cycle.pod, make_pod("x").info(), cycle.node("a"))
    assert status is not None
    assert status.message == 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
