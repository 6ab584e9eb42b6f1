# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import TEAMS, Cycle, node_in

from steersman.framework.status import SKIP, unresolvable, unschedulable
from steersman.scheduler.plugins.inter_pod_affinity import (
    ERR_AFFINITY_RULES_NOT_MATCH,
    ERR_ANTI_AFFINITY_RULES_NOT_MATCH,
    ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH,
)
from steersman.testing import PodBuilder, is_in, make_pod, not_in

NODE = node_in("node1", region="r1", zone="z11")
SCANNER = make_pod("scanner").label("service", "scan").node("node1")
NOT_NEAR = unresolvable(ERR_AFFINITY_RULES_NOT_MATCH)
TOO_NEAR = unschedulable(ERR_ANTI_AFFINITY_RULES_NOT_MATCH)
UNWANTED = unschedulable(ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH)


def cycle(pod: PodBuilder, existing: PodBuilder) -> Cycle:
    return Cycle(pod, [NODE], [existing], namespaces=TEAMS)


def test_a_term_without_namespaces_means_the_namespace_of_its_pod() -> None:
    pod = make_pod().namespace("x").anti_affinity("zone", {"service": "scan"})
    assert cycle(pod, SCANNER.namespace("x")).verdicts() == [TOO_NEAR]
    assert cycle(pod, SCANNER.namespace("y")).verdicts() == [None]


def test_listed_namespaces_replace_the_own_one() -> None:
    pod = make_pod().namespace("x").anti_affinity("zone", {"service": "scan"}, namespaces=["y", "z"])
    assert cycle(pod, SCANNER.namespace("x")).verdicts() == [None]
    assert cycle(pod, SCANNER.namespace("z")).verdicts() == [TOO_NEAR]


def test_affinity_reaches_the_namespaces_that_the_selector_finds() -> None:
    pod = make_pod().pod_affinity("region", {"service": "scan"}, namespace_selector=is_in("team", "team1"))
    assert cycle(pod, SCANNER.namespace("subteam1.team1")).verdicts() == [None]
    assert cycle(pod, SCANNER.namespace("subteam1.team2")).verdicts() == [NOT_NEAR]


def test_anti_affinity_reaches_the_namespaces_that_the_selector_finds() -> None:
    pod = make_pod().anti_affinity("zone", {"service": "scan"}, namespace_selector={"team": "team1"})
    assert cycle(pod, SCANNER.namespace("subteam2.team1")).verdicts() == [TOO_NEAR]
    assert cycle(pod, SCANNER.namespace("subteam1.team2")).verdicts() == [None]


def test_a_namespace_selector_excludes_the_own_namespace_unless_it_finds_it() -> None:
    pod = (
        make_pod()
        .namespace("subteam1.team2")
        .anti_affinity("zone", {"service": "scan"}, namespace_selector={"team": "team1"})
    )
    assert cycle(pod, SCANNER.namespace("subteam1.team2")).verdicts() == [None]


def test_listed_and_selected_namespaces_add_up() -> None:
    pod = make_pod().anti_affinity(
        "zone", {"service": "scan"}, namespaces=["subteam1.team2"], namespace_selector={"team": "team1"}
    )
    assert cycle(pod, SCANNER.namespace("subteam1.team2")).verdicts() == [TOO_NEAR]
    assert cycle(pod, SCANNER.namespace("subteam1.team1")).verdicts() == [TOO_NEAR]
    assert cycle(pod, SCANNER.namespace("subteam2.team2")).verdicts() == [None]


def test_one_pod_must_be_in_the_namespaces_of_all_affinity_terms() -> None:
    pod = (
        make_pod()
        .pod_affinity("zone", {"service": "scan"}, namespaces=["x", "y"])
        .pod_affinity("region", {"service": "scan"}, namespaces=["y", "z"])
    )
    assert cycle(pod, SCANNER.namespace("x")).verdicts() == [NOT_NEAR]
    assert cycle(pod, SCANNER.namespace("y")).verdicts() == [None]


def test_an_empty_selector_reaches_every_namespace_known_or_not() -> None:
    pod = make_pod().anti_affinity("zone", {"service": "scan"}, namespace_selector={})
    assert cycle(pod, SCANNER.namespace("subteam2.team1")).verdicts() == [TOO_NEAR]
    assert cycle(pod, SCANNER.namespace("unknown")).verdicts() == [TOO_NEAR]


def test_a_selector_that_only_rules_labels_out_reaches_every_namespace_for_the_pod_being_scheduled() -> None:
    pod = make_pod().anti_affinity("zone", {"service": "scan"}, namespace_selector=not_in("team", "team1"))
    assert cycle(pod, SCANNER.namespace("subteam1.team1")).verdicts() == [TOO_NEAR]


def test_terms_of_existing_pods_look_at_the_labels_of_the_pods_namespace() -> None:
    existing = SCANNER.namespace("x").anti_affinity("zone", {"app": "web"}, namespace_selector={"team": "team1"})
    pod = make_pod().label("app", "web")
    assert cycle(pod.namespace("subteam1.team1"), existing).verdicts() == [UNWANTED]
    assert cycle(pod.namespace("subteam1.team2"), existing).pre_filter() == SKIP
    assert cycle(pod.namespace("x"), existing).pre_filter() == SKIP


def test_terms_of_existing_pods_rule_labels_out_exactly() -> None:
    existing = SCANNER.anti_affinity("zone", {"app": "web"}, namespace_selector=not_in("team", "team1"))
    pod = make_pod().label("app", "web")
    assert cycle(pod.namespace("subteam1.team1"), existing).pre_filter() == SKIP
    assert cycle(pod.namespace("subteam1.team2"), existing).verdicts() == [UNWANTED]


def test_a_namespace_without_an_object_counts_as_one_without_labels() -> None:
    existing = SCANNER.anti_affinity("zone", {"app": "web"}, namespace_selector={"team": "team1"})
    everywhere = SCANNER.anti_affinity("zone", {"app": "web"}, namespace_selector={})
    pod = make_pod().namespace("unknown").label("app", "web")
    assert cycle(pod, existing).pre_filter() == SKIP
    assert cycle(pod, everywhere).verdicts() == [UNWANTED]
