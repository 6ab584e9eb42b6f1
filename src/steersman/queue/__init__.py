# SPDX-License-Identifier: Apache-2.0
"""The scheduling queue: activeQ, backoffQ, unschedulable pods, pods in flight, hints and nominations.

Between `ingest`, which tells it of pods and cluster events, and `cycle`, which pops pods and puts failed ones back.
`SchedulingQueue` is the way in; the other names are what it takes and what it hands out.
"""

from steersman.queue.heap import SortKey, sort_key_of
from steersman.queue.hints import RecordedEvent
from steersman.queue.nominator import Nominator, PodLookup, PodRef
from steersman.queue.queued_pod import MICROSECONDS, NEVER, IllegalMoveError, Place, QueuedPodInfo
from steersman.queue.scheduling_queue import (
    POP_FROM_BACKOFF_QUEUE,
    SCHEDULE_ATTEMPT_FAILURE,
    QueueInvariantError,
    SchedulingQueue,
)
from steersman.queue.settings import (
    CountingQueueMetrics,
    PreEnqueue,
    QueueMetrics,
    QueueProfile,
    QueueSettings,
    hint_rows,
)
from steersman.queue.sub_queues import PendingPods, PodAlreadyQueuedError, QueueContents, QueueStatistics

__all__ = [
    "MICROSECONDS",
    "NEVER",
    "POP_FROM_BACKOFF_QUEUE",
    "SCHEDULE_ATTEMPT_FAILURE",
    "CountingQueueMetrics",
    "IllegalMoveError",
    "Nominator",
    "PendingPods",
    "Place",
    "PodAlreadyQueuedError",
    "PodLookup",
    "PodRef",
    "PreEnqueue",
    "QueueContents",
    "QueueInvariantError",
    "QueueMetrics",
    "QueueProfile",
    "QueueSettings",
    "QueueStatistics",
    "QueuedPodInfo",
    "RecordedEvent",
    "SchedulingQueue",
    "SortKey",
    "hint_rows",
    "sort_key_of",
]
