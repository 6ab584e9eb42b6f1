# SPDX-License-Identifier: Apache-2.0
"""percentageOfNodesToScore: a search that stops early, and begins next time where it ended."""

from __future__ import annotations

import msgspec
import pytest
from tests.cycle.scheduling import PROFILE, Cycles

from steersman.base.rng import SeededRng
from steersman.framework.plugin import FilterPlugin, Plugin, PreFilterPlugin, PreFilterResult, ScorePlugin
from steersman.scheduler.cycle.decision import Scheduled
from steersman.scheduler.cycle.schedule_one import SchedulingCycle
from steersman.scheduler.engine.sampling import NodeSearch, Sampling
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import NodeBuilder, make_node, make_pod

POD = make_pod("p")
ZONE_KEY = "topology.kubernetes.io/zone"
REGION_KEY = "topology.kubernetes.io/region"


def many(count: int) -> list[str]:
    return [f"n{index:03}" for index in range(count)]


class Flat(ScorePlugin):
    name = "Flat"

    def score(self, pod: object, node: object) -> int:
        return 1


def sampled(*plugins: Plugin, nodes: list[str] | list[NodeBuilder], percentage: int | None = None) -> Cycles:
    """Cycles with a plugin that scores nodes: without one the first node that fits is enough."""
    return Cycles(*plugins, Flat(), nodes=nodes, percentage=percentage, weights={"Flat": 1})


class OnlyEven(FilterPlugin):
    name = "OnlyEven"

    def filter(self, pod: object, node: object) -> str | None:
        return None if int(node.name[1:]) % 2 == 0 else "odd"  # type: ignore[attr-defined]


class FirstOfFour(FilterPlugin):
    """Every fourth node is for the pod `p`; any other pod may go anywhere."""

    name = "FirstOfFour"

    def filter(self, pod: object, node: object) -> str | None:
        return None if pod.name != "p" or int(node.name[1:]) % 4 == 0 else "not the first of four"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("percentage", "nodes", "expected"),
    [
        (None, 5000, 5000),
        (0, 5000, 5000),
        (100, 5000, 5000),
        (10, 5000, 500),
        (1, 5000, 100),
        (50, 199, 100),
        (50, 201, 100),
        (55, 1001, 550),
        (10, 99, 99),
        (10, 100, 100),
    ],
)
def test_how_many_feasible_nodes_are_enough(percentage: int | None, nodes: int, expected: int) -> None:
    search = NodeSearch(Cycles().cache.nodes)
    assert Sampling(percentage, search).enough(nodes) == expected


class FirstHundredTwenty(PreFilterPlugin):
    name = "FirstHundredTwenty"

    def pre_filter(self, pod: object, nodes: object) -> PreFilterResult:
        return PreFilterResult(frozenset(many(120)))


class FirstSixty(PreFilterPlugin):
    name = "FirstSixty"

    def pre_filter(self, pod: object, nodes: object) -> PreFilterResult:
        return PreFilterResult(frozenset(many(60)))


class TestSearch:
    def test_only_nodes_that_pre_filter_admits_count(self) -> None:
        cycles = sampled(FirstHundredTwenty(), nodes=many(1000), percentage=50)
        assert cycles.evaluate(POD).feasible_count == 100, "more than half of 120, not half of 1000"

    def test_fewer_than_a_hundred_admitted_nodes_are_all_examined(self) -> None:
        cycles = sampled(FirstSixty(), nodes=many(500), percentage=10)
        assert set(cycles.evaluate(POD).feasible()) == set(many(60))

    def test_unset_means_all_nodes(self) -> None:
        assert sampled(nodes=many(250)).evaluate(POD).feasible_count == 250

    def test_a_search_stops_when_it_has_found_enough(self) -> None:
        cycles = sampled(nodes=many(250), percentage=50)
        assert set(cycles.evaluate(POD).feasible()) == set(many(250)[:125])

    def test_the_next_search_begins_where_this_one_ended(self) -> None:
        cycles = sampled(nodes=many(250), percentage=50)
        cycles.evaluate(POD)
        assert set(cycles.evaluate(POD).feasible()) == set(many(250)[125:])
        assert set(cycles.evaluate(POD).feasible()) == set(many(250)[:125])

    def test_nodes_that_do_not_fit_are_passed_over(self) -> None:
        cycles = sampled(OnlyEven(), nodes=many(400), percentage=30)
        assert set(cycles.evaluate(POD).feasible()) == set(many(400)[:240:2])
        assert set(cycles.evaluate(POD).feasible()) == set(many(400)[240::2]) | set(many(400)[:80:2])

    def test_the_next_search_begins_at_the_feasible_node_that_was_too_many(self) -> None:
        cycles = sampled(FirstOfFour(), nodes=many(1000), percentage=20)
        assert set(cycles.evaluate(POD).feasible()) == set(many(1000)[:800:4])
        anywhere = cycles.evaluate(make_pod("anywhere"))
        assert set(anywhere.feasible()) == set(many(1000)[800:]), "797 to 799 were looked at, and did not fit"

    def test_a_search_that_does_not_find_enough_examines_all_nodes(self) -> None:
        cycles = sampled(OnlyEven(), nodes=many(150), percentage=90)
        assert cycles.evaluate(POD).feasible_count == 75
        assert cycles.evaluate(POD).feasible_count == 75

    def test_few_nodes_are_all_examined(self) -> None:
        assert sampled(nodes=many(90), percentage=1).evaluate(POD).feasible_count == 90

    def test_nodes_may_disappear_between_searches(self) -> None:
        cycles = sampled(nodes=many(250), percentage=50)
        cycles.evaluate(POD)
        for name in many(250)[100:]:
            cycles.cache.remove_node(make_node(name).obj())
        assert cycles.evaluate(POD).feasible_count == 100

    def test_without_nodes_there_is_nothing_to_search(self) -> None:
        assert sampled(nodes=[], percentage=50).evaluate(POD).feasible_count == 0

    def test_the_decision_tells_how_many_were_feasible(self) -> None:
        decision = sampled(nodes=many(250), percentage=50).schedule(POD)
        assert isinstance(decision, Scheduled)
        assert decision.feasible_nodes == 125


class TestProfiles:
    @pytest.mark.parametrize(
        ("own", "for_all", "found"), [(None, 50, 125), (40, 90, 100), (0, 50, 250), (None, None, 250)]
    )
    def test_the_percentage_of_the_profile_goes(self, own: int | None, for_all: int | None, found: int) -> None:
        cycles = sampled(nodes=many(250))
        profile = msgspec.structs.replace(cycles.profile, percentage_of_nodes_to_score=own)
        cycle = SchedulingCycle(cycles.cache, {PROFILE: profile}, lambda: cycles.nominated, SeededRng(0), for_all)
        assert cycle.evaluate(profile, cycles.pod(POD)).feasible_count == found

    def test_all_profiles_share_where_the_next_search_begins(self) -> None:
        cycles = sampled(nodes=many(250))
        other = msgspec.structs.replace(cycles.profile, name="other")
        cycle = SchedulingCycle(
            cycles.cache, {PROFILE: cycles.profile, "other": other}, lambda: cycles.nominated, SeededRng(0), 50
        )
        first = set(cycle.evaluate(cycles.profile, cycles.pod(POD)).feasible())
        second = set(cycle.evaluate(other, cycles.pod(POD)).feasible())
        assert first.isdisjoint(second)


class TestNominatedNodes:
    def test_a_nominated_node_that_was_refused_counts_as_examined(self) -> None:
        cycles = sampled(OnlyEven(), nodes=many(400), percentage=30)
        assert cycles.feasible(POD.nominated("n399")) == set(many(400)[:240:2])
        assert cycles.feasible(POD) == set(many(400)[242::2]) | set(many(400)[:82:2]), "from n241 on"

    def test_it_counts_once_where_the_search_comes_to_it_too(self) -> None:
        cycles = sampled(OnlyEven(), nodes=many(400), percentage=30)
        cycles.evaluate(POD.nominated("n001"))
        assert "n240" in cycles.feasible(POD)

    def test_one_that_fits_leaves_the_next_search_where_it_was(self) -> None:
        cycles = sampled(nodes=many(250), percentage=50)
        assert cycles.feasible(POD.nominated("n200")) == {"n200"}
        assert cycles.feasible(POD) == set(many(250)[:125])


class TestWithoutScoring:
    def test_the_first_node_that_fits_is_enough(self) -> None:
        cycles = Cycles(OnlyEven(), nodes=many(20), percentage=100)
        found = [next(iter(cycles.feasible(POD))) for _ in range(12)]
        assert found == [*many(20)[::2], "n000", "n002"]

    def test_unset_means_all_nodes_all_the_same(self) -> None:
        assert Cycles(nodes=many(20)).evaluate(POD).feasible_count == 20

    def test_the_decision_is_the_node_that_was_found(self) -> None:
        cycles = Cycles(nodes=many(20), percentage=10)
        decisions = [cycles.schedule(make_pod(f"p{index}")) for index in range(3)]
        assert [decision.node for decision in decisions if isinstance(decision, Scheduled)] == many(20)[:3]


def listed(cycles: Cycles) -> list[str]:
    """The nodes in the order of a search of the next pod."""
    cycles.evaluate(POD)
    return list(cycles.cycle._search.names)


def in_zone(name: str, zone: str) -> NodeBuilder:
    return make_node(name).label(ZONE_KEY, zone)


class TestOrder:
    def test_zones_take_turns(self) -> None:
        zones = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "c1": "c", "c2": "c"}
        cycles = sampled(nodes=[in_zone(name, zone) for name, zone in zones.items()], percentage=50)
        assert listed(cycles) == ["a1", "b1", "c1", "a2", "c2", "a3"]

    def test_zones_of_different_regions_are_different(self) -> None:
        nodes = [in_zone(f"{region}{i}", "1").label(REGION_KEY, region) for region in "xy" for i in "12"]
        assert listed(sampled(nodes=nodes, percentage=50)) == ["x1", "y1", "x2", "y2"]

    def test_a_node_that_comes_back_is_the_last_of_its_zone(self) -> None:
        cycles = sampled(nodes=[in_zone(name, name[0]) for name in ("a1", "a2", "b1", "b2")], percentage=50)
        cycles.cache.remove_node(in_zone("a1", "a").obj())
        assert listed(cycles) == ["a2", "b1", "b2"]
        cycles.add_node(in_zone("a1", "a"))
        assert listed(cycles) == ["a2", "b1", "a1", "b2"]

    def test_a_zone_that_was_empty_comes_last(self) -> None:
        cycles = sampled(nodes=[in_zone(name, name[0]) for name in ("a1", "b1")], percentage=50)
        cycles.cache.remove_node(in_zone("a1", "a").obj())
        assert listed(cycles) == ["b1"]
        cycles.add_node(in_zone("a1", "a"))
        assert listed(cycles) == ["b1", "a1"]

    def test_a_node_that_was_away_between_two_cycles_keeps_its_place_for_now(self) -> None:
        cycles = sampled(nodes=[in_zone(name, name[0]) for name in ("a1", "a2", "b1")], percentage=50)
        before = listed(cycles)
        cycles.cache.remove_node(in_zone("a1", "a").obj())
        cycles.add_node(in_zone("a1", "a"))
        assert listed(cycles) == before
        cycles.add_node(in_zone("b2", "b"))
        assert listed(cycles) == ["a2", "b1", "a1", "b2"], "the list is made anew when a node comes"

    def test_another_zone_counts_when_a_node_comes_or_goes(self) -> None:
        cycles = sampled(nodes=[in_zone(name, name[0]) for name in ("a1", "a2", "b1")], percentage=50)
        assert listed(cycles) == ["a1", "b1", "a2"]
        cycles.add_node(in_zone("a1", "c"))
        assert listed(cycles) == ["a1", "b1", "a2"]
        cycles.add_node(in_zone("c2", "c"))
        assert listed(cycles) == ["a2", "b1", "a1", "c2"]

    def test_the_order_follows_new_nodes(self) -> None:
        cycles = sampled(nodes=many(200), percentage=50)
        cycles.evaluate(POD)
        cycles.evaluate(POD)
        for name in many(250)[200:]:
            cycles.add_node(in_zone(name, "z"))
        found = set(cycles.evaluate(POD).feasible())
        assert set(many(250)[200:]) <= found, "the small zone takes every other turn"


def test_the_order_is_found_again_when_the_columns_are() -> None:
    cache = Cache(ObjectStore())
    seen_early = make_pod("early").node("gone").obj()
    cache.add_pod(seen_early)  # it has the first row
    for name in "abc":
        cache.set_node(make_node(name).obj())
    search = NodeSearch(cache.nodes)
    search.begin_cycle()
    assert [cache.nodes.names[row] for row in search.rows()] == ["a", "b", "c"]
    cache.drop_pod(seen_early.metadata.uid)
    search.begin_cycle()
    assert [cache.nodes.names[row] for row in search.rows()] == ["a", "b", "c"]


def test_a_search_that_does_not_count_leaves_the_order_as_it_was() -> None:
    cache = Cache(ObjectStore())
    for name in "abc":
        cache.set_node(make_node(name).obj())
    search = NodeSearch(cache.nodes)
    search.begin_cycle()
    cache.remove_node(make_node("b").obj())
    with search.unchanged():
        search.begin_cycle()
        assert list(search.names) == ["a", "c"]
    cache.set_node(make_node("b").obj())
    search.begin_cycle()
    assert [cache.nodes.names[row] for row in search.rows()] == ["a", "b", "c"]
