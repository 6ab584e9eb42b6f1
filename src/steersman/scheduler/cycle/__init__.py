# SPDX-License-Identifier: Apache-2.0
"""One scheduling cycle, without I/O: filter all nodes, score them, choose one and assume the pod,
or diagnose the failure."""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.cycle.decision import (
        Decision as Decision,
        Dropped as Dropped,
        Failed as Failed,
        Postponed as Postponed,
        Scheduled as Scheduled,
        Unschedulable as Unschedulable,
    )
    from steersman.scheduler.cycle.diagnosis import (
        NO_NODES_MESSAGE as NO_NODES_MESSAGE,
        Diagnosis as Diagnosis,
        diagnose as diagnose,
        reason_histogram as reason_histogram,
    )
    from steersman.scheduler.cycle.post_filter import PostFilterOutcome as PostFilterOutcome
    from steersman.scheduler.cycle.schedule_one import SchedulingCycle as SchedulingCycle
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "decision": "Decision Dropped Failed Postponed Scheduled Unschedulable",
            "diagnosis": "Diagnosis NO_NODES_MESSAGE diagnose reason_histogram",
            "post_filter": "PostFilterOutcome",
            "schedule_one": "SchedulingCycle",
        },
    )
