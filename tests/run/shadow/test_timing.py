# SPDX-License-Identifier: Apache-2.0
"""Decisions that were made on the cluster as it stood a little earlier or later than we saw it."""

from __future__ import annotations

from tests.run.shadow.following import WatchedCluster, node, nodes, pod

from steersman.run.shadow import ComparisonClass


def test_a_binding_that_was_overtaken_is_judged_in_the_order_of_decisions() -> None:
    """The first pod takes the best node, the second one the next; the second binding comes first."""
    cluster = WatchedCluster(node("large", "8"), node("medium", "6"))
    cluster.see(pod("first", "2"))
    cluster.see(pod("second", "1"))
    cluster.bind("second", "medium")
    cluster.bind("first", "large")
    second, first = cluster.settle()
    assert second.pod == "default/second"
    assert second.comparison_class is ComparisonClass.TIMING
    assert second.events == ("decided before it and bound after it: default/first",)
    assert first.comparison_class is ComparisonClass.SAME


def test_a_pod_that_was_decided_later_does_not_count_though_it_was_bound_earlier() -> None:
    cluster = WatchedCluster(node("large", "9"), node("medium", "7"))
    cluster.see(pod("first", "1"))
    cluster.see(pod("second", "4"))
    cluster.bind("second", "large")
    cluster.bind("first", "large")
    first = cluster.settle()[1]
    assert (first.pod, first.comparison_class) == ("default/first", ComparisonClass.TIMING)
    assert first.events == ("decided after it and bound before it: default/second",)


def test_an_event_that_the_other_scheduler_had_not_seen_yet_is_named() -> None:
    cluster = WatchedCluster(node("a", "8"), node("b", "4"))
    cluster.see(pod("web"))
    cluster.see(node("unrelated", "1"))
    cluster.see(node("b", "32"))
    cluster.bind("web", "a")
    found = cluster.last()
    assert found.comparison_class is ComparisonClass.TIMING
    assert found.events == ("not yet seen: Node b changed",)


def test_an_event_that_the_other_scheduler_had_already_seen_is_named() -> None:
    cluster = WatchedCluster(node("a", "8"), node("b", "4"))
    cluster.see(pod("web"))
    cluster.bind("web", "b")
    cluster.see(node("unrelated", "1"))
    cluster.see(node("b", "32"))
    found = cluster.settle()[0]
    assert found.comparison_class is ComparisonClass.TIMING
    assert found.events == ("already seen: Node b changed",)


def test_a_pod_that_was_tried_before_may_have_been_decided_at_another_moment() -> None:
    """Its place in the queue is not known any more, so that its binding may count or not."""
    cluster = WatchedCluster(node("a", "8"), node("b", "6"))
    cluster.see(pod("tried", "3"))
    cluster.fail("tried", "0/2 nodes are available: 2 node(s) were unschedulable.")
    cluster.settle()
    cluster.see(pod("web"))
    cluster.bind("web", "b")
    cluster.bind("tried", "a")
    web = cluster.settle()[1]
    assert (web.pod, web.comparison_class) == ("default/web", ComparisonClass.TIMING)
    assert web.events == ("already seen: Pod default/tried bound to a",)


def test_a_condition_that_was_written_late_is_explained_by_old_events_on_the_node_in_question() -> None:
    """The pod was tried while the victim was there; a hundred other events came before the API server showed it."""
    cluster = WatchedCluster(*nodes(2), pod("one", "4", on="n0"), pod("two", "4", on="n1"))
    cluster.see(pod("web"))
    cluster.delete("two")
    for index in range(100):
        cluster.see(node("elsewhere", str(1 + index), pool="other"))
        cluster.see(node("elsewhere", "0", pool="other"))
    cluster.fail("web", "0/2 nodes are available: 2 Insufficient cpu.")
    found = cluster.last()
    assert found.comparison_class is ComparisonClass.TIMING
    assert found.events == ("not yet seen: Pod default/two deleted",)


def test_what_happens_after_the_hold_explains_nothing() -> None:
    cluster = WatchedCluster(node("a", "8"), node("b", "4"))
    cluster.see(pod("web"))
    cluster.bind("web", "b")
    cluster.settle()
    cluster.see(node("b", "32"))
    assert cluster.settle()[0].comparison_class is ComparisonClass.DISAGREEMENT


def test_the_model_is_as_before_after_a_shift() -> None:
    cluster = WatchedCluster(*nodes(3), pod("other", "2", on="n0"))
    for index in range(4):
        cluster.see(node("n1", str(5 + index)))
    cluster.see(pod("web"))
    cluster.bind("web", "n0")
    assert cluster.last().comparison_class is ComparisonClass.DISAGREEMENT
    cache = cluster.follower.model.scheduler.cache
    cache.validate_state()
    assert cache.nodes.node(cache.nodes.rows["n1"]).status.allocatable["cpu"] == "8"
    assert {record.info.name: record.node_name for record in cache.pods()} == {"other": "n0", "web": "n0"}


def test_after_an_interrupted_watch_nothing_is_proven() -> None:
    cluster = WatchedCluster(*nodes(2), pod("other", "2", on="n0"))
    cluster.see(pod("web"))
    cluster.follower.expect(type(cluster.pod("web")), 2)
    cluster.bind("web", "n0")
    assert cluster.last().comparison_class is ComparisonClass.UNPROVEN
