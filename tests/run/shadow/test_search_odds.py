# SPDX-License-Identifier: Apache-2.0
"""What chance says of searches whose order nobody knows."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.run.shadow.following import WatchedCluster, node, pod

from steersman.run.shadow import ComparisonClass
from steersman.run.shadow.search_odds import SearchOdds, chance_of_missing
from steersman.run.shadow.summary import ShadowSummary


@pytest.mark.parametrize(
    ("feasible", "wanted", "nodes", "chance"),
    [(10, 4, 0, 1.0), (10, 4, 1, 0.6), (10, 4, 2, 0.6 * 5 / 9), (10, 4, 6, 1 / 210), (10, 4, 7, 0.0), (3, 4, 1, 0.0)],
)
def test_the_chance_of_missing_nodes_is_that_of_drawing_without_them(
    feasible: int, wanted: int, nodes: int, chance: float
) -> None:
    assert chance_of_missing(feasible, wanted, nodes) == pytest.approx(chance)


def test_odds_are_fine_for_random_searches_and_off_for_a_scheduler_that_misses_too_often() -> None:
    chance = random.Random(1)
    fair, unfair = SearchOdds(), SearchOdds()
    for _ in range(500):
        fair.add(chance.random() < 0.6, 0.6)
        unfair.add(chance.random() < 0.4, 0.6)
    assert not fair.are_off
    assert unfair.are_off


def test_a_node_that_chance_may_have_kept_from_a_search_is_sampling() -> None:
    """The shadow found the nodes when it began: in which order kube-scheduler searches them is not known."""
    cluster = WatchedCluster(*(node(f"n{at:03}", "32" if at < 2 else "8") for at in range(240)))
    cluster.see(pod("web", "2"))
    cluster.bind("web", "n100")
    found = cluster.last()
    assert found.comparison_class is ComparisonClass.SAMPLING
    assert found.search is not None
    assert found.search.chance == pytest.approx(123 / 240 * 122 / 239)


def test_a_node_that_no_search_can_have_missed_is_a_disagreement() -> None:
    cluster = WatchedCluster(*(node(f"n{at:03}", "32" if at < 100 else "8") for at in range(240)))
    cluster.see(pod("web", "2"))
    cluster.bind("web", "n100")
    assert cluster.last().comparison_class is ComparisonClass.DISAGREEMENT


def test_a_scheduler_that_misses_the_best_node_every_time_is_not_believed() -> None:
    cluster = WatchedCluster(*(node(f"n{at:03}", "64" if at == 0 else "8") for at in range(240)))
    for index in range(60):
        cluster.see(pod(f"p{index}", "100m"))
        cluster.bind(f"p{index}", f"n{index + 1:03}")
    classes = [one.comparison_class for one in cluster.settle()]
    assert classes[0] is ComparisonClass.SAMPLING
    assert classes[-1] is ComparisonClass.UNPROVEN


def test_searches_that_miss_all_nodes_of_a_size_together_are_sampling() -> None:
    """Nodes of one size stand together in the order of searches, and each search begins where the last one ended."""
    large = [f"n{at:03}" for at in range(0, 24, 2)]
    small = [f"n{at:03}" for at in range(240) if f"n{at:03}" not in large]
    cluster = WatchedCluster(*(node(f"n{at:03}", "512" if f"n{at:03}" in large else "8") for at in range(240)))
    start, targets = 0, {True: itertools.cycle(large), False: iter(small)}
    for index in range(32):
        comes_to_large = start < 24 or start + 117 >= 240
        cluster.see(pod(f"p{index}", "100m"))
        cluster.bind(f"p{index}", next(targets[comes_to_large]))
        start = (start + 117) % 240
    found = cluster.settle()
    assert {one.comparison_class for one in found} <= {
        ComparisonClass.SAMPLING,
        ComparisonClass.TIE,
        ComparisonClass.SAME,
    }
    assert sum(one.comparison_class is ComparisonClass.SAMPLING for one in found) == 16


def test_the_answer_says_what_would_settle_decisions_that_rest_on_chance() -> None:
    cluster = WatchedCluster(*(node(f"n{at:03}", "32" if at < 2 else "8") for at in range(240)))
    cluster.see(pod("web", "2"))
    cluster.bind("web", "n100")
    summary = ShadowSummary()
    summary.add(cluster.last())
    assert "1 of them rest on chance" in summary.answer()
    assert "percentageOfNodesToScore: 100" in summary.answer()
