# SPDX-License-Identifier: Apache-2.0
"""Pods that wait for a node to become free: others must leave them room, and must not rest on them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.cycle.scheduling import Cycles

from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import FilterPlugin, PreFilterPlugin, PreFilterResult
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import unschedulable
from steersman.scheduler.cycle.decision import Scheduled
from steersman.testing import make_pod

both_engines = pytest.mark.parametrize("scalar", [True, False], ids=["scalar", "columnar"])
POD = make_pod("p")


class OnePodPerNode(FilterPlugin):
    name = "OnePodPerNode"

    def filter(self, pod: PodInfo, node: NodeInfo) -> str | None:
        return "full" if node.pod_count else None


class NeedsCompany(PreFilterPlugin, FilterPlugin):
    """Counts all pods in PreFilter and keeps count of those that are imagined; a node needs one on it."""

    name = "NeedsCompany"

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        state.write("pods", sum(node.pod_count for node in nodes))

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        state.write("pods", (state.read("pods", int) or 0) + 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        state.write("pods", (state.read("pods", int) or 0) - 1)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> str | None:
        return None if state.read("pods", int) else "lonely"


class OnlySecond(PreFilterPlugin):
    name = "OnlySecond"

    def pre_filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PreFilterResult:
        return PreFilterResult(frozenset({"n2"}))


def nominate(cycles: Cycles, node: str, priority: int) -> None:
    cycles.nominated.put(node, [cycles.pod(make_pod("rival").priority(priority))])


@both_engines
class TestRivals:
    def test_room_is_left_for_a_nominated_pod_of_higher_priority(self, scalar: bool) -> None:
        cycles = Cycles(OnePodPerNode(), nodes=["n1", "n2"], scalar=scalar)
        nominate(cycles, "n1", 10)
        assert cycles.feasible(POD) == {"n2"}
        assert cycles.statuses(POD) == {"n1": unschedulable("full").with_plugin("OnePodPerNode")}

    def test_and_for_one_of_equal_priority(self, scalar: bool) -> None:
        cycles = Cycles(OnePodPerNode(), nodes=["n1", "n2"], scalar=scalar)
        nominate(cycles, "n1", 0)
        assert cycles.feasible(POD) == {"n2"}

    def test_but_not_for_one_of_lower_priority(self, scalar: bool) -> None:
        cycles = Cycles(OnePodPerNode(), nodes=["n1", "n2"], scalar=scalar)
        nominate(cycles, "n1", -1)
        assert cycles.feasible(POD) == {"n1", "n2"}

    def test_a_pod_is_not_its_own_rival(self, scalar: bool) -> None:
        cycles = Cycles(OnePodPerNode(), nodes=["n1", "n2"], scalar=scalar)
        cycles.nominated.put("n1", [cycles.pod(POD)])
        assert cycles.feasible(POD) == {"n1", "n2"}

    def test_a_pod_must_fit_without_the_nominated_ones_too(self, scalar: bool) -> None:
        cycles = Cycles(NeedsCompany(), nodes=["n1", "n2"], scalar=scalar)
        nominate(cycles, "n1", 10)
        assert cycles.feasible(POD) == set(), "the rival may never come"

    def test_a_nomination_to_an_unknown_node_does_not_matter(self, scalar: bool) -> None:
        cycles = Cycles(OnePodPerNode(), nodes=["n1"], scalar=scalar)
        nominate(cycles, "gone", 10)
        assert cycles.feasible(POD) == {"n1"}


@both_engines
class TestOwnNomination:
    def test_the_nominated_node_is_taken_if_it_fits(self, scalar: bool) -> None:
        cycles = Cycles(OnePodPerNode(), scalar=scalar)
        evaluation = cycles.evaluate(POD.nominated("n2"))
        assert evaluation.nominated_path
        assert evaluation.feasible() == ["n2"]
        assert evaluation.feasible_count == 1
        assert evaluation.statuses().groups == {}
        decision = cycles.schedule(POD.nominated("n2"))
        assert isinstance(decision, Scheduled)
        assert decision.node == "n2"

    def test_if_it_does_not_all_nodes_are_examined(self, scalar: bool) -> None:
        cycles = Cycles(OnePodPerNode(), scalar=scalar)
        cycles.cache.add_pod(make_pod("other").node("n2").obj())
        evaluation = cycles.evaluate(POD.nominated("n2"))
        assert not evaluation.nominated_path
        assert set(evaluation.feasible()) == {"n1", "n3"}
        assert evaluation.statuses().status_of("n2") == unschedulable("full").with_plugin("OnePodPerNode")

    def test_rivals_on_the_nominated_node_must_have_room_too(self, scalar: bool) -> None:
        cycles = Cycles(OnePodPerNode(), scalar=scalar)
        nominate(cycles, "n2", 10)
        assert set(cycles.evaluate(POD.nominated("n2")).feasible()) == {"n1", "n3"}

    def test_an_unknown_nominated_node_is_ignored(self, scalar: bool) -> None:
        assert Cycles(scalar=scalar).evaluate(POD.nominated("gone")).feasible_count == 3

    def test_a_nominated_node_outside_of_the_restriction_is_examined_first(self, scalar: bool) -> None:
        cycles = Cycles(OnlySecond(), OnePodPerNode(), scalar=scalar)
        assert cycles.evaluate(POD.nominated("n1")).feasible() == ["n1"]
        cycles.cache.add_pod(make_pod("other").node("n1").obj())
        evaluation = cycles.evaluate(POD.nominated("n1"))
        assert evaluation.feasible() == ["n2"]
        statuses = evaluation.statuses()
        assert statuses.status_of("n1") == unschedulable("full").with_plugin("OnePodPerNode"), "it was looked at"
        assert statuses.status_of("n3") == statuses.absent

    def test_what_was_against_the_nominated_node_is_named_among_the_plugins_of_the_restriction(
        self, scalar: bool
    ) -> None:
        """As kube-scheduler has it: both are kept in one set."""
        cycles = Cycles(OnlySecond(), OnePodPerNode(), scalar=scalar)
        for node in ("n1", "n2"):
            cycles.cache.add_pod(make_pod(f"on-{node}").node(node).obj())
        absent = cycles.evaluate(POD.nominated("n1")).statuses().absent
        assert absent is not None
        assert absent.message == "node(s) didn't satisfy plugin(s) [OnePodPerNode OnlySecond]"
