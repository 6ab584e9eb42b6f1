# SPDX-License-Identifier: Apache-2.0
"""Plugins of a few lines, asked about every node in every cycle, by either engine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.cycle.scheduling import Cycles

from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import (
    FilterPlugin,
    NodeScore,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import SKIP, Status, unschedulable
from steersman.scheduler.engine.evaluation import Evaluation
from steersman.testing import make_node, make_pod

POD = make_pod("p")
NODES = [make_node("cheap").label("price", "10"), make_node("dear").label("price", "90"), make_node("free")]

both_engines = pytest.mark.parametrize("scalar", [True, False], ids=["scalar", "columnar"])


def price(node: NodeInfo) -> int:
    return int(node.labels.get("price", "0"))


class CheapNodes(ScorePlugin):
    name = "CheapNodes"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 100 - price(node)


class Budget(FilterPlugin):
    """Rejects nodes that are dearer than the pod's budget; with the state as first parameter."""

    name = "Budget"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | str | None:
        budget = int(pod.labels.get("budget", "1000"))
        return None if price(node) <= budget else f"node costs {price(node)}"


class Relative(ScorePlugin):
    """Scores beyond the bounds that only normalisation brings back."""

    name = "Relative"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 1000 * price(node)

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> None:
        greatest = max(entry.score for entry in scores)
        for entry in scores:
            entry.score = 100 * entry.score // greatest


class Prepared(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Every phase rests on what the one before has left in the state."""

    name = "Prepared"

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        state.write("all nodes", len(nodes))

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> bool:
        return state.read("all nodes", int) == 3 and node.name != "dear"

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        state.write("feasible nodes", len(nodes))

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 10 * (state.read("all nodes", int) or 0) + (state.read("feasible nodes", int) or 0)


class SkipsItself(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    name = "SkipsItself"

    def pre_filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        return SKIP

    def filter(self, pod: PodInfo, node: NodeInfo) -> str:
        return "never asked"

    def pre_score(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        return SKIP

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        raise AssertionError("never asked")


class Restricts(PreFilterPlugin):
    name = "Restricts"

    def pre_filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PreFilterResult:
        return PreFilterResult(frozenset({"cheap", "dear", "unknown"}))


@both_engines
class TestFilters:
    def test_a_filter_decides_node_by_node(self, scalar: bool) -> None:
        cycles = Cycles(Budget(), nodes=NODES, scalar=scalar)
        pod = POD.label("budget", "50")
        assert cycles.feasible(pod) == {"cheap", "free"}
        assert cycles.statuses(pod) == {"dear": unschedulable("node costs 90").with_plugin("Budget")}

    def test_it_is_asked_in_every_cycle(self, scalar: bool) -> None:
        cycles = Cycles(Budget(), nodes=NODES, scalar=scalar)
        pod = POD.label("budget", "50")
        cycles.evaluate(pod)
        cycles.add_node(make_node("dear").label("price", "20"))
        assert cycles.feasible(pod) == {"cheap", "dear", "free"}
        assert cycles.feasible(POD.label("budget", "15")) == {"cheap", "free"}

    def test_a_skipped_filter_is_not_asked(self, scalar: bool) -> None:
        cycles = Cycles(SkipsItself(), nodes=NODES, scalar=scalar)
        evaluation = cycles.evaluate(POD)
        assert set(evaluation.feasible()) == {"cheap", "dear", "free"}
        assert evaluation.pre_filter.skipped == {"SkipsItself"}

    def test_a_restriction_leaves_the_others_unexamined(self, scalar: bool) -> None:
        cycles = Cycles(Restricts(), Budget(), nodes=NODES, scalar=scalar)
        evaluation = cycles.evaluate(POD.label("budget", "50"))
        assert evaluation.feasible() == ["cheap"]
        statuses = evaluation.statuses()
        assert set(statuses.groups) == {unschedulable("node costs 90").with_plugin("Budget")}
        assert statuses.absent is not None
        assert statuses.absent.message == "node(s) didn't satisfy plugin(s) [Restricts]"
        assert len(statuses) == 1


@both_engines
class TestScores:
    def test_scores_are_weighted(self, scalar: bool) -> None:
        cycles = Cycles(CheapNodes(), nodes=NODES, scalar=scalar, weights={"CheapNodes": 3})
        assert cycles.totals(POD) == {"cheap": 270, "dear": 30, "free": 300}

    def test_the_best_node_is_chosen(self, scalar: bool) -> None:
        decision = Cycles(CheapNodes(), nodes=NODES, scalar=scalar).schedule(POD)
        assert decision.node == "free"  # type: ignore[union-attr]

    def test_scores_are_normalised_among_the_feasible_nodes(self, scalar: bool) -> None:
        cycles = Cycles(Relative(), Budget(), nodes=NODES, scalar=scalar)
        table = cycles.evaluate(POD).scores()
        assert table is not None
        (scores,) = table.plugins
        assert dict(zip(table.nodes, scores.raw, strict=True)) == {"cheap": 10_000, "dear": 90_000, "free": 0}
        assert cycles.totals(POD) == {"cheap": 11, "dear": 100, "free": 0}
        assert cycles.totals(POD.label("budget", "50")) == {"cheap": 100, "free": 0}

    def test_a_skipped_score_does_not_appear(self, scalar: bool) -> None:
        table = Cycles(SkipsItself(), CheapNodes(), nodes=NODES, scalar=scalar).evaluate(POD).scores()
        assert table is not None
        assert [scores.name for scores in table.plugins] == ["CheapNodes"]
        assert table.skipped == {"SkipsItself"}

    def test_a_single_feasible_node_is_not_scored(self, scalar: bool) -> None:
        cycles = Cycles(Restricts(), Budget(), CheapNodes(), nodes=NODES, scalar=scalar)
        evaluation = cycles.evaluate(POD.label("budget", "50"))
        assert evaluation.scores() is None

    def test_without_score_plugins_all_nodes_are_equal(self, scalar: bool) -> None:
        cycles = Cycles(nodes=NODES, scalar=scalar)
        assert cycles.totals(POD) == {"cheap": 0, "dear": 0, "free": 0}


@both_engines
def test_each_phase_finds_what_the_phase_before_has_left(scalar: bool) -> None:
    cycles = Cycles(Prepared(), nodes=NODES, scalar=scalar)
    assert cycles.feasible(POD) == {"cheap", "free"}
    assert cycles.totals(POD) == {"cheap": 32, "free": 32}


@both_engines
def test_later_phases_find_it_too(scalar: bool) -> None:
    decision = Cycles(Prepared(), nodes=NODES, scalar=scalar).schedule(POD)
    assert decision.state.read("all nodes", int) == 3  # type: ignore[union-attr]
    assert decision.state.read("feasible nodes", int) == 2  # type: ignore[union-attr]


@both_engines
def test_a_score_plugin_is_asked_once_per_node_and_cycle(scalar: bool) -> None:
    class Counts(ScorePlugin):
        name = "Counts"
        asked = 0

        def score(self, pod: PodInfo, node: NodeInfo) -> int:
            self.asked += 1
            return 1

    def look_at_scores(pod: PodInfo, evaluation: Evaluation) -> None:
        evaluation.scores()

    plugin = Counts()
    cycles = Cycles(plugin, nodes=NODES, scalar=scalar)
    cycles.cycle.schedule_one(cycles.pod(POD), look_at_scores)
    assert plugin.asked == 3
