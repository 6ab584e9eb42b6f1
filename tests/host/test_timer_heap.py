# SPDX-License-Identifier: Apache-2.0
"""The future of kubelets and controllers, in order."""

from __future__ import annotations

from steersman.scheduler.host import TimerHeap


def test_timers_of_one_moment_are_called_in_the_order_in_which_they_were_set() -> None:
    timers, called = TimerHeap(), list[str]()
    timers.call_at(2.0, lambda: called.append("late"))
    timers.call_at(1.0, lambda: called.append("first"))
    timers.call_at(1.0, lambda: called.append("second"))
    assert timers.next_time() == 1.0
    timers.run_due(1.0)
    assert called == ["first", "second"]
    assert len(timers) == 1


def test_a_timer_that_is_set_for_now_by_another_one_is_called_too() -> None:
    timers, called = TimerHeap(), list[str]()
    timers.call_at(1.0, lambda: timers.call_at(1.0, lambda: called.append("inner")))
    timers.run_due(1.0)
    assert called == ["inner"]
    assert timers.next_time() is None
