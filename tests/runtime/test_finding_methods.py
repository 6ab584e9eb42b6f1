# SPDX-License-Identifier: Apache-2.0
"""Plugin methods are found by name, with or without the cycle's state as first parameter."""

from __future__ import annotations

import pytest

from steersman.scheduler.runtime.faults import PluginError
from steersman.scheduler.runtime.methods import find


class Forms:
    """One method in every form."""

    def full(self, state: object, pod: object, node: object) -> object:
        return state, pod, node

    def short(self, pod: object, node: object) -> object:
        return pod, node

    def any_number(self, *given: object) -> object:
        return given

    def with_options(self, state: object, pod: object, node: object, *, strict: bool = True) -> object:
        return state, pod, node

    def too_few(self, node: object) -> object:
        return node

    def too_many(self, state: object, pod: object, node: object, more: object) -> object:
        return more

    not_a_method = "text"


@pytest.mark.parametrize("method", ["full", "any_number", "with_options"])
def test_a_method_may_take_the_state(method: str) -> None:
    assert find(Forms(), "P", method, 3)("state", "pod", "node") == ("state", "pod", "node")


def test_a_method_may_leave_out_the_state() -> None:
    assert find(Forms(), "P", "short", 3)("state", "pod", "node") == ("pod", "node")


@pytest.mark.parametrize(("method", "taken"), [("too_few", 1), ("too_many", 4)])
def test_any_other_number_of_parameters_is_refused(method: str, taken: int) -> None:
    with pytest.raises(PluginError) as refusal:
        find(Forms(), "P", method, 3)
    assert str(refusal.value) == (
        f'plugin "P": method {method}() takes {taken} arguments, expected 3 or, without the state, 2'
    )


@pytest.mark.parametrize("method", ["unknown", "not_a_method"])
def test_a_missing_method_is_named(method: str) -> None:
    with pytest.raises(PluginError, match=rf'plugin "P": method {method}\(\) is missing'):
        find(Forms(), "P", method, 3)


class Awaited:
    """Coroutines where the scheduler does not wait, and a plain function where it does."""

    async def filter(self, pod: object, node: object) -> None: ...

    def refresh(self) -> None: ...

    async def pre_bind(self, pod: object, node_name: str) -> None: ...


def test_a_coroutine_where_the_scheduler_does_not_wait_is_refused() -> None:
    with pytest.raises(PluginError, match=r'plugin "P": method filter\(\) is a coroutine, which is not awaited here'):
        find(Awaited(), "P", "filter", 3)


def test_a_refresh_that_is_no_coroutine_is_refused() -> None:
    with pytest.raises(PluginError, match=r"refresh\(\) is not a coroutine; write `async def refresh\(self\)`"):
        find(Awaited(), "P", "refresh", 0)


def test_work_before_the_binding_may_be_a_coroutine() -> None:
    assert find(Awaited(), "P", "pre_bind", 3) is not None
