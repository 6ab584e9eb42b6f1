# SPDX-License-Identifier: Apache-2.0
"""percentageOfNodesToScore: a search that stops early, and begins next time where it ended."""

from __future__ import annotations

import msgspec
import pytest
from tests.cycle.scheduling import PROFILE, Cycles

from steersman.cycle.decision import Scheduled
from steersman.cycle.schedule_one import SchedulingCycle
from steersman.engine.sampling import REGION_KEY, ZONE_KEY, Sampling, SearchStart, zone_round_robin
from steersman.framework.plugin import FilterPlugin, PreFilterPlugin, PreFilterResult
from steersman.rng import SeededRng
from steersman.testing import make_node, make_pod

POD = make_pod("p")


def many(count: int) -> list[str]:
    return [f"n{index:03}" for index in range(count)]


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
    assert Sampling(percentage, SearchStart()).enough(nodes) == expected


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
        cycles = Cycles(FirstHundredTwenty(), nodes=many(1000), percentage=50)
        assert cycles.evaluate(POD).feasible_count == 100, "more than half of 120, not half of 1000"

    def test_fewer_than_a_hundred_admitted_nodes_are_all_looked_at(self) -> None:
        cycles = Cycles(FirstSixty(), nodes=many(500), percentage=10)
        assert set(cycles.evaluate(POD).feasible()) == set(many(60))

    def test_unset_means_all_nodes(self) -> None:
        assert Cycles(nodes=many(250)).evaluate(POD).feasible_count == 250

    def test_a_search_stops_when_it_has_found_enough(self) -> None:
        cycles = Cycles(nodes=many(250), percentage=50)
        assert set(cycles.evaluate(POD).feasible()) == set(many(250)[:125])

    def test_the_next_search_begins_where_this_one_ended(self) -> None:
        cycles = Cycles(nodes=many(250), percentage=50)
        cycles.evaluate(POD)
        assert set(cycles.evaluate(POD).feasible()) == set(many(250)[125:])
        assert set(cycles.evaluate(POD).feasible()) == set(many(250)[:125])

    def test_nodes_that_do_not_fit_are_passed_over(self) -> None:
        cycles = Cycles(OnlyEven(), nodes=many(400), percentage=30)
        assert set(cycles.evaluate(POD).feasible()) == set(many(400)[:240:2])
        assert set(cycles.evaluate(POD).feasible()) == set(many(400)[240::2]) | set(many(400)[:80:2])

    def test_the_next_search_begins_at_the_feasible_node_that_was_too_many(self) -> None:
        cycles = Cycles(FirstOfFour(), nodes=many(1000), percentage=20)
        assert set(cycles.evaluate(POD).feasible()) == set(many(1000)[:800:4])
        anywhere = cycles.evaluate(make_pod("anywhere"))
        assert set(anywhere.feasible()) == set(many(1000)[800:]), "797 to 799 were looked at, and did not fit"

    def test_a_search_that_does_not_find_enough_looks_at_all_nodes(self) -> None:
        cycles = Cycles(OnlyEven(), nodes=many(150), percentage=90)
        assert cycles.evaluate(POD).feasible_count == 75
        assert cycles.evaluate(POD).feasible_count == 75

    def test_few_nodes_are_all_looked_at(self) -> None:
        assert Cycles(nodes=many(90), percentage=1).evaluate(POD).feasible_count == 90

    def test_nodes_may_disappear_between_searches(self) -> None:
        cycles = Cycles(nodes=many(250), percentage=50)
        cycles.evaluate(POD)
        for name in many(250)[100:]:
            cycles.cache.remove_node(make_node(name).obj())
        assert cycles.evaluate(POD).feasible_count == 100

    def test_without_nodes_there_is_nothing_to_search(self) -> None:
        assert Cycles(nodes=[], percentage=50).evaluate(POD).feasible_count == 0

    def test_the_decision_tells_how_many_were_feasible(self) -> None:
        decision = Cycles(nodes=many(250), percentage=50).schedule(POD)
        assert isinstance(decision, Scheduled)
        assert decision.feasible_nodes == 125


class TestProfiles:
    @pytest.mark.parametrize(
        ("own", "for_all", "found"), [(None, 50, 125), (40, 90, 100), (0, 50, 250), (None, None, 250)]
    )
    def test_the_percentage_of_the_profile_goes(self, own: int | None, for_all: int | None, found: int) -> None:
        cycles = Cycles(nodes=many(250))
        profile = msgspec.structs.replace(cycles.profile, percentage_of_nodes_to_score=own)
        cycle = SchedulingCycle(cycles.cache, {PROFILE: profile}, lambda: cycles.nominated, SeededRng(0), for_all)
        assert cycle.evaluate(profile, cycles.pod(POD)).feasible_count == found

    def test_all_profiles_share_where_the_next_search_begins(self) -> None:
        cycles = Cycles(nodes=many(250))
        other = msgspec.structs.replace(cycles.profile, name="other")
        cycle = SchedulingCycle(
            cycles.cache, {PROFILE: cycles.profile, "other": other}, lambda: cycles.nominated, SeededRng(0), 50
        )
        first = set(cycle.evaluate(cycles.profile, cycles.pod(POD)).feasible())
        second = set(cycle.evaluate(other, cycles.pod(POD)).feasible())
        assert first.isdisjoint(second)


class TestOrder:
    def test_zones_take_turns(self) -> None:
        zones = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "c1": "c", "c2": "c"}
        cycles = Cycles(nodes=[make_node(name).label(ZONE_KEY, zone) for name, zone in zones.items()])
        table = cycles.cache.nodes
        assert [table.names[row] for row in zone_round_robin(table)] == ["a1", "b1", "c1", "a2", "c2", "a3"]

    def test_zones_of_different_regions_are_different(self) -> None:
        nodes = [
            make_node(f"{region}{i}").label(ZONE_KEY, "1").label(REGION_KEY, region) for region in "xy" for i in "12"
        ]
        table = Cycles(nodes=nodes).cache.nodes
        assert [table.names[row] for row in zone_round_robin(table)] == ["x1", "y1", "x2", "y2"]

    def test_the_order_follows_changes_of_nodes(self) -> None:
        cycles = Cycles(nodes=many(250), percentage=50)
        cycles.evaluate(POD)
        cycles.evaluate(POD)
        for name in many(250)[200:]:
            cycles.add_node(make_node(name).label(ZONE_KEY, "z"))
        found = set(cycles.evaluate(POD).feasible())
        assert set(many(250)[200:]) <= found, "the small zone takes every other turn"
