# SPDX-License-Identifier: Apache-2.0
"""Moves of pods between the queues, as lines of the log with kube-scheduler's texts: after a failed attempt from verbosity 3,
all others from 5."""

from __future__ import annotations

from typing import Final

from steersman.observe import Log, ObjectRef
from steersman.observe.logs import Silence
from steersman.queue import POP_FROM_BACKOFF_QUEUE, SCHEDULE_ATTEMPT_FAILURE, QueuedPodInfo

MOVED: Final = "Pod moved to an internal scheduling queue"
GATED: Final = "Pod moved to an internal scheduling queue, because the pod is gated"
#: As kube-scheduler's log calls them.
_QUEUES: Final = {"active": "Active", "backoff": "Backoff", "unschedulable": "Unschedulable"}


class QueueLines:
    """Is told of pods that enter a queue (`CountingQueueMetrics.on_entered`)."""

    def __init__(self, log: Log | Silence) -> None:
        self._failures = log.v(3)
        self._moves = log.v(5)

    def entered(self, queued: QueuedPodInfo, queue: str, event: str) -> None:
        """One that is popped from the backoff queue passes the active one by."""
        if event == POP_FROM_BACKOFF_QUEUE:
            return
        meta = queued.pod.metadata
        pod, name = ObjectRef(meta.namespace, meta.name), _QUEUES[queue]
        if event == SCHEDULE_ATTEMPT_FAILURE:
            plugins = ",".join(sorted(queued.rejectors))
            self._failures.info(MOVED, pod=pod, event=event, queue=name, unschedulablePlugins=plugins)
        else:
            self._moves.info(GATED if queued.is_gated else MOVED, pod=pod, event=event, queue=name)
