# SPDX-License-Identifier: Apache-2.0
"""Changes of objects and of the queue as lines of the log, with kube-scheduler's texts.

Changes that the API server tells of: additions and deletions of nodes and pods from verbosity 3, updates from 4; `EventLines`
stands before the sink of the informers where such lines are wanted. Moves of pods between the queues: after a failed attempt
from verbosity 3, all others from 5.
"""

from __future__ import annotations

from typing import Final

from steersman import api
from steersman.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE,
    NODE_ADD,
    NODE_DELETE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    UNSCHEDULED_POD_UPDATE,
    ClusterEvent,
)
from steersman.framework.watching import EventSink
from steersman.observe import Log, ObjectRef
from steersman.observe.handled_events import NODE_UPDATE, HandledEvents
from steersman.observe.logs import Silence
from steersman.queue import POP_FROM_BACKOFF_QUEUE, SCHEDULE_ATTEMPT_FAILURE, QueuedPodInfo

MOVED: Final = "Pod moved to an internal scheduling queue"
GATED: Final = "Pod moved to an internal scheduling queue, because the pod is gated"
#: As kube-scheduler's log calls them.
_QUEUES: Final = {"active": "Active", "backoff": "Backoff", "unschedulable": "Unschedulable"}

#: From this verbosity on there is something to say.
LEAST_VERBOSITY: Final = 3
_TEXTS: Final[dict[ClusterEvent, tuple[int, str]]] = {
    NODE_ADD: (3, "Add event for node"),
    NODE_UPDATE: (4, "Update event for node"),
    NODE_DELETE: (3, "Delete event for node"),
    ASSIGNED_POD_ADD: (3, "Add event for scheduled pod"),
    ASSIGNED_POD_UPDATE: (4, "Update event for scheduled pod"),
    ASSIGNED_POD_DELETE: (3, "Delete event for scheduled pod"),
    UNSCHEDULED_POD_ADD: (3, "Add event for unscheduled pod"),
    UNSCHEDULED_POD_UPDATE: (4, "Update event for unscheduled pod"),
    UNSCHEDULED_POD_DELETE: (3, "Delete event for unscheduled pod"),
}


class EventLines:
    """An `EventSink` that says what comes and passes it on."""

    def __init__(self, sink: EventSink, handled: HandledEvents, log: Log | Silence) -> None:
        self._sink = sink
        self._handled = handled
        self._texts = {event: (log.v(level), text) for event, (level, text) in _TEXTS.items()}

    def expect(self, kind: type[api.Object], count: int) -> None:
        self._sink.expect(kind, count)

    def changed(self, obj: api.Object) -> None:
        self._say(self._handled.last_version(obj), obj)
        self._sink.changed(obj)

    def deleted(self, obj: api.Object) -> None:
        self._say(self._handled.last_version(obj), None)
        self._sink.deleted(obj)

    def _say(self, old: api.Object | None, new: api.Object | None) -> None:
        obj = new if new is not None else old
        if not isinstance(obj, api.Pod | api.Node):
            return
        kind = "pod" if isinstance(obj, api.Pod) else "node"
        for event in self._handled.between(old, new):
            log, text = self._texts[event]
            log.info(text, **{kind: ObjectRef(obj.metadata.namespace, obj.metadata.name)})


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
