# SPDX-License-Identifier: Apache-2.0
"""The assembled scheduler, used for real clusters, simulation, benchmarks and tests.

`Scheduler` owns queue, cache, profiles and cycle; the host (an embedded or a real cluster) feeds
`ingest`, implements `ApiWriter`, and calls `schedule_one` while there are pods to schedule.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.assembly.construction import SchedulerOptions as SchedulerOptions
    from steersman.scheduler.assembly.extender_cycle import Selection as Selection
    from steersman.scheduler.assembly.host_actions import (
        HostAction as HostAction,
        RunAction as RunAction,
        run_directly as run_directly,
    )
    from steersman.scheduler.assembly.observers import (
        AttemptObserver as AttemptObserver,
        EvaluationObserver as EvaluationObserver,
        Instruments as Instruments,
    )
    from steersman.scheduler.assembly.registry import (
        PluginSource as PluginSource,
        SchedulerKinds as SchedulerKinds,
        default_registry as default_registry,
        kinds_of_scheduler as kinds_of_scheduler,
        register as register,
        with_enabled as with_enabled,
    )
    from steersman.scheduler.assembly.saved_scheduler import (
        ObjectOrder as ObjectOrder,
        SavedScheduler as SavedScheduler,
        restore_scheduler as restore_scheduler,
        save_scheduler as save_scheduler,
    )
    from steersman.scheduler.assembly.scheduler import BOUND as BOUND, Preview as Preview, Scheduler as Scheduler
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "construction": "SchedulerOptions",
            "extender_cycle": "Selection",
            "observers": "AttemptObserver EvaluationObserver Instruments",
            "registry": ("PluginSource SchedulerKinds default_registry kinds_of_scheduler register with_enabled"),
            "saved_scheduler": "ObjectOrder SavedScheduler restore_scheduler save_scheduler",
            "scheduler": "BOUND Preview Scheduler",
            "host_actions": "HostAction RunAction run_directly",
        },
    )
