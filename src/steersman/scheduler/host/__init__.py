# SPDX-License-Identifier: Apache-2.0
"""Parts that every host of a scheduler needs: a loop that drives it in real time, timers, and
memory tuning.

`steersman run` and `steersman bench` drive a scheduler by `SchedulingLoop`. Simulations and the
test harness, whose time is virtual, use `simulation.driver`, which flushes the queue at the same
intervals. `ScaledClock` and `LoopTimers` are the time of a sandbox.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.host.event_reports import (
        FAILED_SCHEDULING as FAILED_SCHEDULING,
        PREEMPTED as PREEMPTED,
        SCHEDULED as SCHEDULED,
        EventReports as EventReports,
        assigned_note as assigned_note,
    )
    from steersman.scheduler.host.memory import (
        freeze_heap as freeze_heap,
        frozen_heap as frozen_heap,
        keep_freed_memory as keep_freed_memory,
        trim_free_memory as trim_free_memory,
        unfreeze_heap as unfreeze_heap,
    )
    from steersman.scheduler.host.scaled_clock import (
        LoopTimers as LoopTimers,
        ScaledClock as ScaledClock,
        Speed as Speed,
        parse_speed as parse_speed,
    )
    from steersman.scheduler.host.scheduling_loop import (
        BACKOFF_SECONDS as BACKOFF_SECONDS,
        UNSCHEDULABLE_SECONDS as UNSCHEDULABLE_SECONDS,
        SchedulingLoop as SchedulingLoop,
    )
    from steersman.scheduler.host.tasks import HostTasks as HostTasks
    from steersman.scheduler.host.timer_heap import TimerHeap as TimerHeap
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "event_reports": "EventReports FAILED_SCHEDULING PREEMPTED SCHEDULED assigned_note",
            "memory": ("freeze_heap frozen_heap trim_free_memory keep_freed_memory unfreeze_heap"),
            "scaled_clock": "LoopTimers ScaledClock Speed parse_speed",
            "scheduling_loop": "BACKOFF_SECONDS SchedulingLoop UNSCHEDULABLE_SECONDS",
            "tasks": "HostTasks",
            "timer_heap": "TimerHeap",
        },
    )
