# SPDX-License-Identifier: Apache-2.0
"""One scheduling cycle, without I/O: filter all nodes, score them, choose one and assume the pod,
or diagnose the failure.

`schedule_one` is the cycle of a pod, `schedule_group` that of a group (with `place_members` for its
leaves); `decision` and `group_decision` are their results."""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "decision": "Decision Dropped Failed Postponed Scheduled Unschedulable",
        "group_decision": (
            "GroupAttempt GroupCycle GroupOutcome GroupPreemption PlacementChoice PlacementPluginScores"
        ),
        "diagnosis": "Diagnosis NO_NODES_MESSAGE diagnose reason_histogram",
        "post_filter": "PostFilterOutcome",
        "schedule_one": "SchedulingCycle",
    },
)
