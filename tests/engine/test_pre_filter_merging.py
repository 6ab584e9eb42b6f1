# SPDX-License-Identifier: Apache-2.0
"""What the PreFilter plugins say together."""

from __future__ import annotations

import pytest

from steersman.framework.plugin import PreFilterResult
from steersman.framework.status import SKIP, Code, CycleAborted, Status, error, unresolvable, unschedulable
from steersman.scheduler.engine.evaluation import Answer, PreFilterOutcome, merge, not_restricted_to


def only(*names: str) -> Answer:
    return PreFilterResult(frozenset(names)), None


def says(status: Status) -> Answer:
    return None, status


NOTHING: Answer = (None, None)


def merged(**answers: Answer) -> PreFilterOutcome:
    """Plugins in the given order. The names of those that were asked can be seen in `asked`."""
    asked.clear()

    def ask(name: str) -> Answer:
        asked.append(name)
        result, status = answers[name]
        return result, None if status is None else status.with_plugin(name)

    return merge((name, lambda name=name: ask(name)) for name in answers)  # type: ignore[misc]


asked: list[str] = []


class TestSkip:
    def test_plugins_that_have_nothing_to_do_are_remembered(self) -> None:
        outcome = merged(A=says(SKIP), B=NOTHING, C=says(SKIP))
        assert outcome.skipped == {"A", "C"}
        assert outcome.status is None
        assert outcome.node_names is None


class TestRejection:
    def test_an_unschedulable_pod_is_still_shown_to_the_others(self) -> None:
        outcome = merged(A=says(unschedulable("busy")), B=says(SKIP), C=only("n1"))
        assert asked == ["A", "B", "C"]
        assert outcome.status == unschedulable("busy").with_plugin("A")
        assert outcome.skipped == {"B"}
        assert outcome.node_names == frozenset({"n1"})

    def test_the_last_rejection_counts(self) -> None:
        assert merged(A=says(unschedulable("one")), B=says(unschedulable("two"))).status == unschedulable(
            "two"
        ).with_plugin("B")

    def test_an_unresolvable_one_ends_the_phase(self) -> None:
        outcome = merged(A=says(SKIP), B=says(unresolvable("never")), C=NOTHING)
        assert asked == ["A", "B"]
        assert outcome.status == unresolvable("never").with_plugin("B")

    def test_an_unresolvable_one_overrules_what_was_said_before(self) -> None:
        outcome = merged(A=says(unschedulable("busy")), B=only("n1"), C=says(unresolvable("never")))
        assert outcome.status == unresolvable("never").with_plugin("C")
        assert outcome.node_names is None
        assert outcome.restricting == frozenset()


class TestRestriction:
    def test_one_restriction(self) -> None:
        outcome = merged(A=NOTHING, B=only("n1", "n2"))
        assert outcome.node_names == frozenset({"n1", "n2"})
        assert outcome.restricting == {"B"}

    def test_several_have_to_agree(self) -> None:
        outcome = merged(A=only("n1", "n2"), B=only("n2", "n3"), C=NOTHING)
        assert outcome.node_names == frozenset({"n2"})
        assert outcome.restricting == {"A", "B"}
        assert outcome.status is None

    def test_nothing_left_of_one_plugin(self) -> None:
        outcome = merged(A=only(), B=NOTHING)
        assert asked == ["A"]
        assert outcome.status == unresolvable("node(s) didn't satisfy plugin A")
        assert outcome.node_names == frozenset()

    def test_nothing_left_of_several_plugins(self) -> None:
        outcome = merged(B=only("n1"), A=only("n2"), C=NOTHING)
        assert asked == ["B", "A"]
        assert outcome.status == unresolvable("node(s) didn't satisfy plugin(s) [A B] simultaneously")
        assert outcome.restricting == {"A", "B"}

    def test_nodes_outside_get_one_status(self) -> None:
        assert not_restricted_to(["B", "A"]) == unresolvable("node(s) didn't satisfy plugin(s) [A B]")


class TestFaults:
    def test_an_error_ends_the_cycle(self) -> None:
        with pytest.raises(CycleAborted) as abort:
            merged(A=says(error("no data")), B=NOTHING)
        assert asked == ["A"]
        assert abort.value.status == Status(Code.ERROR, ('running PreFilter plugin "A": no data',), "A")

    @pytest.mark.parametrize("code", [Code.WAIT, Code.PENDING])
    def test_a_code_that_makes_no_sense_here_is_an_error(self, code: Code) -> None:
        with pytest.raises(CycleAborted, match='running PreFilter plugin "A": later'):
            merged(A=says(Status(code, ("later",))))
