# SPDX-License-Identifier: Apache-2.0
"""Scalar plugins that promise what their answers depend on are asked again only when that changes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest
from tests.cycle.scheduling import Cycles

from steersman.framework.columns import Depends
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import FilterPlugin, NodeScore, PreFilterPlugin, PreScorePlugin, ScorePlugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status, unschedulable
from steersman.scheduler.cycle.decision import Scheduled
from steersman.testing import PodBuilder, make_node, make_pod

POD = make_pod("p")
NODES = ["n1", "n2", "n3"]


class Recording:
    """Remembers which nodes it was asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def take(self) -> list[str]:
        """What it was asked since the last time."""
        asked, self.asked = self.asked, []
        return sorted(asked)


class LabelScore(Recording, ScorePlugin):
    """Looks at the node alone."""

    name = "LabelScore"
    depends = Depends.NODE

    def fragment(self, pod: PodInfo) -> Hashable:
        return None

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        self.asked.append(node.name)
        return int(node.labels.get("score", "0"))


class RelativeScore(LabelScore):
    """Scores relative to the greatest one."""

    name = "RelativeScore"

    def __init__(self) -> None:
        super().__init__()
        #: Of how many nodes, each time.
        self.normalisations: list[int] = []

    def normalize_scores(self, pod: PodInfo, scores: Sequence[NodeScore]) -> None:
        self.normalisations.append(len(scores))
        greatest = max(1, *(entry.score for entry in scores))
        for entry in scores:
            entry.score = 100 * entry.score // greatest


class FewPods(Recording, FilterPlugin):
    """Looks at the pods of the node, and at one label of the pod."""

    name = "FewPods"
    depends = Depends.NODE_PODS

    def fragment(self, pod: PodInfo) -> Hashable:
        return pod.labels.get("most", "1")

    def filter(self, pod: PodInfo, node: NodeInfo) -> Status | None:
        self.asked.append(node.name)
        return None if node.pod_count < int(pod.labels.get("most", "1")) else unschedulable("too many pods")


class NoFragment(Recording, FilterPlugin):
    """Does not say what it looks at in the pod: it may be anything."""

    name = "NoFragment"
    depends = Depends.NODE

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        self.asked.append(node.name)
        return pod.annotations.get("avoid") != node.name


def running(cycles: Cycles, name: str, node: str) -> PodBuilder:
    pod = make_pod(name).node(node)
    cycles.cache.add_pod(pod.obj())
    return pod


class TestScores:
    def test_the_answer_is_that_of_the_plugin(self) -> None:
        cycles = Cycles(LabelScore(), nodes=[make_node("n1").label("score", "30"), "n2"], weights={"LabelScore": 2})
        assert cycles.totals(POD) == {"n1": 60, "n2": 0}

    def test_nothing_is_asked_twice(self) -> None:
        plugin = LabelScore()
        cycles = Cycles(plugin, nodes=NODES)
        cycles.schedule(POD)
        assert plugin.take() == NODES
        cycles.schedule(make_pod("q").label("any", "thing"))
        assert plugin.take() == []

    def test_a_changed_node_is_asked_about_again(self) -> None:
        plugin = LabelScore()
        cycles = Cycles(plugin, nodes=NODES)
        cycles.evaluate(POD)
        plugin.take()
        cycles.add_node(make_node("n2").label("score", "70"))
        assert cycles.totals(POD) == {"n1": 0, "n2": 70, "n3": 0}
        assert plugin.take() == ["n2"]

    def test_pods_that_come_and_go_are_none_of_its_business(self) -> None:
        plugin = LabelScore()
        cycles = Cycles(plugin, nodes=NODES)
        cycles.evaluate(POD)
        plugin.take()
        running(cycles, "other", "n2")
        cycles.evaluate(POD)
        assert plugin.take() == []


class TestScoresThatThePluginNormalises:
    """Raw scores are kept; the plugin normalises those of the feasible nodes in every cycle."""

    def test_the_answer_is_that_of_the_plugin(self) -> None:
        class Scaled(ScorePlugin):
            name = "Scaled"
            depends = Depends.NODE

            def fragment(self, pod: PodInfo) -> Hashable:
                return None

            def score(self, pod: PodInfo, node: NodeInfo) -> int:
                return int(node.name[1:]) * 1000

            def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> None:
                for entry in scores:
                    entry.score //= 100

        assert Cycles(Scaled(), nodes=NODES).totals(POD) == {"n1": 10, "n2": 20, "n3": 30}

    def test_twenty_pods_ask_each_of_ten_nodes_once(self) -> None:
        plugin = RelativeScore()
        names = [f"n{i}" for i in range(10)]
        cycles = Cycles(plugin, nodes=names)
        for i in range(20):
            assert isinstance(cycles.schedule(make_pod(f"p{i}")), Scheduled)
        assert plugin.take() == names
        assert plugin.normalisations == [10] * 20

    def test_pods_of_other_shapes_share_the_scores_of_equal_fragments(self) -> None:
        plugin = RelativeScore()
        cycles = Cycles(plugin, nodes=NODES)
        cycles.evaluate(POD)
        cycles.totals(POD)
        plugin.take()
        assert set(cycles.totals(make_pod("q").label("app", "web").req(cpu="1"))) == set(NODES)
        assert plugin.take() == []

    def test_a_changed_node_is_asked_about_again_and_all_are_normalised(self) -> None:
        plugin = RelativeScore()
        cycles = Cycles(plugin, nodes=[make_node("n1").label("score", "500"), make_node("n2").label("score", "1000")])
        assert cycles.totals(POD) == {"n1": 50, "n2": 100}
        plugin.take()
        cycles.add_node(make_node("n2").label("score", "2000"))
        assert cycles.totals(POD) == {"n1": 25, "n2": 100}
        assert plugin.take() == ["n2"]

    def test_only_feasible_nodes_are_normalised(self) -> None:
        plugin = RelativeScore()
        nodes = [make_node(f"n{i}").label("score", str(1000 * i)) for i in (1, 2, 4)]
        cycles = Cycles(FewPods(), plugin, nodes=nodes)
        assert cycles.totals(POD) == {"n1": 25, "n2": 50, "n4": 100}
        running(cycles, "other", "n4")
        plugin.take()
        assert cycles.totals(POD) == {"n1": 50, "n2": 100}
        assert plugin.take() == []

    def test_scores_may_be_too_great_for_any_column(self) -> None:
        nodes = [make_node("n1").label("score", str(1 << 80)), make_node("n2").label("score", str(1 << 81))]
        cycles = Cycles(RelativeScore(), nodes=nodes)
        assert cycles.totals(POD) == {"n1": 50, "n2": 100}
        cycles.add_node(make_node("n2").label("score", str(1 << 79)))
        assert cycles.totals(POD) == {"n1": 100, "n2": 50}


class TestFilters:
    def test_the_answer_is_that_of_the_plugin(self) -> None:
        cycles = Cycles(FewPods(), nodes=NODES)
        running(cycles, "other", "n2")
        assert cycles.feasible(POD) == {"n1", "n3"}
        assert cycles.statuses(POD) == {"n2": unschedulable("too many pods").with_plugin("FewPods")}

    def test_only_rows_whose_pods_changed_are_asked_about_again(self) -> None:
        plugin = FewPods()
        cycles = Cycles(plugin, nodes=NODES)
        cycles.evaluate(POD)
        plugin.take()
        running(cycles, "other", "n2")
        assert cycles.feasible(POD) == {"n1", "n3"}
        assert plugin.take() == ["n2"]

    def test_a_pod_on_the_node_that_changes_in_anything_a_plugin_may_see_counts_too(self) -> None:
        class Quiet(FilterPlugin):
            name = "Quiet"
            depends = Depends.NODE_PODS

            def fragment(self, pod: PodInfo) -> Hashable:
                return None

            def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
                return not any("noisy" in other.annotations for other in node.pods)

        cycles = Cycles(Quiet(), nodes=NODES)
        pod = running(cycles, "other", "n2")
        assert cycles.feasible(POD) == {"n1", "n2", "n3"}
        cycles.cache.update_pod(pod.annotation("noisy", "yes").obj())
        assert cycles.feasible(POD) == {"n1", "n3"}

    def test_equal_fragments_share_their_answers(self) -> None:
        plugin = FewPods()
        cycles = Cycles(plugin, nodes=NODES)
        cycles.evaluate(POD)
        plugin.take()
        cycles.evaluate(make_pod("q").label("app", "web").req(cpu="1"))
        assert plugin.take() == []

    def test_other_fragments_are_requested_themselves(self) -> None:
        plugin = FewPods()
        cycles = Cycles(plugin, nodes=NODES)
        running(cycles, "other", "n2")
        assert cycles.feasible(POD) == {"n1", "n3"}
        assert cycles.feasible(POD.label("most", "2")) == {"n1", "n2", "n3"}
        assert plugin.take() == sorted(NODES * 2)


class TestWholePods:
    def test_without_a_fragment_every_pod_is_asked_about(self) -> None:
        plugin = NoFragment()
        cycles = Cycles(plugin, nodes=NODES)
        assert cycles.feasible(POD) == {"n1", "n2", "n3"}
        assert cycles.feasible(make_pod("q").annotation("avoid", "n1")) == {"n2", "n3"}
        assert plugin.take() == sorted(NODES * 2)

    def test_a_pod_that_is_tried_again_is_not(self) -> None:
        plugin = NoFragment()
        cycles = Cycles(plugin, nodes=NODES)
        pod = POD.obj()
        for _ in range(2):
            cycles.evaluate(cycles.cache.shapes.info(pod))
        assert plugin.take() == NODES

    def test_a_pod_that_has_changed_is(self) -> None:
        cycles = Cycles(NoFragment(), nodes=NODES)
        assert cycles.feasible(POD) == {"n1", "n2", "n3"}
        assert cycles.feasible(POD.annotation("avoid", "n1")) == {"n2", "n3"}


class TestPromisesThatAreNotTaken:
    """Plugins that rest on more than they promise are asked in every cycle."""

    def test_a_filter_with_pre_filter(self) -> None:
        class Alternating(Recording, PreFilterPlugin, FilterPlugin):
            name = "Alternating"
            depends = Depends.NODE
            turn = 0

            def fragment(self, pod: PodInfo) -> Hashable:
                return None

            def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
                self.turn += 1
                state.write("turn", self.turn)

            def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> bool:
                return node.name == f"n{state.read('turn', int)}"

        cycles = Cycles(Alternating(), nodes=NODES)
        assert [cycles.feasible(POD) for _ in NODES] == [{"n1"}, {"n2"}, {"n3"}]

    def test_a_score_with_pre_score(self) -> None:
        class Counting(PreScorePlugin, ScorePlugin):
            name = "Counting"
            depends = Depends.NODE

            def fragment(self, pod: PodInfo) -> Hashable:
                return None

            def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
                state.write("feasible", len(nodes))

            def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
                return state.read("feasible", int) or 0

        cycles = Cycles(Counting(), nodes=NODES)
        assert cycles.totals(POD) == {"n1": 3, "n2": 3, "n3": 3}
        cycles.add_node("n4")
        assert cycles.totals(POD) == {"n1": 4, "n2": 4, "n3": 4, "n4": 4}

    @pytest.mark.parametrize("promise", ["node", True, 1])
    def test_a_promise_in_other_words(self, promise: object) -> None:
        class Vague(Recording, FilterPlugin):
            name = "Vague"
            depends = promise

            def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
                self.asked.append(node.name)
                return True

        plugin = Vague()
        cycles = Cycles(plugin, nodes=NODES)
        cycles.evaluate(POD)
        cycles.evaluate(POD)
        assert plugin.take() == sorted(NODES * 2)
