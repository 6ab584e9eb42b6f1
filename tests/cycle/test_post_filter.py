# SPDX-License-Identifier: Apache-2.0
"""PostFilter plugins are asked until one of them settles the matter."""

from __future__ import annotations

from tests.cycle.scheduling import Cycles, profile_of
from tests.runtime.calling import without_place

from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import FilterPlugin, PostFilterPlugin, PostFilterResult
from steersman.framework.ports import CLEARED, Nomination
from steersman.framework.status import Code, Status, error, unresolvable, unschedulable
from steersman.scheduler.cycle import post_filter
from steersman.scheduler.cycle.decision import Unschedulable
from steersman.scheduler.cycle.post_filter import PostFilterOutcome
from steersman.scheduler.engine.evaluation import NodeStatuses
from steersman.testing import make_pod

STATUSES = NodeStatuses({unschedulable("no"): ["n1"]})


class Answers(PostFilterPlugin):
    """Gives the answer it was made with, or raises it."""

    def __init__(self, name: str, answer: object) -> None:
        self.name = name  # type: ignore[misc]
        self._answer = answer
        self.asked_about: list[object] = []

    def post_filter(self, state: object, pod: object, statuses: object) -> object:  # type: ignore[override]
        self.asked_about.append(statuses)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def outcome(*plugins: Answers) -> PostFilterOutcome:
    return post_filter.run(profile_of(plugins), CycleState(), make_pod("p").info(), STATUSES)


def nominates(node: str) -> PostFilterResult:
    return PostFilterResult(node)


def test_the_first_success_ends_the_phase() -> None:
    later = Answers("B", unschedulable("no"))
    found = outcome(Answers("A", (nominates("n1"), None)), later)
    assert found.result == nominates("n1")
    assert found.status.code is Code.SUCCESS
    assert later.asked_about == []


def test_plugins_see_why_the_nodes_did_not_fit() -> None:
    plugin = Answers("A", unschedulable("no"))
    outcome(plugin)
    assert plugin.asked_about == [STATUSES]


def test_refusals_are_merged_under_the_name_of_the_first() -> None:
    found = outcome(Answers("A", unschedulable("one", "two")), Answers("B", unschedulable("three")))
    assert found.result is None
    assert found.status == Status(Code.UNSCHEDULABLE, ("one", "two", "three"), "A")


def test_an_unresolvable_refusal_ends_the_phase() -> None:
    later = Answers("B", (nominates("n1"), None))
    found = outcome(Answers("A", (PostFilterResult(""), unresolvable("hopeless"))), later)
    assert found == PostFilterOutcome(PostFilterResult(""), unresolvable("hopeless").with_plugin("A"))
    assert later.asked_about == []


def test_the_last_refusal_with_a_nomination_decides_what_becomes_of_it() -> None:
    found = outcome(
        Answers("A", (nominates("n1"), unschedulable("one"))),
        Answers("B", (nominates(""), unschedulable("two"))),
        Answers("C", (PostFilterResult(None), unschedulable("three"))),
    )
    assert found.result == nominates("")


def test_an_error_ends_the_phase() -> None:
    later = Answers("B", (nominates("n1"), None))
    found = outcome(Answers("A", error("lost")), later)
    assert found == PostFilterOutcome(None, error("lost").with_plugin("A"))
    assert later.asked_about == []


def test_an_exception_is_an_error() -> None:
    found = outcome(Answers("A", ValueError("lost")))
    assert (found.status.code, found.status.plugin) == (Code.ERROR, "A")
    assert without_place(found.status.message) == 'running PostFilter plugin "A": ValueError: lost'


def test_an_answer_that_is_none_is_an_error() -> None:
    found = outcome(Answers("A", None))
    assert found.status.message == (
        'running PostFilter plugin "A": returned None, expected a Status, or a PostFilterResult (or None) and a Status'
    )


class Refuses(FilterPlugin):
    name = "Refuses"

    def filter(self, pod: object, node: object) -> str:
        return "no"


def nomination_after(*plugins: Answers) -> Nomination | None:
    decision = Cycles(Refuses(), *plugins).schedule(make_pod("p"))
    assert isinstance(decision, Unschedulable)
    return decision.nomination


def test_what_becomes_of_the_nomination() -> None:
    assert nomination_after() == CLEARED, "nobody can help"
    assert nomination_after(Answers("A", (nominates("n1"), None))) == Nomination("n1")
    assert nomination_after(Answers("A", (nominates(""), unschedulable("no")))) == CLEARED
    assert nomination_after(Answers("A", (PostFilterResult(None), unschedulable("no")))) is None
    assert nomination_after(Answers("A", unschedulable("no"))) is None


def test_the_message_tells_what_post_filter_said() -> None:
    decision = Cycles(Refuses(), Answers("A", unschedulable("preemption: no use."))).schedule(make_pod("p"))
    assert isinstance(decision, Unschedulable)
    assert decision.message == "0/3 nodes are available: 3 no. preemption: no use."
