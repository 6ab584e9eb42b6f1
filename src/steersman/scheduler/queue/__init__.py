# SPDX-License-Identifier: Apache-2.0
"""The scheduling queue: activeQ, backoffQ, unschedulable pods, pods in flight, pod groups, hints
and nominations.

`ingest` reports pods and cluster events to it; `cycle` pops pods and puts failed ones back.
`SchedulingQueue` is the interface; the other names are its parameters and results.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "heap": "SortKey sort_key_of",
        "hints": "RecordedEvent",
        "nominator": "Nominator PodLookup PodRef",
        "pod_group_queue": "SCHEDULE_ATTEMPT_FAILURE",
        "queue_views": "QueueInvariantError",
        "queued_pod": "IllegalMoveError MICROSECONDS NEVER Place QueuedPodInfo",
        "queued_pod_group": "Queued QueuedMember QueuedPodGroup",
        "scheduling_queue": "POP_FROM_BACKOFF_QUEUE SchedulingQueue",
        "settings": (
            "CountingQueueMetrics GateCheck PodGroupSettings PreEnqueue QueueMetrics "
            "QueueProfile QueueSettings hint_rows"
        ),
        "sub_queues": "PendingPods PodAlreadyQueuedError QueueContents QueueStatistics",
    },
)
