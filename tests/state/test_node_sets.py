# SPDX-License-Identifier: Apache-2.0
"""Sets of nodes: domains of a label, rows and summed amounts, also after changes of nodes and pods."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, strategies as st

from steersman.config import ResourceSpec
from steersman.scheduler.plugins.node_resources.placement_score import placement_score, placement_score_of_sums
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.node_sets import MAX_SETS, NodeSets
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import make_node, make_pod

GPU = "example.com/gpu"
SCORED = [ResourceSpec("cpu", 1), ResourceSpec("memory", 2), ResourceSpec(GPU, 3)]


def cache_of(racks: Sequence[str]) -> Cache:
    cache = Cache(ObjectStore())
    for number, rack in enumerate(racks):
        cache.set_node(make_node(f"n{number}").capacity(cpu=4, memory="8Gi", pods=9).label("rack", rack).obj())
    return cache


def test_domains_follow_changes_of_nodes() -> None:
    cache = cache_of(["a", "b", "a"])
    sets = NodeSets(cache.nodes)
    before = sets.domains("rack")
    assert before == {"a": ("n0", "n2"), "b": ("n1",)}
    assert sets.domains("rack")["a"] is before["a"]
    cache.set_node(make_node("n1").capacity(cpu=4).label("rack", "a").obj())
    assert sets.domains("rack") == {"a": ("n0", "n1", "n2")}
    assert sets.domains("zone") == {}


def test_rows_are_ascending_and_names_without_a_node_are_known() -> None:
    cache = cache_of(["a", "b", "a"])
    sets, names = NodeSets(cache.nodes), ("n2", "gone", "n0")
    found = sets.get(names)
    assert [cache.nodes.names[row] for row in found.rows] == sorted(["n0", "n2"], key=cache.nodes.rows.__getitem__)
    assert (found.names, found.unknown) == (frozenset(names), "gone")
    assert sets.get(names) is found
    cache.set_node(make_node("gone").capacity(cpu=4).obj())
    assert sets.get(names).unknown == ""


def test_the_number_of_sets_is_limited() -> None:
    sets = NodeSets(cache_of(["a"]).nodes)
    tuples = [("n0", str(number)) for number in range(MAX_SETS + 1)]
    found = [sets.get(names) for names in tuples]
    assert sets.get(tuples[0]) is not found[0]
    assert sets.get(tuples[-1]) is found[-1]


@st.composite
def clusters(draw: st.DrawFn) -> Cache:
    cache = Cache(ObjectStore())
    for number in range(draw(st.integers(1, 5))):
        node = make_node(f"n{number}").capacity(cpu=draw(st.sampled_from([0, 1, 4])), memory="4Gi", pods=99)
        gpus = draw(st.integers(0, 2))
        cache.set_node((node.allocatable(cpu=4, memory="4Gi", **{GPU: gpus}) if gpus else node).obj())
        for pod in range(draw(st.integers(0, 3))):
            running = make_pod(f"p{number}-{pod}").node(f"n{number}")
            requests = draw(st.sampled_from([{}, {"cpu": "500m"}, {"memory": "1Gi", GPU: "1"}]))
            cache.add_pod((running.req(**requests) if requests else running.container()).obj())
    return cache


@given(clusters(), st.data())
def test_a_placement_scored_by_sums_has_the_score_of_its_nodes(cache: Cache, data: st.DataObject) -> None:
    table = cache.nodes
    names = tuple(data.draw(st.lists(st.sampled_from(sorted(table.rows)), unique=True)))
    wanted = data.draw(st.lists(st.integers(0, 1 << 40), min_size=3, max_size=3))
    sets = NodeSets(table)
    nodes = [table.info(table.rows[name]) for name in names]
    by_sums = placement_score_of_sums(SCORED, wanted, lambda resource: sets.amounts(names, resource))
    assert by_sums == placement_score(SCORED, wanted, nodes)
