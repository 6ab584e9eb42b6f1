# SPDX-License-Identifier: Apache-2.0
"""The scheduling queue: activeQ, backoffQ, unschedulable pods, pods in flight, pod groups, hints and
nominations.

`ingest` reports pods and cluster events to it; `cycle` pops pods and puts failed ones back.
`SchedulingQueue` is the interface; the other names are its parameters and results.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.scheduler.queue.heap import SortKey as SortKey, sort_key_of as sort_key_of
    from steersman.scheduler.queue.hints import RecordedEvent as RecordedEvent
    from steersman.scheduler.queue.nominator import Nominator as Nominator, PodLookup as PodLookup, PodRef as PodRef
    from steersman.scheduler.queue.pod_group_queue import SCHEDULE_ATTEMPT_FAILURE as SCHEDULE_ATTEMPT_FAILURE
    from steersman.scheduler.queue.queue_views import QueueInvariantError as QueueInvariantError
    from steersman.scheduler.queue.queued_pod import (
        MICROSECONDS as MICROSECONDS,
        NEVER as NEVER,
        IllegalMoveError as IllegalMoveError,
        Place as Place,
        QueuedPodInfo as QueuedPodInfo,
    )
    from steersman.scheduler.queue.queued_pod_group import (
        Queued as Queued,
        QueuedMember as QueuedMember,
        QueuedPodGroup as QueuedPodGroup,
    )
    from steersman.scheduler.queue.scheduling_queue import (
        POP_FROM_BACKOFF_QUEUE as POP_FROM_BACKOFF_QUEUE,
        SchedulingQueue as SchedulingQueue,
    )
    from steersman.scheduler.queue.settings import (
        CountingQueueMetrics as CountingQueueMetrics,
        GateCheck as GateCheck,
        PodGroupSettings as PodGroupSettings,
        PreEnqueue as PreEnqueue,
        QueueMetrics as QueueMetrics,
        QueueProfile as QueueProfile,
        QueueSettings as QueueSettings,
        hint_rows as hint_rows,
    )
    from steersman.scheduler.queue.sub_queues import (
        PendingPods as PendingPods,
        PodAlreadyQueuedError as PodAlreadyQueuedError,
        QueueContents as QueueContents,
        QueueStatistics as QueueStatistics,
    )
else:
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
                "CountingQueueMetrics GateCheck PodGroupSettings PreEnqueue QueueMetrics QueueProfile "
                "QueueSettings hint_rows"
            ),
            "sub_queues": "PendingPods PodAlreadyQueuedError QueueContents QueueStatistics",
        },
    )
