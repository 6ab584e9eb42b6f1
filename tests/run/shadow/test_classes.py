# SPDX-License-Identifier: Apache-2.0
"""In which class a decision of the other scheduler is, and what is said of it, without sampling."""

from __future__ import annotations

from tests.run.shadow.following import WatchedCluster, node, nodes, pod

from steersman.run.shadow import ComparisonClass, DecisionKind
from steersman.testing import make_pod


def test_the_only_best_node_is_the_same_decision() -> None:
    cluster = WatchedCluster(node("small", "2"), node("large", "16"))
    cluster.see(pod("web"))
    cluster.bind("web", "large")
    found = cluster.last()
    assert (found.comparison_class, found.their_node, found.ties) == (ComparisonClass.SAME, "large", 1)
    assert found.evidence == "the best of 2 nodes that fit"


def test_one_of_several_best_nodes_is_a_tie() -> None:
    cluster = WatchedCluster(*nodes(3))
    cluster.see(pod("web"))
    cluster.bind("web", "n2")
    found = cluster.last()
    assert (found.comparison_class, found.ties) == (ComparisonClass.TIE, 3)


def test_a_worse_node_is_a_disagreement_that_names_the_plugin() -> None:
    cluster = WatchedCluster(*nodes(2), pod("other", "2", on="n0"))
    cluster.see(pod("web"))
    cluster.bind("web", "n0")
    found = cluster.last()
    assert (found.comparison_class, found.our_node) == (ComparisonClass.DISAGREEMENT, "n1")
    assert found.scores is not None
    assert found.scores.plugin == "NodeResourcesFit"
    assert found.scores.theirs is not None
    assert found.scores.ours is not None
    assert found.scores.theirs < found.scores.ours
    parts = found.scores.plugins
    assert sum(one.theirs for one in parts) == found.scores.theirs
    assert sum(one.ours for one in parts) == found.scores.ours


def test_a_node_that_does_not_fit_is_a_disagreement_with_the_objection() -> None:
    cluster = WatchedCluster(node("small", "1"), node("large", "16"))
    cluster.see(pod("web", "2"))
    cluster.bind("web", "small")
    found = cluster.last()
    assert found.comparison_class is ComparisonClass.DISAGREEMENT
    assert found.scores is not None
    assert (found.scores.theirs, found.scores.plugin) == (None, "NodeResourcesFit")
    assert found.scores.objection == "Insufficient cpu"


def test_a_pod_that_fits_nowhere_here_has_our_message() -> None:
    cluster = WatchedCluster(node("small", "1"))
    cluster.see(pod("web", "2"))
    cluster.bind("web", "small")
    found = cluster.last()
    assert found.comparison_class is ComparisonClass.DISAGREEMENT
    assert "it fits nowhere here" in found.evidence
    assert "1 Insufficient cpu" in found.our_message


def test_pods_of_other_schedulers_and_pods_that_come_with_a_node_are_state_only() -> None:
    cluster = WatchedCluster(*nodes(2))
    cluster.see(make_pod("foreign").req(cpu="1").scheduler("night").obj())
    cluster.bind("foreign", "n0")
    cluster.see(pod("placed", on="n0"))
    assert cluster.settle() == []
    cluster.see(pod("web"))
    cluster.bind("web", "n1")
    assert cluster.last().comparison_class is ComparisonClass.SAME


def test_both_hold_a_pod_unschedulable_and_the_messages_are_compared() -> None:
    cluster = WatchedCluster(*nodes(2))
    cluster.see(pod("web", "9"))
    said = "0/2 nodes are available: 2 Insufficient cpu. "
    said += "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    cluster.fail("web", said)
    found = cluster.last()
    assert (found.decision, found.comparison_class) == (DecisionKind.UNSCHEDULABLE, ComparisonClass.SAME)
    assert found.evidence == "fits nowhere, with the same message", found.our_message


def test_a_pod_that_is_held_there_and_fits_here_is_a_disagreement() -> None:
    cluster = WatchedCluster(*nodes(2))
    cluster.see(pod("web"))
    cluster.fail("web", "0/2 nodes are available: 2 Insufficient cpu.")
    found = cluster.last()
    assert (found.decision, found.comparison_class) == (DecisionKind.UNSCHEDULABLE, ComparisonClass.DISAGREEMENT)
    assert "fits on 2 nodes here" in found.evidence


def test_a_nomination_is_compared_and_the_binding_that_follows_it() -> None:
    victims = [make_pod(f"low-{index}").req(cpu="4").priority(0).node(f"n{index}").obj() for index in range(2)]
    cluster = WatchedCluster(*nodes(2), *victims)
    cluster.see(make_pod("urgent").req(cpu="4").priority(100).obj())
    cluster.fail("urgent", "0/2 nodes are available: 2 Insufficient cpu.", nominated="n1")
    found = cluster.last()
    assert (found.decision, found.comparison_class, found.their_node) == (
        DecisionKind.NOMINATION,
        ComparisonClass.TIE,
        "n1",
    )
    cluster.delete("low-1")
    cluster.bind("urgent", "n1")
    found = cluster.last()
    assert (found.decision, found.comparison_class) == (DecisionKind.BINDING, ComparisonClass.SAME)
    assert found.evidence == "the node that the pod was nominated to, and it fits there"


def test_a_nomination_of_a_node_that_does_not_help_is_a_disagreement() -> None:
    high = make_pod("high").req(cpu="4").priority(1000).node("n0").obj()
    low = make_pod("low").req(cpu="4").priority(0).node("n1").obj()
    cluster = WatchedCluster(*nodes(2), high, low)
    cluster.see(make_pod("urgent").req(cpu="4").priority(100).obj())
    cluster.fail("urgent", "0/2 nodes are available: 2 Insufficient cpu.", nominated="n0")
    found = cluster.last()
    assert (found.comparison_class, found.our_node) == (ComparisonClass.DISAGREEMENT, "n1")


def test_a_node_that_is_expected_before_a_slow_binding_is_compared_once() -> None:
    """kube-scheduler nominates the node that it found while volumes are bound."""
    cluster = WatchedCluster(*nodes(2), pod("other", "2", on="n0"))
    cluster.see(pod("web"))
    cluster.expect_node("web", "n0")
    found = cluster.last()
    assert (found.decision, found.comparison_class, found.our_node) == (
        DecisionKind.BINDING,
        ComparisonClass.DISAGREEMENT,
        "n1",
    )
    cluster.bind("web", "n0")
    assert len(cluster.settle()) == 1
    cluster.follower.model.scheduler.cache.validate_state()
