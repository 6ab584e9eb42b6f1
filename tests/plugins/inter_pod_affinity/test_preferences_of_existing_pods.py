# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import TEAMS, Cycle, node_in

from steersman.config import InterPodAffinityArgs
from steersman.framework.status import SKIP
from steersman.testing import PodBuilder, exists, make_pod

CHINA, INDIA, AZ1 = node_in("node1", region="China"), node_in("node2", region="India"), node_in("node3", az="az1")
NODES = [CHINA, INDIA, AZ1]
S1, S2 = make_pod().label("security", "S1"), make_pod().label("security", "S2")


def near(value: str, weight: int) -> PodBuilder:
    return make_pod().pod_affinity("region", {"security": value}, weight=weight)


def required(selector_value: str) -> PodBuilder:
    return make_pod().pod_affinity("region", {"security": selector_value})


def test_existing_pods_attract_the_pods_they_like() -> None:
    cycle = Cycle(S2, NODES, [near("S1", 5).node("node1"), near("S2", 6).node("node2")])
    assert cycle.raw_scores() == [0, 6, 0]
    assert cycle.scores() == [0, 100, 0]


def test_existing_pods_push_away_the_pods_they_dislike() -> None:
    away = make_pod().anti_affinity("az", {"security": "S2"}, weight=5).node("node3")
    assert Cycle(S2, NODES, [away]).raw_scores() == [0, 0, -5]
    assert Cycle(S2, NODES, [away]).scores() == [100, 100, 0]


def test_required_affinity_of_existing_pods_attracts_with_the_hard_weight() -> None:
    existing = [required("S1").pod_affinity("region", exists("security")).node("node1"), required("S2").node("node2")]
    args = InterPodAffinityArgs(hard_pod_affinity_weight=7)
    assert Cycle(S1, NODES, existing, args=args).raw_scores() == [14, 0, 0]


def test_the_hard_weight_is_one_by_default() -> None:
    assert Cycle(S1, NODES, [required("S1").node("node1")]).raw_scores() == [1, 0, 0]


def test_without_a_hard_weight_required_affinity_attracts_nothing() -> None:
    args = InterPodAffinityArgs(hard_pod_affinity_weight=0)
    assert Cycle(S1, NODES, [required("S1").node("node1")], args=args).pre_score() == SKIP


def test_required_anti_affinity_of_existing_pods_is_no_preference() -> None:
    existing = make_pod().anti_affinity("region", {"security": "S1"}).node("node1")
    assert Cycle(S1, NODES, [existing]).pre_score() == SKIP


def test_own_and_foreign_preferences_add_up() -> None:
    pod = S1.pod_affinity("region", {"security": "S1"}, weight=8).anti_affinity("az", {"security": "S2"}, weight=5)
    nodes = [*NODES, node_in("node4", az="az2")]
    existing = [
        S1.node("node1"),
        S2.node("node3"),
        make_pod().pod_affinity("region", {"security": "S1"}, weight=8).node("node2"),
        make_pod().anti_affinity("az", {"security": "S1"}, weight=5).node("node4"),
    ]
    assert Cycle(pod, nodes, existing).raw_scores() == [8, 8, -5, -5]


def test_pods_without_terms_beside_pods_with_terms_change_nothing() -> None:
    nodes = [node_in("node1", region="China"), node_in("node2", region="China")]
    cycle = Cycle(S1, nodes, [S1.node("node1"), near("S1", 8).node("node2")])
    assert cycle.raw_scores() == [8, 8]
    assert cycle.scores() == [0, 0]


def test_foreign_terms_look_at_the_namespace_of_the_pod() -> None:
    existing = make_pod().pod_affinity(
        "region", {"security": "S1"}, namespaces=["", "subteam2.team2"], namespace_selector={"team": "team1"}
    )
    expected = {"subteam1.team1": [1, 0, 0], "subteam2.team2": [1, 0, 0]}
    for namespace, scores in expected.items():
        pod = S1.namespace(namespace)
        assert Cycle(pod, NODES, [existing.node("node1")], namespaces=TEAMS).raw_scores() == scores
    stranger = S1.namespace("subteam1.team2")
    assert Cycle(stranger, NODES, [existing.node("node1")], namespaces=TEAMS).pre_score() == SKIP


def test_foreign_preferences_can_be_ignored_for_pods_without_preferences() -> None:
    args = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)
    existing = [near("S2", 6).node("node2")]
    assert Cycle(S2, NODES, existing, args=args).pre_score() == SKIP


def test_pods_with_preferences_meet_foreign_ones_even_then() -> None:
    args = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)
    pod = S2.pod_affinity("region", {"security": "S9"}, weight=1)
    assert Cycle(pod, NODES, [near("S2", 6).node("node2")], args=args).raw_scores() == [0, 6, 0]
