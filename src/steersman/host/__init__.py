# SPDX-License-Identifier: Apache-2.0
"""Parts that every host of a scheduler needs: a loop that drives it in real time, timers, and the tuning of memory.

`steersman run` and `steersman bench` drive a scheduler by `SchedulingLoop`. Simulations and the test harness, whose time is
virtual, have `sim.driver`, which flushes the queue at the same intervals. `ScaledClock` and `LoopTimers` are the time of a
sandbox. All of them tune memory here.
"""

from steersman.host.memory import (
    freeze_heap,
    frozen_heap,
    give_back_free_memory,
    keep_freed_memory,
    unfreeze_heap,
)
from steersman.host.scaled_clock import LoopTimers, ScaledClock, Speed, parse_speed
from steersman.host.scheduling_loop import BACKOFF_SECONDS, UNSCHEDULABLE_SECONDS, SchedulingLoop
from steersman.host.timer_heap import TimerHeap

__all__ = [
    "BACKOFF_SECONDS",
    "UNSCHEDULABLE_SECONDS",
    "LoopTimers",
    "ScaledClock",
    "SchedulingLoop",
    "Speed",
    "TimerHeap",
    "freeze_heap",
    "frozen_heap",
    "give_back_free_memory",
    "keep_freed_memory",
    "parse_speed",
    "unfreeze_heap",
]
