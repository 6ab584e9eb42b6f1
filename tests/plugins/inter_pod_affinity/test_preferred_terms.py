# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import TEAMS, Cycle, node_in

from steersman.framework.status import SKIP, Code
from steersman.testing import absent, exists, is_in, make_pod, not_in

CHINA, INDIA, AZ1 = node_in("node1", region="China"), node_in("node2", region="India"), node_in("node3", az="az1")
S1, S2 = make_pod().label("security", "S1"), make_pod().label("security", "S2")
NEAR_S1 = make_pod().pod_affinity("region", {"security": "S1"}, weight=5)
NEAR_S2 = make_pod().pod_affinity("region", {"security": "S2"}, weight=6)
APART_FROM_S1 = make_pod().anti_affinity("az", {"security": "S1"}, weight=5)


def test_without_preferences_anywhere_nothing_is_scored() -> None:
    assert Cycle(S1, [CHINA, INDIA, AZ1], [S1.node("node1")]).pre_score() == SKIP


def test_without_nodes_nothing_is_scored() -> None:
    assert Cycle(S2, []).pre_score() == SKIP


def test_preferences_that_no_pod_matches_are_not_scored() -> None:
    assert Cycle(NEAR_S1, [CHINA], [S2.node("node1")]).pre_score() == SKIP


def test_a_match_outside_of_every_domain_is_not_scored() -> None:
    assert Cycle(NEAR_S1, [CHINA, AZ1], [S1.node("node3")]).pre_score() == SKIP


def test_the_domain_with_a_matching_pod_is_preferred() -> None:
    existing = [S1.node("node1"), S2.node("node2"), S1.node("node3")]
    cycle = Cycle(NEAR_S1, [CHINA, INDIA, AZ1], existing)
    assert cycle.raw_scores() == [5, 0, 0]
    assert cycle.scores() == [100, 0, 0]


def test_all_nodes_of_a_domain_score_alike() -> None:
    nodes = [CHINA, node_in("node2", region="China", az="az1"), node_in("node3", region="India")]
    assert Cycle(NEAR_S1, nodes, [S1.node("node1")]).scores() == [100, 100, 0]


def test_more_matching_pods_weigh_more() -> None:
    nodes = [node_in("a", region="China"), node_in("b", region="India"), node_in("c", region="China")]
    existing = [S2.node("a"), S2.node("a"), S2.node("b"), S2.node("c"), S2.node("b")]
    cycle = Cycle(NEAR_S2, nodes, existing)
    assert cycle.raw_scores() == [18, 12, 18]
    assert cycle.scores() == [100, 0, 100]


def test_weights_of_matching_terms_add_up() -> None:
    pod = make_pod().pod_affinity("region", (not_in("security", "S1"), is_in("security", "S2")), weight=8)
    pod = pod.pod_affinity("region", (exists("security"), absent("wrongkey")), weight=2)
    cycle = Cycle(pod, [CHINA, INDIA, AZ1], [S1.node("node1"), S2.node("node2"), S1.node("node3")])
    assert cycle.raw_scores() == [2, 10, 0]
    assert cycle.scores() == [20, 100, 0]


def test_anti_affinity_makes_a_domain_worse() -> None:
    cycle = Cycle(APART_FROM_S1, [AZ1, CHINA], [S1.node("node3"), S1.node("node3"), S1.node("node1")])
    assert cycle.raw_scores() == [-10, 0]
    assert cycle.scores() == [0, 100]


def test_affinity_and_anti_affinity_meet_in_one_sum() -> None:
    both = (
        make_pod()
        .pod_affinity("region", {"security": "S1"}, weight=8)
        .anti_affinity("az", {"security": "S2"}, weight=5)
    )
    nodes = [node_in("a", region="China", az="az1"), node_in("b", region="China"), node_in("c", az="az1")]
    cycle = Cycle(both, nodes, [S1.node("b"), S2.node("c")])
    assert cycle.raw_scores() == [3, 8, -5]
    assert cycle.scores() == [61, 100, 0]


def test_pods_on_nodes_that_do_not_fit_count_too() -> None:
    cycle = Cycle(NEAR_S1, [CHINA, node_in("other", region="China"), INDIA], [S1.node("node1")])
    assert cycle.plugin.pre_score(cycle.state, cycle.pod, cycle.nodes[1:]) is None
    assert cycle.plugin.score(cycle.state, cycle.pod, cycle.node("other")) == 5


def test_opposite_weights_may_cancel_out_and_are_scored_all_the_same() -> None:
    both = (
        make_pod()
        .pod_affinity("region", {"security": "S1"}, weight=5)
        .anti_affinity("region", {"security": "S1"}, weight=5)
    )
    cycle = Cycle(both, [CHINA, INDIA], [S1.node("node1")])
    assert cycle.raw_scores() == [0, 0]
    assert cycle.scores() == [0, 0]


def test_normalisation_cuts_off_fractions() -> None:
    pod = make_pod().pod_affinity("host", exists("security"), weight=1)
    nodes = [node_in("a", host="a"), node_in("b", host="b"), node_in("c", host="c"), node_in("d", host="d")]
    existing = [S1.node("b"), S1.node("c"), S1.node("c"), S1.node("d"), S1.node("d"), S1.node("d")]
    assert Cycle(pod, nodes, existing).scores() == [0, 33, 66, 100]


def test_selected_and_listed_namespaces_count() -> None:
    pod = (
        make_pod()
        .namespace("subteam1.team1")
        .pod_affinity(
            "region", {"security": "S1"}, weight=5, namespaces=["subteam2.team2"], namespace_selector={"team": "team1"}
        )
    )
    existing = [
        S1.namespace("subteam1.team1").node("node1"),
        S1.namespace("subteam2.team2").node("node1"),
        S1.namespace("subteam1.team2").node("node1"),
        S1.namespace("subteam2.team1").node("node2"),
    ]
    assert Cycle(pod, [CHINA, INDIA], existing, namespaces=TEAMS).raw_scores() == [10, 5]


def test_scoring_without_pre_score_is_an_error() -> None:
    cycle = Cycle(NEAR_S1, [CHINA])
    message = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
    for status in (
        cycle.plugin.score(cycle.state, cycle.pod, cycle.nodes[0]),
        cycle.plugin.normalize_scores(cycle.state, cycle.pod, []),
    ):
        assert not isinstance(status, int)
        assert status is not None
        assert (status.code, status.message) == (Code.ERROR, message)
