# SPDX-License-Identifier: Apache-2.0
"""A plugin that breaks fails the pod with one clear line, and only where it matters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest
from tests.cycle.scheduling import Cycles
from tests.runtime.calling import without_place

from steersman.framework.columns import Depends
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import (
    FilterPlugin,
    NodeScore,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    invalid_score,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status, error
from steersman.scheduler.cycle.decision import Failed, Scheduled
from steersman.testing import NodeBuilder, make_node, make_pod

POD = make_pod("p")
GOOD, BAD = make_node("good").label("price", "1"), make_node("bad")

both_engines = pytest.mark.parametrize("scalar", [True, False], ids=["scalar", "columnar"])
live_and_promised = pytest.mark.parametrize("depends", [None, Depends.NODE, Depends.NODE_PODS])


class Answering(Plugin):
    """Gives this answer for the node `bad`, or raises it; all is well with any other node."""

    def __init__(self, answer: object, depends: Depends | None = None) -> None:
        self.answer = answer
        if depends is not None:
            self.depends = depends

    def fragment(self, pod: PodInfo) -> Hashable:
        return None

    def answer_for(self, node: NodeInfo, otherwise: object) -> object:
        if node.name != "bad":
            return otherwise
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Filters(Answering, FilterPlugin):
    name = "Filters"

    def filter(self, pod: PodInfo, node: NodeInfo) -> object:  # type: ignore[override]
        return self.answer_for(node, True)


class Scores(Answering, ScorePlugin):
    name = "Scores"

    def score(self, pod: PodInfo, node: NodeInfo) -> object:  # type: ignore[override]
        return self.answer_for(node, 50)


class Thousandths(Answering, ScorePlugin):
    """Scores in thousandths, and normalises."""

    name = "Thousandths"

    def score(self, pod: PodInfo, node: NodeInfo) -> object:  # type: ignore[override]
        return self.answer_for(node, 50_000)

    def normalize_scores(self, pod: PodInfo, scores: Sequence[NodeScore]) -> None:
        for entry in scores:
            entry.score //= 1000


class NoBad(FilterPlugin):
    """Rejects the node with which the others have their trouble."""

    name = "NoBad"

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return node.name != "bad"


class OnlyGood(PreFilterPlugin):
    name = "OnlyGood"

    def pre_filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PreFilterResult:
        return PreFilterResult(frozenset({"good"}))


def failure(cycles: Cycles) -> str:
    decision = cycles.schedule(POD)
    assert isinstance(decision, Failed), decision
    assert decision.status.code is Code.ERROR
    cycles.cache.validate_state()
    assert cycles.cache.pod_count == 0
    return without_place(decision.message)


@both_engines
@live_and_promised
class TestFilters:
    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            (ValueError("boom"), "ValueError: boom"),
            (error("boom"), "boom"),
            (Status(Code.WAIT, ("later",)), "later"),
            (17, "returned 17, expected None, True, a reason text or a Status"),
        ],
    )
    def test_a_fault_fails_the_pod(self, scalar: bool, depends: Depends | None, answer: object, text: str) -> None:
        cycles = Cycles(Filters(answer, depends), nodes=[GOOD, BAD], scalar=scalar)
        assert failure(cycles) == f'running "Filters" filter plugin: {text}'

    def test_it_fails_again_the_next_time(self, scalar: bool, depends: Depends | None) -> None:
        cycles = Cycles(Filters(error("boom"), depends), nodes=[GOOD, BAD], scalar=scalar)
        assert failure(cycles) == failure(cycles)

    def test_it_is_over_when_the_node_is_gone(self, scalar: bool, depends: Depends | None) -> None:
        cycles = Cycles(Filters(error("boom"), depends), nodes=[GOOD, BAD], scalar=scalar)
        failure(cycles)
        cycles.cache.remove_node(BAD.obj())
        assert isinstance(cycles.schedule(POD), Scheduled)

    def test_it_begins_when_the_node_comes(self, scalar: bool, depends: Depends | None) -> None:
        cycles = Cycles(Filters(error("boom"), depends), nodes=[GOOD], scalar=scalar)
        assert cycles.evaluate(POD).feasible_count == 1
        cycles.add_node(BAD)
        failure(cycles)

    def test_a_node_that_is_rejected_before_does_no_harm(self, scalar: bool, depends: Depends | None) -> None:
        cycles = Cycles(NoBad(), Filters(error("boom"), depends), nodes=[GOOD, BAD], scalar=scalar)
        decision = cycles.schedule(POD)
        assert isinstance(decision, Scheduled)
        assert decision.node == "good"

    def test_a_node_outside_of_the_restriction_does_no_harm(self, scalar: bool, depends: Depends | None) -> None:
        cycles = Cycles(OnlyGood(), Filters(error("boom"), depends), nodes=[GOOD, BAD], scalar=scalar)
        assert isinstance(cycles.schedule(POD), Scheduled)

    def test_it_does_no_harm_either_when_nothing_fits(self, scalar: bool, depends: Depends | None) -> None:
        cycles = Cycles(NoBad(), Filters(error("boom"), depends), nodes=[BAD], scalar=scalar)
        assert cycles.statuses(POD)["bad"].plugin == "NoBad"


@both_engines
@live_and_promised
class TestScores:
    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            (ValueError("boom"), 'running Score plugins: plugin "Scores" failed with: ValueError: boom'),
            (error("boom"), 'running Score plugins: plugin "Scores" failed with: boom'),
            (
                None,
                'running Score plugins: plugin "Scores" failed with: score() returned None for node bad, expected an int',
            ),
            (
                0.5,
                'running Score plugins: plugin "Scores" failed with: score() returned 0.5 for node bad, expected an int',
            ),
            (101, invalid_score("Scores", 101).message),
            (-1, invalid_score("Scores", -1).message),
        ],
    )
    def test_a_fault_fails_the_pod(self, scalar: bool, depends: Depends | None, answer: object, text: str) -> None:
        cycles = Cycles(Scores(answer, depends), nodes=[GOOD, "better", BAD], scalar=scalar)
        assert failure(cycles) == text
        assert failure(cycles) == text, "and again the next time"

    def test_a_node_that_is_not_feasible_does_no_harm(self, scalar: bool, depends: Depends | None) -> None:
        cycles = Cycles(NoBad(), Scores(101, depends), nodes=[GOOD, "better", BAD], scalar=scalar)
        assert cycles.totals(POD) == {"good": 50, "better": 50}
        assert isinstance(cycles.schedule(POD), Scheduled)

    def test_a_single_feasible_node_is_not_scored(self, scalar: bool, depends: Depends | None) -> None:
        cycles = Cycles(Scores(101, depends), nodes=[BAD], scalar=scalar)
        assert isinstance(cycles.schedule(POD), Scheduled)

    def test_it_is_over_when_the_plugin_has_recovered(self, scalar: bool, depends: Depends | None) -> None:
        plugin = Scores(101, depends)
        cycles = Cycles(plugin, nodes=[GOOD, "better", BAD], scalar=scalar)
        failure(cycles)
        plugin.answer = 60
        cycles.add_node(BAD.label("changed", "yes"))
        assert cycles.totals(POD) == {"good": 50, "better": 50, "bad": 60}


@both_engines
class TestNormalising:
    @live_and_promised
    @pytest.mark.parametrize(
        ("normalised", "text"),
        [
            (101, invalid_score("Scales", 101).message),
            (error("boom"), 'running Normalize on Score plugins: plugin "Scales" failed with: boom'),
            (KeyError("k"), "running Normalize on Score plugins: plugin \"Scales\" failed with: KeyError: 'k'"),
        ],
    )
    def test_a_fault_fails_the_pod(self, scalar: bool, depends: Depends | None, normalised: object, text: str) -> None:
        class Scales(Answering, ScorePlugin):
            name = "Scales"

            def score(self, pod: PodInfo, node: NodeInfo) -> object:  # type: ignore[override]
                return self.answer_for(node, 5000)

            def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> object:  # type: ignore[override]
                if isinstance(normalised, Exception):
                    raise normalised
                if isinstance(normalised, int):
                    scores[0].score = normalised
                    return None
                return normalised

        cycles = Cycles(Scales(5000, depends), nodes=[GOOD, BAD], scalar=scalar)
        assert failure(cycles) == text
        assert failure(cycles) == text, "and again the next time"

    @live_and_promised
    def test_a_score_that_breaks_before_fails_the_pod_where_the_node_is_feasible(
        self, scalar: bool, depends: Depends | None
    ) -> None:
        nodes: list[str | NodeBuilder] = [GOOD, "better", BAD]
        assert failure(Cycles(Thousandths(error("boom"), depends), nodes=nodes, scalar=scalar)) == (
            'running Score plugins: plugin "Thousandths" failed with: boom'
        )
        cycles = Cycles(NoBad(), Thousandths(error("boom"), depends), nodes=nodes, scalar=scalar)
        assert cycles.totals(POD) == {"good": 50, "better": 50}

    @live_and_promised
    def test_it_is_over_when_the_score_has_recovered(self, scalar: bool, depends: Depends | None) -> None:
        plugin = Thousandths(error("boom"), depends)
        cycles = Cycles(plugin, nodes=[GOOD, "better", BAD], scalar=scalar)
        failure(cycles)
        plugin.answer = 60_000
        cycles.add_node(BAD.label("changed", "yes"))
        assert cycles.totals(POD) == {"good": 50, "better": 50, "bad": 60}

    def test_pre_score_may_not_refuse(self, scalar: bool) -> None:
        class Refuses(PreScorePlugin):
            name = "Refuses"

            def pre_score(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> str:
                return "no"

        assert failure(Cycles(Refuses(), Scores(1), nodes=[GOOD, "more"], scalar=scalar)) == (
            'running PreScore plugin "Refuses": no'
        )
