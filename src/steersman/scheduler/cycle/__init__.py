# SPDX-License-Identifier: Apache-2.0
"""One scheduling cycle, without I/O: filter all nodes, score them, choose one and assume the pod,
or diagnose the failure."""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "decision": "Decision Dropped Failed Postponed Scheduled Unschedulable",
        "diagnosis": "Diagnosis NO_NODES_MESSAGE diagnose reason_histogram",
        "post_filter": "PostFilterOutcome",
        "schedule_one": "SchedulingCycle",
    },
)
