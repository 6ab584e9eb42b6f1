# SPDX-License-Identifier: Apache-2.0
"""The scheduler put together: one assembly for real clusters, simulation, benchmarks and tests.

`Scheduler` owns queue, cache, profiles and cycle; the host (an embedded or a real cluster) feeds `ingest`, implements
`ApiWriter`, and calls `schedule_one` while there is something to do.
"""

from steersman.assembly.construction import SchedulerOptions
from steersman.assembly.observers import AttemptObserver, EvaluationObserver, Instruments
from steersman.assembly.registry import default_registry
from steersman.assembly.scheduler import Scheduler
from steersman.framework.ports import ApiWriter, Failure

__all__ = [
    "ApiWriter",
    "AttemptObserver",
    "EvaluationObserver",
    "Failure",
    "Instruments",
    "Scheduler",
    "SchedulerOptions",
    "default_registry",
]
