# SPDX-License-Identifier: Apache-2.0
"""One pod, from the queue to a decision."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.cycle.scheduling import Cycles
from tests.runtime.calling import without_place

from steersman.base.rng import SeededRng
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import FilterPlugin, ScorePlugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import CLEARED
from steersman.scheduler.cycle.decision import Dropped, Failed, Scheduled, Unschedulable
from steersman.scheduler.cycle.diagnosis import NO_NODES_MESSAGE
from steersman.scheduler.engine.evaluation import Evaluation, ScoreTable
from steersman.testing import make_pod

POD = make_pod("p").req(cpu="1")

both_engines = pytest.mark.parametrize("scalar", [True, False], ids=["scalar", "columnar"])


class NoRoom(FilterPlugin):
    name = "NoRoom"

    def filter(self, pod: PodInfo, node: NodeInfo) -> str | None:
        return "no room" if node.pod_count else None


class LastDigit(ScorePlugin):
    name = "LastDigit"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return int(node.name[-1])


class TestDropped:
    def test_a_pod_of_another_scheduler(self) -> None:
        decision = Cycles().schedule(POD.scheduler("other"))
        assert isinstance(decision, Dropped)
        assert decision.reason == 'profile not found for scheduler name "other"'

    def test_a_pod_that_is_being_deleted(self) -> None:
        decision = Cycles().schedule(POD.terminating())
        assert isinstance(decision, Dropped)
        assert decision.reason == "skip schedule deleting pod: default/p"

    def test_a_pod_that_is_assumed_already(self) -> None:
        cycles = Cycles()
        cycles.schedule(POD)
        decision = cycles.schedule(POD)
        assert isinstance(decision, Dropped)
        assert "assumed already" in decision.reason
        assert cycles.cache.pod_count == 1


@both_engines
class TestScheduled:
    def test_the_pod_is_assumed_on_the_best_node(self, scalar: bool) -> None:
        cycles = Cycles(LastDigit(), scalar=scalar)
        decision = cycles.schedule(POD)
        assert isinstance(decision, Scheduled)
        assert decision.node == "n3"
        assert decision.choice.ties == 1
        assert decision.feasible_nodes == 3
        assert decision.profile == "default-scheduler"
        assert cycles.cache.nodes.info(cycles.cache.nodes.rows["n3"]).requested("cpu") == 1000
        cycles.cache.validate_state()

    def test_the_next_pod_sees_it(self, scalar: bool) -> None:
        cycles = Cycles(LastDigit(), NoRoom(), scalar=scalar)
        nodes = []
        for index in range(3):
            decision = cycles.schedule(make_pod(f"p{index}"))
            assert isinstance(decision, Scheduled)
            nodes.append(decision.node)
        assert nodes == ["n3", "n2", "n1"]

    def test_equals_are_chosen_from_at_random(self, scalar: bool) -> None:
        cycles = Cycles(scalar=scalar)
        chosen: Counter[str] = Counter()
        for seed in range(60):
            choice = cycles.evaluate(POD).choose(SeededRng(seed))
            assert choice.ties == 3
            chosen[choice.node] += 1
        assert chosen.keys() == {"n1", "n2", "n3"}
        assert min(chosen.values()) >= 8

    def test_one_seed_gives_one_story(self, scalar: bool) -> None:
        def story() -> list[str]:
            cycles = Cycles(scalar=scalar, seed=42)
            decisions = [cycles.schedule(make_pod(f"p{index}")) for index in range(10)]
            return [decision.node for decision in decisions if isinstance(decision, Scheduled)]

        assert len(story()) == 10
        assert story() == story()

    def test_chance_is_not_asked_where_there_is_no_choice(self, scalar: bool) -> None:
        class NoChance(SeededRng):
            def randrange(self, n: int) -> int:
                raise AssertionError("asked")

        assert Cycles(LastDigit(), scalar=scalar).evaluate(POD).choose(NoChance(0)).node == "n3"
        assert Cycles(nodes=["n1"], scalar=scalar).evaluate(POD).choose(NoChance(0)).node == "n1"

    def test_an_observer_sees_the_evaluation_before_anything_is_assumed(self, scalar: bool) -> None:
        cycles = Cycles(LastDigit(), scalar=scalar)
        seen: list[tuple[str, int, int]] = []

        def observe(pod: PodInfo, evaluation: Evaluation) -> None:
            seen.append((pod.name, evaluation.feasible_count, cycles.cache.pod_count))

        cycles.cycle.schedule_one(cycles.pod(POD), observe)
        assert seen == [("p", 3, 0)]


@both_engines
class TestUnschedulable:
    def test_the_decision_tells_why(self, scalar: bool) -> None:
        cycles = Cycles(NoRoom(), nodes=["n1"], scalar=scalar)
        cycles.schedule(make_pod("first"))
        decision = cycles.schedule(POD)
        assert isinstance(decision, Unschedulable)
        assert decision.message == "0/1 nodes are available: 1 no room."
        assert decision.diagnosis.unschedulable_plugins == {"NoRoom"}
        assert decision.nomination == CLEARED
        assert cycles.cache.pod_count == 1

    def test_a_cluster_without_nodes(self, scalar: bool) -> None:
        decision = Cycles(NoRoom(), nodes=[], scalar=scalar).schedule(POD)
        assert isinstance(decision, Unschedulable)
        assert decision.message == NO_NODES_MESSAGE
        assert decision.diagnosis.unschedulable_plugins == frozenset()

    def test_a_pod_is_schedulable_once_there_is_room(self, scalar: bool) -> None:
        cycles = Cycles(NoRoom(), nodes=["n1"], scalar=scalar)
        cycles.schedule(make_pod("first"))
        assert isinstance(cycles.schedule(POD), Unschedulable)
        cycles.add_node("n2")
        decision = cycles.schedule(POD)
        assert isinstance(decision, Scheduled)
        assert decision.node == "n2"


@both_engines
def test_a_broken_plugin_fails_the_pod_and_leaves_no_trace(scalar: bool) -> None:
    class Broken(FilterPlugin):
        name = "Broken"

        def filter(self, pod: PodInfo, node: NodeInfo) -> None:
            raise OSError("disk full")

    cycles = Cycles(Broken(), scalar=scalar)
    decision = cycles.schedule(POD)
    assert isinstance(decision, Failed)
    assert without_place(decision.message) == 'running "Broken" filter plugin: OSError: disk full'
    assert decision.profile == "default-scheduler"
    assert cycles.cache.pod_count == 0


class TestRanking:
    TABLE = ScoreTable(["a", "b", "c", "d"], [], frozenset(), [5, 9, 9, 7])

    def test_the_best_nodes(self) -> None:
        assert self.TABLE.best() == ["b", "c"]

    def test_the_top_three_with_the_chosen_one_first_among_equals(self) -> None:
        assert self.TABLE.top("c") == [("c", 9), ("b", 9), ("d", 7)]
        assert self.TABLE.top("b", 1) == [("b", 9)]
