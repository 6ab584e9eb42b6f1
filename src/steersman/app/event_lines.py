# SPDX-License-Identifier: Apache-2.0
"""Changes that the API server tells of, as lines of the log, with kube-scheduler's texts: additions and deletions of nodes and
pods from verbosity 3, updates from 4. Stands before the sink of the informers where such lines are wanted.
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
