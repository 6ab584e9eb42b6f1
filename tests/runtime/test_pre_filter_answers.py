# SPDX-License-Identifier: Apache-2.0
"""What PreFilter may answer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.runtime.calling import arguments, without_place

from steersman.framework.plugin import PreFilterResult
from steersman.framework.status import SKIP, Code, Status, unresolvable
from steersman.scheduler.runtime.methods import pre_filter_method, status_method

Answer = tuple[PreFilterResult | None, Status | None]


def answer_of(answer: object) -> Answer:
    state, pod, node = arguments()
    plugin = SimpleNamespace(pre_filter=lambda state, pod, nodes: answer)
    return pre_filter_method(plugin, "P")(state, pod, [node])


def test_none_is_success() -> None:
    assert answer_of(None) == (None, None)


def test_a_restriction_is_success_too() -> None:
    result = PreFilterResult(frozenset({"n1"}))
    assert answer_of(result) == (result, None)


@pytest.mark.parametrize("status", [SKIP, unresolvable("never")])
def test_a_status_is_signed(status: Status) -> None:
    assert answer_of(status) == (None, status.with_plugin("P"))


def test_a_text_rejects_the_pod() -> None:
    assert answer_of("not today") == (None, Status(Code.UNSCHEDULABLE, ("not today",), "P"))


def test_anything_else_is_a_fault() -> None:
    result, status = answer_of({"n1"})
    assert result is None
    assert status is not None
    assert status.message.startswith("running PreFilter plugin \"P\": returned {'n1'}")


def test_an_exception_is_a_fault() -> None:
    class Broken:
        def pre_filter(self, pod: object, nodes: object) -> None:
            raise RuntimeError("lost")

    state, pod, node = arguments()
    result, status = pre_filter_method(Broken(), "P")(state, pod, [node])
    assert result is None
    assert status is not None
    assert (status.code, status.plugin) == (Code.ERROR, "P")
    assert without_place(status.message) == 'running PreFilter plugin "P": RuntimeError: lost'


def test_points_that_answer_with_a_status_are_called_alike() -> None:
    class Reserving:
        def reserve(self, pod: object, node_name: str) -> str | None:
            if node_name == "bad":
                raise OSError("disk")
            return None if node_name == "good" else "no room"

    reserve = status_method(Reserving(), "P", "Reserve", "reserve", 3)
    state, pod, _ = arguments()
    assert reserve(state, pod, "good") is None
    assert reserve(state, pod, "full") == Status(Code.UNSCHEDULABLE, ("no room",), "P")
    broken = reserve(state, pod, "bad")
    assert broken is not None
    assert (broken.code, without_place(broken.message)) == (Code.ERROR, 'running Reserve plugin "P": OSError: disk')
