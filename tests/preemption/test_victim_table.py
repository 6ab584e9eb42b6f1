# SPDX-License-Identifier: Apache-2.0
"""The table of possible victims follows the cluster."""

from __future__ import annotations

import math

from steersman.scheduler.preemption.candidates import by_importance
from steersman.scheduler.preemption.victim_table import VictimTable
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import PodBuilder, make_node, make_pod

NOW = 2_000_000_000.0


def a_cache(nodes: int) -> Cache:
    cache = Cache(ObjectStore())
    for index in range(nodes):
        cache.set_node(make_node(f"n{index}").obj())
    return cache


def a_pod(name: str, node: str, priority: int = 0, cpu: str = "1", second: int = 0) -> PodBuilder:
    pod = make_pod(name).priority(priority).req(cpu=cpu).node(node)
    return pod.started(f"2030-01-01T00:00:{second:02}Z")


def check(table: VictimTable, cache: Cache) -> None:
    """Every row has its pods, most important first, with what belongs to them; and the sums are right."""
    table.sync()
    cpu, below = table.amounts("cpu"), table.below(5, ["cpu"])
    for row, here in enumerate(cache.nodes.pods_on):
        pods = by_importance(here.values(), NOW)
        cells = slice(int(table.first[row]), int(table.first[row]) + int(table.count[row]))
        assert table.pods[row] == pods
        assert table.priority[cells].tolist() == [pod.priority for pod in pods]
        assert cpu[cells].tolist() == [pod.requests("cpu") for pod in pods]
        unknown = [pod.pod.status.start_time is None for pod in pods]
        assert [math.isnan(start) for start in table.start[cells]] == unknown
        lower = [pod for pod in pods if pod.priority < 5]
        assert int(below.count[row]) == len(lower)
        assert int(below.amounts["cpu"][row]) == sum(pod.requests("cpu") for pod in lower)


def test_pods_that_come_and_go_are_followed() -> None:
    cache = a_cache(3)
    table = VictimTable(cache.nodes)
    check(table, cache)
    pods = [a_pod(f"pod-{index}", f"n{index % 3}", index % 7, str(index % 3), index % 50) for index in range(60)]
    for pod in pods:
        cache.add_pod(pod.obj())
        check(table, cache)
    for pod in pods[::2]:
        cache.remove_pod(pod.obj())
        check(table, cache)


def test_rows_that_outgrow_their_space_again_and_again_do_not_fill_the_table() -> None:
    cache = a_cache(2)
    table = VictimTable(cache.nodes)
    for index in range(400):
        cache.add_pod(a_pod(f"pod-{index}", f"n{index % 2}").obj())
        table.sync()
    check(table, cache)
    assert len(table.priority) < 4 * 400


def test_more_nodes_than_expected_are_no_problem() -> None:
    cache = a_cache(2)
    table = VictimTable(cache.nodes)
    cache.add_pod(a_pod("early", "n1", 3).obj())
    check(table, cache)
    for index in range(2, 200):
        cache.set_node(make_node(f"n{index}").obj())
        cache.add_pod(a_pod(f"pod-{index}", f"n{index}", index % 7).obj())
    check(table, cache)


def test_a_start_that_becomes_known_changes_the_order() -> None:
    cache = a_cache(1)
    table = VictimTable(cache.nodes)
    late = make_pod("late").node("n0")
    cache.add_pod(late.obj())
    cache.add_pod(a_pod("early", "n0", second=5).obj())
    check(table, cache)
    row = cache.nodes.rows["n0"]
    assert table.mixed[row]
    cache.update_pod(late.started("2030-01-01T00:00:01Z").obj())
    check(table, cache)
    assert not table.mixed[row]
    assert [pod.name for pod in table.pods[row]] == ["late", "early"]


def test_a_priority_that_changes_is_followed() -> None:
    cache = a_cache(1)
    table = VictimTable(cache.nodes)
    pod = a_pod("pod", "n0", 1)
    cache.add_pod(pod.obj())
    check(table, cache)
    cache.update_pod(pod.priority(9).obj())
    check(table, cache)


def test_sums_are_kept_for_the_priorities_requested_last() -> None:
    cache = a_cache(1)
    table = VictimTable(cache.nodes)
    cache.add_pod(a_pod("pod", "n0", 1).obj())
    table.sync()
    row = cache.nodes.rows["n0"]
    for priority in range(40):
        assert int(table.below(priority, ["cpu"]).count[row]) == int(priority > 1)
