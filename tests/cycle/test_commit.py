# SPDX-License-Identifier: Apache-2.0
"""After the choice: the pod is assumed, reserved and permitted, or all of it is undone."""

from __future__ import annotations

import pytest
from tests.cycle.scheduling import Cycles
from tests.runtime.calling import without_place

from steersman.framework.plugin import PermitPlugin, PermitResult, Plugin, ReservePlugin
from steersman.framework.ports import CLEARED
from steersman.framework.status import Code, Status, error, unschedulable
from steersman.scheduler.cycle.commit import MAX_WAIT_SECONDS
from steersman.scheduler.cycle.decision import Decision, Failed, Scheduled, Unschedulable
from steersman.testing import make_pod

POD = make_pod("p").req(cpu="1")


class Reserves(ReservePlugin):
    """Tells what it is asked for, and answers as it was told."""

    def __init__(self, name: str, told: list[str], answer: object = None) -> None:
        self.name = name  # type: ignore[misc]
        self._told = told
        self._answer = answer

    def reserve(self, pod: object, node_name: str) -> object:  # type: ignore[override]
        self._told.append(f"reserve {self.name}")
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def unreserve(self, pod: object, node_name: str) -> None:
        self._told.append(f"unreserve {self.name}")


class Permits(PermitPlugin):
    def __init__(self, name: str, answer: object = None) -> None:
        self.name = name  # type: ignore[misc]
        self._answer = answer

    def permit(self, pod: object, node_name: str) -> object:  # type: ignore[override]
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


def decided(*plugins: Plugin) -> tuple[Decision, Cycles]:
    cycles = Cycles(*plugins, nodes=["n1"])
    return cycles.schedule(POD), cycles


def is_undone(cycles: Cycles) -> bool:
    cycles.cache.validate_state()
    return cycles.cache.pod_count == 0


class TestReserve:
    def test_the_pod_is_assumed_before_anybody_reserves(self) -> None:
        class Looks(ReservePlugin):
            name = "Looks"
            seen = 0

            def reserve(self, pod: object, node_name: str) -> None:
                self.seen = cycles.cache.assumed_count

            def unreserve(self, pod: object, node_name: str) -> None: ...

        plugin = Looks()
        cycles = Cycles(plugin, nodes=["n1"])
        cycles.schedule(POD)
        assert plugin.seen == 1

    def test_plugins_reserve_in_order(self) -> None:
        told: list[str] = []
        decision, cycles = decided(Reserves("A", told), Reserves("B", told))
        assert isinstance(decision, Scheduled)
        assert decision.node == "n1"
        assert told == ["reserve A", "reserve B"]
        assert cycles.cache.is_assumed(POD.obj().metadata.uid)

    def test_a_refusal_undoes_everything_in_reverse_order(self) -> None:
        told: list[str] = []
        plugins = Reserves("A", told), Reserves("B", told, unschedulable("taken")), Reserves("C", told)
        decision, cycles = decided(*plugins)
        assert isinstance(decision, Unschedulable)
        assert decision.message == "0/1 nodes are available: 1 taken."
        assert decision.diagnosis.unschedulable_plugins == {"B"}
        assert decision.diagnosis.statuses.status_of("n1") == unschedulable("taken").with_plugin("B")
        assert decision.nomination == CLEARED
        assert told == ["reserve A", "reserve B", "unreserve C", "unreserve B", "unreserve A"]
        assert is_undone(cycles)

    @pytest.mark.parametrize("answer", [error("boom"), Status(Code.SKIP, ("boom",))])
    def test_an_error_fails_the_pod(self, answer: Status) -> None:
        told: list[str] = []
        decision, cycles = decided(Reserves("A", told, answer))
        assert isinstance(decision, Failed)
        assert decision.message == 'running Reserve plugin "A": boom'
        assert told == ["reserve A", "unreserve A"]
        assert is_undone(cycles)

    def test_an_exception_fails_the_pod(self) -> None:
        decision, cycles = decided(Reserves("A", [], ValueError("boom")))
        assert isinstance(decision, Failed)
        assert without_place(decision.message) == 'running Reserve plugin "A": ValueError: boom'
        assert is_undone(cycles)


class TestPermit:
    @pytest.mark.parametrize("yes", [None, Status(Code.SUCCESS), PermitResult(Status(Code.SUCCESS))])
    def test_permission(self, yes: object) -> None:
        decision, _ = decided(Permits("A", yes))
        assert isinstance(decision, Scheduled)
        assert decision.waits == {}

    def test_waiting_is_noted_for_each_plugin_that_asks_for_it(self) -> None:
        decision, cycles = decided(
            Permits("A", PermitResult(Status(Code.WAIT), 10.0)),
            Permits("B"),
            Permits("C", PermitResult(Status(Code.WAIT), 20.0)),
        )
        assert isinstance(decision, Scheduled)
        assert decision.waits == {"A": 10.0, "C": 20.0}
        assert cycles.cache.is_assumed(POD.obj().metadata.uid), "it keeps its room while it waits"

    def test_no_pod_waits_for_permission_longer_than_a_quarter_of_an_hour(self) -> None:
        decision, _ = decided(Permits("A", PermitResult(Status(Code.WAIT), 1e9)))
        assert isinstance(decision, Scheduled)
        assert decision.waits == {"A": MAX_WAIT_SECONDS}

    def test_a_refusal_undoes_everything_even_if_others_would_wait(self) -> None:
        told: list[str] = []
        decision, cycles = decided(
            Reserves("R", told),
            Permits("A", PermitResult(Status(Code.WAIT), 10.0)),
            Permits("B", unschedulable("not now")),
        )
        assert isinstance(decision, Unschedulable)
        assert decision.message == "0/1 nodes are available: 1 not now."
        assert decision.diagnosis.unschedulable_plugins == {"B"}
        assert told == ["reserve R", "unreserve R"]
        assert is_undone(cycles)

    @pytest.mark.parametrize("answer", [Status(Code.WAIT), PermitResult(Status(Code.WAIT))])
    def test_waiting_without_a_timeout_fails_the_pod_and_says_what_is_expected(self, answer: object) -> None:
        decision, cycles = decided(Permits("A", answer))
        assert isinstance(decision, Failed)
        assert decision.message == (
            'running Permit plugin "A": returned Wait without a timeout, expected '
            "PermitResult(Status(Code.WAIT), timeout_seconds=30) or another time"
        )
        assert is_undone(cycles)

    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            (error("boom"), "boom"),
            (PermitResult(error("boom")), "boom"),
            (ValueError("boom"), "ValueError: boom"),
            ("yes", "returned 'yes', expected None, a Status or a PermitResult"),
            (SystemExit(3), "SystemExit: 3"),
        ],
    )
    def test_an_error_fails_the_pod(self, answer: object, text: str) -> None:
        decision, cycles = decided(Permits("A", answer))
        assert isinstance(decision, Failed)
        assert without_place(decision.message) == f'running Permit plugin "A": {text}'
        assert decision.status.plugin == "A"
        assert is_undone(cycles)
