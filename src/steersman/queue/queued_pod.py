# SPDX-License-Identifier: Apache-2.0
"""A pod on its way through the queue: what the queue remembers about it, and where it may go next.

`QueuedPodInfo` is made when a pod is added, moves between the sub-queues, is handed to the scheduling cycle by a pop
and comes back with the plugins that rejected it. The sub-queues (`active`, `backoff`, `unschedulable`, `in_flight`)
hold these objects; `requeue` decides which of them is next.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from steersman import api
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME

MICROSECONDS: Final = 1_000_000
"""Per second. All times in the queue are whole microseconds of the clock's monotonic time: sums of them are exact."""

NEVER: Final = -1
"""A time that has not come, earlier than every other: never flushed, never entered activeQ, no backoff."""


class Place(IntEnum):
    """Where a pod is. A pod is in at most one of the four sub-queues."""

    OUTSIDE = 0
    """New, scheduled, deleted, or replaced by a newer object."""
    ACTIVE = 1
    BACKOFF = 2
    ERROR_BACKOFF = 3
    """Backing off after an attempt that ended with an error; not popped before its time."""
    UNSCHEDULABLE = 4
    """Waiting for an event; includes the pods that a PreEnqueue plugin gates."""
    IN_FLIGHT = 5
    """Popped, and the attempt has not ended."""


# Members of an enum are slow to reach through their class; these are needed several times per pod and pop.
OUTSIDE: Final = Place.OUTSIDE
ACTIVE: Final = Place.ACTIVE
IN_FLIGHT: Final = Place.IN_FLIGHT

TRANSITIONS: Final[dict[Place, frozenset[Place]]] = {
    Place.OUTSIDE: frozenset({Place.ACTIVE, Place.BACKOFF, Place.ERROR_BACKOFF, Place.UNSCHEDULABLE}),
    Place.ACTIVE: frozenset({Place.IN_FLIGHT, Place.OUTSIDE}),
    Place.BACKOFF: frozenset({Place.ACTIVE, Place.IN_FLIGHT, Place.UNSCHEDULABLE, Place.OUTSIDE}),
    Place.ERROR_BACKOFF: frozenset({Place.ACTIVE, Place.UNSCHEDULABLE, Place.OUTSIDE}),
    Place.UNSCHEDULABLE: frozenset({Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.OUTSIDE}),
    Place.IN_FLIGHT: frozenset({Place.ACTIVE, Place.BACKOFF, Place.ERROR_BACKOFF, Place.UNSCHEDULABLE, Place.OUTSIDE}),
}
"""The moves that exist. An unschedulable pod may be put where it already is: its gate or its rejectors changed. From a backoff
a pod goes there only where PreEnqueue plugins are asked after the backoff (gate SchedulerPopFromBackoffQ off)."""

NO_PLUGINS: Final[frozenset[str]] = frozenset()


class IllegalMoveError(RuntimeError):
    """A pod was about to make a move that `TRANSITIONS` does not know: a bug in the queue or in its caller."""


class QueuedPodInfo:
    """A pod with its history in the queue. Made and moved by the queue only; everyone else reads it."""

    __slots__ = (
        "attempts",
        "backoff_until",
        "consecutive_errors",
        "flushed_at",
        "gating_plugin",
        "initial_attempt",
        "key",
        "moved_by",
        "pending_plugins",
        "place",
        "pod",
        "profile",
        "serial",
        "timestamp",
        "uid",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    def __init__(self, pod: api.Pod, timestamp: int, serial: int) -> None:
        #: The newest version that the queue has seen.
        self.pod = pod
        meta = pod.metadata
        self.key = f"{meta.namespace}/{meta.name}"
        self.uid = meta.uid
        #: Name of the profile that schedules the pod; the queue may not know such a profile.
        self.profile = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        #: When the pod was added, or came back from its last failed attempt.
        self.timestamp = timestamp
        #: Grows whenever a timestamp is given out: orders pods whose timestamps are equal.
        self.serial = serial
        #: When the pod first entered activeQ; NEVER before that.
        self.initial_attempt = NEVER
        #: How often the pod was popped.
        self.attempts = 0
        #: How many attempts ended with a rejection.
        self.unschedulable_count = 0
        #: How many attempts in a row, up to the last one, ended with an error.
        self.consecutive_errors = 0
        #: End of the backoff for the last failure, a whole second; NEVER without a failure or without backoff.
        self.backoff_until = NEVER
        #: Plugins that rejected the pod in the last attempt, and PreEnqueue plugins that have gated it since.
        self.unschedulable_plugins = NO_PLUGINS
        #: Plugins that answered Pending in the last attempt: they wait for something that they know will come.
        self.pending_plugins = NO_PLUGINS
        #: The PreEnqueue plugin that keeps the pod out of activeQ, "" if none does.
        self.gating_plugin = ""
        #: Whether the pod is on its way to an attempt only because it had been unschedulable for too long.
        self.was_flushed = False
        #: When that happened last since the last attempt; NEVER if it did not.
        self.flushed_at = NEVER
        self.place: Place = OUTSIDE
        #: Label of the event that caused the last move.
        self.moved_by = ""

    @property
    def is_gated(self) -> bool:
        return self.gating_plugin != ""

    @property
    def rejectors(self) -> frozenset[str]:
        """Every plugin that stands in the pod's way; none if the last attempt ended with an error."""
        if not self.pending_plugins:
            return self.unschedulable_plugins
        return self.unschedulable_plugins | self.pending_plugins

    def replace_pod(self, pod: api.Pod) -> None:
        """Take over a new version of the same pod."""
        self.pod = pod
        self.uid = pod.metadata.uid
        self.profile = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME

    def record_attempt(self, unschedulable_plugins: Iterable[str] = (), pending_plugins: Iterable[str] = ()) -> None:
        """Note who rejected the pod in the attempt that just failed; nobody means that it failed with an error."""
        self.unschedulable_plugins = frozenset(unschedulable_plugins)
        self.pending_plugins = frozenset(pending_plugins)
        self.gating_plugin = ""

    def move_to(self, place: Place, event: str) -> None:
        """Note the new place; the caller does the moving."""
        if place not in TRANSITIONS[self.place]:
            raise IllegalMoveError(self._story(place, event))
        self.place = place
        self.moved_by = event

    def _story(self, place: Place, event: str) -> str:
        came_by = f", where {self.moved_by} brought it" if self.moved_by else ""
        return (
            f"pod {self.key} (uid {self.uid}) cannot go from {self.place.name} to {place.name} because of {event}: "
            f"it is in {self.place.name}{came_by}, after {self.attempts} attempts, "
            f"rejected by {sorted(self.rejectors) or 'nobody'}, gated by {self.gating_plugin or 'nobody'}"
        )

    def __repr__(self) -> str:
        return f"QueuedPodInfo({self.key}, {self.place.name}, attempts={self.attempts})"
