# SPDX-License-Identifier: Apache-2.0
"""A cycle state that is made when somebody looks."""

from __future__ import annotations

from steersman.framework.cycle_state import CycleState, DeferredState


class Filling:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> CycleState:
        self.calls += 1
        state = CycleState()
        state.write("cpu", 4)
        state.skip_filter = frozenset({"NodePorts"})
        return state


def test_nothing_is_filled_without_a_read() -> None:
    filling = Filling()
    DeferredState(fill=filling).write("memory", 8)
    assert filling.calls == 0


def test_it_is_made_once() -> None:
    filling = Filling()
    state = DeferredState(fill=filling)
    assert state.read("cpu", int) == 4
    assert state.read("cpu", int) == 4
    assert filling.calls == 1


def test_a_clone_has_everything() -> None:
    clone = DeferredState(fill=Filling()).clone()
    assert clone.read("cpu", int) == 4
    assert clone.skip_filter == {"NodePorts"}


def test_what_was_written_before_stays() -> None:
    state = DeferredState(fill=Filling())
    state.write("cpu", 5)
    assert state.read("cpu", int) == 5


def test_what_is_there_already_is_read_without_making_the_rest() -> None:
    filling = Filling()
    state = DeferredState(fill=filling)
    state.write("memory", 8)
    assert state.read("memory", int) == 8
    assert filling.calls == 0
