# SPDX-License-Identifier: Apache-2.0
"""What a filter may answer, and what becomes of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.runtime.calling import arguments, without_place

from steersman.framework.status import Code, Status, unresolvable, unschedulable
from steersman.scheduler.runtime.methods import REASON_REJECTED, filter_method


def answer_of(answer: object) -> Status | None:
    """Of a plugin whose filter always gives that answer."""
    plugin = SimpleNamespace(filter=lambda state, pod, node: answer)
    return filter_method(plugin, "P")(*arguments())


@pytest.mark.parametrize("fits", [None, True, Status(Code.SUCCESS), Status(Code.SUCCESS, ("all well",))])
def test_the_node_fits(fits: object) -> None:
    assert answer_of(fits) is None


def test_a_text_is_the_reason_why_not() -> None:
    assert answer_of("too far away") == Status(Code.UNSCHEDULABLE, ("too far away",), "P")


def test_a_plain_no_gets_a_reason() -> None:
    assert answer_of(False) == Status(Code.UNSCHEDULABLE, (REASON_REJECTED.format("P"),), "P")


@pytest.mark.parametrize(
    "status", [unschedulable("busy"), unresolvable("broken disk"), Status(Code.PENDING, ("soon",))]
)
def test_a_status_is_signed_by_the_plugin(status: Status) -> None:
    assert answer_of(status) == status.with_plugin("P")


@pytest.mark.parametrize("nonsense", [0, 1, 3.5, [], {"fits": True}])
def test_anything_else_is_a_fault(nonsense: object) -> None:
    status = answer_of(nonsense)
    assert status is not None
    assert status.code is Code.ERROR
    assert status.plugin == "P"
    assert status.message == (
        f'running "P" filter plugin: returned {nonsense!r}, expected None, True, a reason text or a Status'
    )


def test_an_exception_is_a_fault_without_a_traceback() -> None:
    class Broken:
        def filter(self, pod: object, node: object) -> None:
            raise KeyError("price")

    status = filter_method(Broken(), "P")(*arguments())
    assert status is not None
    assert (status.code, status.plugin) == (Code.ERROR, "P")
    assert without_place(status.message) == "running \"P\" filter plugin: KeyError: 'price'"
