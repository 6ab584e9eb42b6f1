# SPDX-License-Identifier: Apache-2.0
"""Clocks: the real one runs, the manual one moves only when told to."""

import pytest

from steersman.base.clock import Clock, ManualClock, RealClock


def test_a_manual_clock_stands_still_until_it_is_advanced() -> None:
    clock = ManualClock(100.0)
    assert (clock.now(), clock.monotonic()) == (100.0, 100.0)
    clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 102.5)


def test_a_manual_clock_can_be_set_to_a_later_time() -> None:
    clock = ManualClock()
    clock.set(7)
    assert clock.now() == 7.0


def test_a_manual_clock_does_not_go_back() -> None:
    clock = ManualClock(10)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.set(9)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)


def test_the_real_clock_never_runs_backwards() -> None:
    clock: Clock = RealClock()
    earlier = clock.monotonic()
    assert clock.monotonic() >= earlier
    assert clock.now() > 0
