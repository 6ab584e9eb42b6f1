# SPDX-License-Identifier: Apache-2.0
"""The message that users read when a pod does not fit, and the plugins that are to blame."""

from __future__ import annotations

from tests.cycle.scheduling import Cycles

from steersman.framework.plugin import FilterPlugin, PreFilterPlugin, PreFilterResult
from steersman.framework.status import Code, Status, unresolvable, unschedulable
from steersman.scheduler.cycle.diagnosis import Diagnosis, diagnose, reason_histogram
from steersman.scheduler.engine.evaluation import NodeStatuses
from steersman.testing import make_pod

CPU = unschedulable("Insufficient cpu").with_plugin("Fit")
BOTH = unschedulable("Insufficient cpu", "Insufficient memory").with_plugin("Fit")
TAINT = unresolvable("node(s) had untolerated taint(s)").with_plugin("Taints")


def diagnosis(statuses: NodeStatuses, nodes: int = 5, **fields: str) -> Diagnosis:
    return Diagnosis(nodes, statuses, frozenset(), frozenset(), **fields)


class TestMessage:
    def test_reasons_are_counted_over_the_nodes_and_sorted_as_text(self) -> None:
        statuses = NodeStatuses({CPU: ["n1"], BOTH: ["n2"], TAINT: ["n3", "n4", "n5"]})
        assert diagnosis(statuses).message() == (
            "0/5 nodes are available: 1 Insufficient memory, 2 Insufficient cpu, 3 node(s) had untolerated taint(s)."
        )

    def test_sorting_is_by_text_and_not_by_number(self) -> None:
        statuses = NodeStatuses({CPU: [f"n{i}" for i in range(10)], TAINT: ["m1", "m2"]})
        assert reason_histogram(statuses, 12) == ["10 Insufficient cpu", "2 node(s) had untolerated taint(s)"]

    def test_nodes_that_were_not_examined_are_counted_with_the_reason_for_that(self) -> None:
        statuses = NodeStatuses({CPU: ["n1"]}, absent=unresolvable("node(s) didn't satisfy plugin(s) [A]"))
        assert diagnosis(statuses).message() == (
            "0/5 nodes are available: 1 Insufficient cpu, 4 node(s) didn't satisfy plugin(s) [A]."
        )

    def test_if_all_were_examined_that_reason_does_not_appear(self) -> None:
        statuses = NodeStatuses({CPU: ["n1"]}, absent=unresolvable("outside"))
        assert diagnosis(statuses, nodes=1).message() == "0/1 nodes are available: 1 Insufficient cpu."

    def test_a_rejection_of_the_pod_as_a_whole_stands_for_all_nodes(self) -> None:
        statuses = NodeStatuses(absent=unresolvable("pod affinity terms conflict"))
        assert diagnosis(statuses, pre_filter_message="pod affinity terms conflict").message() == (
            "0/5 nodes are available: pod affinity terms conflict."
        )

    def test_what_post_filter_says_comes_last(self) -> None:
        text = "preemption: 0/5 nodes are available: 5 No preemption victims found for incoming pod."
        assert diagnosis(NodeStatuses({CPU: ["n1"]}), post_filter_message=text).message() == (
            f"0/5 nodes are available: 1 Insufficient cpu. {text}"
        )

    def test_without_any_reason_nothing_is_made_up(self) -> None:
        assert diagnosis(NodeStatuses()).message() == "0/5 nodes are available:"


class TestStatuses:
    def test_a_node_has_its_own_status_or_that_of_all_others(self) -> None:
        statuses = NodeStatuses({CPU: ["n1", "n2"], TAINT: ["n3"]}, absent=unresolvable("outside"))
        assert statuses.status_of("n2") == CPU
        assert statuses.status_of("n3") == TAINT
        assert statuses.status_of("n9") == unresolvable("outside")
        assert len(statuses) == 3

    def test_without_a_common_status_others_have_none(self) -> None:
        assert NodeStatuses({CPU: ["n1"]}).status_of("n9") is None


class Refuses(FilterPlugin):
    name = "Refuses"

    def filter(self, pod: object, node: object) -> Status:
        return unschedulable("no")


class Waits(FilterPlugin):
    name = "Waits"

    def filter(self, pod: object, node: object) -> Status:
        return Status(Code.PENDING, ("not yet",))


class OnlyFirst(PreFilterPlugin):
    name = "OnlyFirst"

    def pre_filter(self, pod: object, nodes: object) -> PreFilterResult:
        return PreFilterResult(frozenset({"n1"}))


class RejectsThePod(PreFilterPlugin):
    name = "RejectsThePod"

    def pre_filter(self, pod: object, nodes: object) -> Status:
        return unschedulable("bad pod")


class TestBlame:
    def test_the_first_plugin_that_objects_to_a_node_is_to_blame(self) -> None:
        cycles = Cycles(Refuses(), Waits())
        found = diagnose(cycles.evaluate(make_pod("p")), 3)
        assert found.unschedulable_plugins == {"Refuses"}
        assert found.pending_plugins == frozenset()

    def test_pending_plugins_are_distinguished(self) -> None:
        found = diagnose(Cycles(Waits()).evaluate(make_pod("p")), 3)
        assert found.unschedulable_plugins == found.pending_plugins == {"Waits"}

    def test_restricting_plugins_are_to_blame_as_well(self) -> None:
        found = diagnose(Cycles(OnlyFirst(), Refuses()).evaluate(make_pod("p")), 3)
        assert found.unschedulable_plugins == {"OnlyFirst", "Refuses"}
        assert found.message() == ("0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [OnlyFirst].")

    def test_a_pod_that_is_rejected_as_a_whole(self) -> None:
        found = diagnose(Cycles(RejectsThePod(), Refuses()).evaluate(make_pod("p")), 3)
        assert found.unschedulable_plugins == {"RejectsThePod"}
        assert found.message() == "0/3 nodes are available: bad pod."
