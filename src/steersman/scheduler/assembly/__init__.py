# SPDX-License-Identifier: Apache-2.0
"""The assembled scheduler, used for real clusters, simulation, benchmarks and tests.

`Scheduler` owns queue, cache, profiles and cycle; the host (an embedded or a real cluster) feeds
`ingest`, implements `ApiWriter`, and calls `schedule_one` while there are pods to schedule.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "construction": "SchedulerOptions",
        "extender_cycle": "Selection",
        "host_actions": "HostAction RunAction run_directly",
        "observers": "AttemptObserver EvaluationObserver Instruments",
        "registry": "PluginSource SchedulerKinds default_registry kinds_of_scheduler register with_enabled",
        "saved_scheduler": "ObjectOrder SavedScheduler restore_scheduler save_scheduler",
        "scheduler": "BOUND Preview Scheduler",
    },
)
