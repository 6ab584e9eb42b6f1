# SPDX-License-Identifier: Apache-2.0
"""How many candidates are looked for, and where the search begins."""

from __future__ import annotations

import pytest
from tests.preemption.clusters import PreemptionCluster

from steersman.base.rng import SeededRng
from steersman.config import DefaultPreemptionArgs
from steersman.scheduler.preemption.dry_run import CandidateCount, FullSearch, SampledSearch, SearchBounds
from steersman.testing import NodeBuilder, PodBuilder, make_disruption_budget, make_node, make_pod

both_ways = pytest.mark.parametrize("scalar", [True, False], ids=["plain", "columns"])


class From:
    """A search that begins at a given node."""

    def __init__(self, offset: int, enough: int) -> None:
        self._bounds = SearchBounds(offset, enough)

    def bounds(self, nodes: int) -> SearchBounds:
        return self._bounds


@pytest.mark.parametrize(
    ("nodes", "percentage", "absolute", "enough"),
    [(1000, 10, 100, 100), (5000, 10, 100, 500), (50, 10, 100, 50), (100, 0, 1, 1), (99, 50, 0, 49), (10, 100, 0, 10)],
)
def test_enough_is_the_greater_of_both_arguments_but_not_more_than_there_are(
    nodes: int, percentage: int, absolute: int, enough: int
) -> None:
    search = SampledSearch(DefaultPreemptionArgs(percentage, absolute), SeededRng(0))
    assert search.bounds(nodes).enough == enough


def test_the_search_begins_at_a_random_node() -> None:
    search = SampledSearch(DefaultPreemptionArgs(), SeededRng(0))
    offsets = {search.bounds(5).offset for _ in range(100)}
    assert offsets == {0, 1, 2, 3, 4}


def test_a_full_search_examines_all_nodes_from_the_first() -> None:
    assert FullSearch().bounds(7) == SearchBounds(0, 7)


def test_candidates_that_all_violate_budgets_are_not_enough() -> None:
    found = CandidateCount(2)
    assert [found.admit(violates=True) for _ in range(3)] == [True, True, False]
    assert not found.enough
    assert found.admit(violates=False)
    assert found.enough


def nodes(count: int) -> list[NodeBuilder]:
    return [make_node(f"n{index}").capacity(cpu="1", pods=10) for index in range(count)]


def a_pod_on(index: int, label: str = "none") -> PodBuilder:
    pod = make_pod(f"pod-{index}").req(cpu="1").node(f"n{index}").label("app", label)
    return pod.started("2030-01-01T00:00:00Z")


def candidates(cluster: PreemptionCluster, search: From) -> list[str]:
    cluster.plugin.evaluator.search = search
    report = cluster.report(make_pod("preemptor").req(cpu="1").priority(100))
    assert report.candidate_count == len(report.candidates)
    return [candidate.node for candidate in report.candidates]


@both_ways
def test_the_search_ends_when_there_are_enough(scalar: bool) -> None:
    cluster = PreemptionCluster(nodes(5), map(a_pod_on, range(5)), scalar=scalar)
    assert candidates(cluster, From(1, 2)) == ["n1", "n2"]


@both_ways
def test_the_search_goes_round(scalar: bool) -> None:
    cluster = PreemptionCluster(nodes(5), map(a_pod_on, range(5)), scalar=scalar)
    assert candidates(cluster, From(4, 2)) == ["n0", "n4"]


@both_ways
def test_the_search_goes_on_until_a_candidate_violates_no_budget(scalar: bool) -> None:
    pods = [a_pod_on(index, "web" if index < 3 else "none") for index in range(5)]
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(0).obj()
    cluster = PreemptionCluster(nodes(5), pods, [budget], scalar=scalar)
    assert candidates(cluster, From(0, 2)) == ["n0", "n1", "n3"]
