# SPDX-License-Identifier: Apache-2.0
"""What a report tells."""

from __future__ import annotations

from tests.preemption.clusters import PreemptionCluster

from steersman.testing import PodBuilder, make_disruption_budget, make_node, make_pod

NODES = [make_node(name).capacity(cpu="4", pods=10) for name in ("n1", "n2", "n3", "n4")]


def running(name: str, node: str, priority: int) -> PodBuilder:
    return make_pod(name).req(cpu="4").priority(priority).node(node).started("2030-01-01T00:00:00Z")


def cluster() -> PreemptionCluster:
    pods = [running("low", "n1", 1), running("web", "n2", 0).label("app", "web"), running("top", "n3", 100)]
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(0).obj()
    small = [*NODES[:3], make_node("n4").capacity(cpu="1", pods=10)]
    return PreemptionCluster(small, pods, [budget])


PREEMPTOR = make_pod("preemptor").req(cpu="3").priority(100)


def test_a_detailed_report_lists_candidates_and_why_other_nodes_are_none() -> None:
    preempting = cluster()
    preempting.nominate(make_pod("humble").req(cpu="1").priority(5), "n1")
    assert preempting.report(PREEMPTOR).to_dict() == {
        "examinedNodes": 3,
        "candidateNodes": 2,
        "candidates": [
            {"node": "n1", "victims": [{"pod": "default/low", "priority": 1}], "pdbViolations": 0},
            {"node": "n2", "victims": [{"pod": "default/web", "priority": 0}], "pdbViolations": 1},
        ],
        "rejected": [{"reasons": ["No preemption victims found for incoming pod"], "nodes": ["n3"]}],
        "nominatedNode": "n1",
        "decidedBy": "fewest violations of disruption budgets",
        "ties": ["n1"],
        "clearedNominations": ["default/humble"],
    }


def test_no_nomination_is_cleared_while_all_victims_are_terminating_already() -> None:
    leaving = running("leaving", "n1", 1).terminating()
    preempting = PreemptionCluster(NODES[:1], [leaving])
    preempting.nominate(make_pod("humble").req(cpu="1").priority(5), "n1")
    report = preempting.report(PREEMPTOR)
    assert report.choice is not None
    assert report.cleared_nominations == ()


def test_a_brief_report_has_the_choice_and_the_number_of_candidates() -> None:
    preempting = cluster()
    preempting.plugin.evaluator.detailed = False
    report = preempting.report(PREEMPTOR)
    assert report.candidate_count == 2
    assert report.choice is not None
    assert report.choice.candidate.node == "n1"


def test_a_report_without_choice_says_why() -> None:
    preempting = PreemptionCluster(NODES[:1], [running("top", "n1", 100)])
    report = preempting.report(PREEMPTOR)
    assert report.choice is None
    assert report.failure() == "0/1 nodes are available: 1 No preemption victims found for incoming pod."
