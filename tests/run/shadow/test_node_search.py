# SPDX-License-Identifier: Apache-2.0
"""Where searches begin, told from where pods went: beside a plain search that goes from node to node."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from tests.run.shadow.following import WatchedCluster, node, pod

from steersman import api
from steersman.run.shadow import ComparisonClass
from steersman.run.shadow.node_search import SearchWindows, chunk_size, feasible_nodes_to_find


class PlainSearch:
    """A search from node to node; the next one begins where it ended. The twin of `SearchWindows`."""

    def __init__(self, start: int = 0) -> None:
        self.start = start

    def find(self, fits: Sequence[bool], wanted: int, late_chunk: int = -1) -> list[int]:
        """Positions of the feasible nodes that were found; the worker of the late chunk looked at none of its nodes."""
        found: list[int] = []
        looked_at = 0
        for step in range(len(fits)):
            position = (self.start + step) % len(fits)
            if step // chunk_size(len(fits)) == late_chunk:
                continue
            if fits[position]:
                if len(found) == wanted:
                    break
                found.append(position)
            looked_at += 1
        self.start = (self.start + looked_at) % len(fits)
        return found


@pytest.mark.parametrize(
    ("percentage", "nodes", "wanted"),
    [
        (None, 50, 50),
        (None, 99, 99),
        (None, 100, 100),
        (None, 1000, 420),
        (0, 1000, 420),
        (None, 5000, 500),
        (None, 15000, 750),
        (100, 1000, 1000),
        (30, 1000, 300),
        (1, 1000, 100),
    ],
)
def test_as_many_nodes_are_wanted_as_kube_scheduler_wants(percentage: int | None, nodes: int, wanted: int) -> None:
    assert feasible_nodes_to_find(percentage, nodes) == wanted


@pytest.mark.parametrize(("nodes", "size"), [(1, 1), (100, 7), (1000, 31), (5000, 70)])
def test_workers_take_chunks_of_upstreams_size(nodes: int, size: int) -> None:
    assert chunk_size(nodes) == size


@pytest.mark.parametrize("seed", range(20))
def test_windows_are_those_of_a_plain_search(seed: int) -> None:
    chance = random.Random(seed)
    size = chance.randrange(5, 60)
    fits = [chance.random() < chance.choice((0.3, 0.9)) for _ in range(size)]
    wanted = chance.randrange(1, size + 1)
    windows = SearchWindows(np.arange(size), np.array(fits), wanted)
    for start in range(size):
        plain = PlainSearch(start)
        found = plain.find(fits, wanted)
        outside = windows.outside(start, size)
        assert [at for at in range(size) if fits[at] and not outside[at]] == sorted(found)
        only = np.zeros(size, np.bool_)
        only[start] = True
        assert windows.next_starts(only).nonzero()[0].tolist() == [plain.start]
        for position in range(size):
            if fits[position]:
                assert windows.holding(position, 0)[start] == (position in found)


class SamplingScheduler:
    """Places pods of a watched cluster by plain searches on what the cluster's own evaluation says of each node."""

    def __init__(self, cluster: WatchedCluster, wanted: int, start: int, chance: random.Random) -> None:
        self._cluster = cluster
        self._wanted = wanted
        self._search = PlainSearch(start)
        self._chance = chance

    def place(self, name: str, misses_the_best: bool = False) -> str:
        """The pod's node: a best one of those that the search found. The worker of the chunk with the best node of all may be
        late."""
        model = self._cluster.follower.model
        placement = model.placement(self._cluster.pod(name), "")
        order = model.search_order().tolist()
        best_row = int(placement.totals.rows[placement.totals.totals.argmax()])
        distance = (order.index(best_row) - self._search.start) % len(order)
        late = distance // chunk_size(len(order)) if misses_the_best else -1
        found = self._search.find([bool(placement.feasible[row]) for row in order], self._wanted, late)
        totals = dict(zip(placement.totals.rows.tolist(), placement.totals.totals.tolist(), strict=True))
        greatest = max(totals[order[at]] for at in found)
        best: list[int] = [order[at] for at in found if totals[order[at]] == greatest]
        return model.scheduler.cache.nodes.names[self._chance.choice(best)]


def uneven_nodes(count: int) -> list[api.Node]:
    """Nodes in three zones, of which a few are much better than the others."""

    def cpu(at: int) -> int:
        if at % 5 == 1:
            return 6
        return 20 + at // 4 if at % 20 == 0 else 8

    return [node(f"n{at:03}", str(cpu(at)), **{"topology.kubernetes.io/zone": f"z{at % 3}"}) for at in range(count)]


@pytest.mark.parametrize("seed", range(3))
def test_a_scheduler_that_samples_is_explained_and_its_searches_are_predicted(seed: int) -> None:
    chance = random.Random(seed)
    cluster = WatchedCluster(*uneven_nodes(240), is_watched_from_the_start=True)
    scheduler = SamplingScheduler(cluster, feasible_nodes_to_find(None, 240), chance.randrange(240), chance)
    for index in range(60):
        # Every third pod does not fit on every fifth node.
        cluster.see(pod(f"p{index}", "2" if index % 3 else "7"))
        cluster.settle()
        cluster.bind(f"p{index}", scheduler.place(f"p{index}"))
    classes = [comparison.comparison_class for comparison in cluster.settle()]
    assert {*classes} <= {ComparisonClass.SAME, ComparisonClass.TIE, ComparisonClass.SAMPLING}
    explained = [one for one in cluster.compared if one.comparison_class is ComparisonClass.SAMPLING]
    assert len(explained) > 10
    possible = [one.search.possible_before for one in explained if one.search is not None]
    assert sorted(possible)[len(possible) // 2] <= 80, possible
    assert cluster.follower.review.tracker.lost == 0


def placed_with_late_workers(every: int) -> WatchedCluster:
    """Eighty pods; the worker that has the best node is late for one in so many."""
    chance = random.Random(3)
    cluster = WatchedCluster(*uneven_nodes(240), is_watched_from_the_start=True)
    scheduler = SamplingScheduler(cluster, feasible_nodes_to_find(None, 240), 100, chance)
    for index in range(80):
        cluster.see(pod(f"p{index}", "2"))
        cluster.settle()
        cluster.bind(f"p{index}", scheduler.place(f"p{index}", misses_the_best=index % every == every - 1))
    cluster.settle()
    return cluster


def test_a_worker_that_is_late_now_and_then_is_explained() -> None:
    cluster = placed_with_late_workers(every=10)
    explained = {ComparisonClass.SAME, ComparisonClass.TIE, ComparisonClass.SAMPLING}
    assert {one.comparison_class for one in cluster.compared} <= explained
    assert cluster.follower.review.tracker.lost == 0


def test_a_scheduler_that_misses_the_best_node_every_time_is_not_believed() -> None:
    """Any single decision could be one of a late worker."""
    classes = [one.comparison_class for one in placed_with_late_workers(every=1).compared]
    assert classes[-1] is ComparisonClass.UNPROVEN


def test_a_node_that_no_search_finds_best_is_not_explained_by_sampling() -> None:
    """The worst of 240 nodes: any search comes to better ones."""
    cluster = WatchedCluster(
        *(node(f"n{at:03}", str(8 + at % 40)) for at in range(240)), is_watched_from_the_start=True
    )
    cluster.see(pod("web"))
    cluster.bind("web", "n000")
    assert cluster.last().comparison_class is ComparisonClass.DISAGREEMENT


def test_a_better_node_inside_of_a_predicted_search_is_a_disagreement() -> None:
    chance = random.Random(7)
    found = (node(f"n{index:03}", str(chance.randrange(8, 40))) for index in range(240))
    cluster = WatchedCluster(*found, is_watched_from_the_start=True)
    scheduler = SamplingScheduler(cluster, feasible_nodes_to_find(None, 240), 17, chance)
    for index in range(20):
        cluster.see(pod(f"p{index}"))
        cluster.settle()
        cluster.bind(f"p{index}", scheduler.place(f"p{index}"))
    cluster.settle()
    assert cluster.follower.review.tracker.is_predicting
    cluster.see(pod("odd"))
    cluster.settle()
    right = scheduler.place("odd")
    model = cluster.follower.model
    placement = model.placement(cluster.pod("odd"), right)
    totals = placement.totals
    middling = totals.rows[np.argsort(totals.totals)[120]]
    cluster.bind("odd", model.scheduler.cache.nodes.names[int(middling)])
    assert cluster.last().comparison_class in (ComparisonClass.DISAGREEMENT, ComparisonClass.UNPROVEN)
