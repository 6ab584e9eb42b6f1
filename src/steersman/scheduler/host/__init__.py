# SPDX-License-Identifier: Apache-2.0
"""Parts that every host of a scheduler needs: a loop that drives it in real time, timers, and
memory tuning.

`steersman run` and `steersman bench` drive a scheduler by `SchedulingLoop`. Simulations and the
test harness, whose time is virtual, use `simulation.virtual_time`, which flushes the queue at the
same intervals. `ScaledClock` and `LoopTimers` are the time of a sandbox. `PlainPorts` is used where
nothing is recorded.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "event_reports": "EventReports FAILED_SCHEDULING PREEMPTED PodEvent SCHEDULED assigned_note",
        "memory": "freeze_heap frozen_heap keep_freed_memory trim_free_memory unfreeze_heap",
        "plain_ports": "PlainPorts",
        "scaled_clock": "LoopTimers ScaledClock Speed parse_speed",
        "scheduling_loop": "BACKOFF_SECONDS SchedulingLoop UNSCHEDULABLE_SECONDS",
        "tasks": "HostTasks",
        "timer_heap": "TimerHeap",
    },
)
