# SPDX-License-Identifier: Apache-2.0
"""A pod in the queue with its history, and the transitions between sub-queues.

A `QueuedPodInfo` is created when a pod is added, moves between the sub-queues, is passed to the
scheduling cycle by a pop, and comes back with the plugins that rejected it. The sub-queues
(`active`, `backoff`, `unschedulable`, `in_flight`) contain these objects; `requeue` decides which
comes next. Pods of a group move together, as one `QueuedPodGroup`; `QueuedEntity` is what both have
in common.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import ClassVar, Final

from steersman import api
from steersman.api import DEFAULT_SCHEDULER_NAME

MICROSECONDS: Final = 1_000_000
"""Per second. All times in the queue are whole microseconds of monotonic time, so that sums are
exact."""

NEVER: Final = -1
"""Earlier than any time: never flushed, never entered activeQ, no backoff."""


class Place(IntEnum):
    """Location of a pod. A pod is in at most one of the four sub-queues."""

    OUTSIDE = 0
    """New, scheduled, deleted, or replaced by a newer object."""
    ACTIVE = 1
    BACKOFF = 2
    ERROR_BACKOFF = 3
    """Backing off after an attempt that ended with an error; not popped early."""
    UNSCHEDULABLE = 4
    """Waiting for an event; includes gated pods."""
    IN_FLIGHT = 5
    """Popped; the attempt has not ended."""
    IN_GROUP = 6
    """Member of a queued group."""
    PENDING_GROUP = 7
    """Member of a group that is being scheduled; joins it when the group is requeued."""
    INCOMPLETE_GROUP = 8
    """Member of a group that does not exist, or has an ancestor that does not exist."""


# Module constants, because access to enum members through their class is slow and these are used
# several times per pod.
OUTSIDE: Final = Place.OUTSIDE
ACTIVE: Final = Place.ACTIVE
IN_FLIGHT: Final = Place.IN_FLIGHT

_GROUP_PLACES: Final = frozenset({Place.IN_GROUP, Place.PENDING_GROUP, Place.INCOMPLETE_GROUP})

TRANSITIONS: Final[dict[Place, frozenset[Place]]] = {
    Place.OUTSIDE: frozenset({Place.ACTIVE, Place.BACKOFF, Place.ERROR_BACKOFF, Place.UNSCHEDULABLE, *_GROUP_PLACES}),
    Place.ACTIVE: frozenset({Place.IN_FLIGHT, Place.OUTSIDE}),
    Place.BACKOFF: frozenset({Place.ACTIVE, Place.IN_FLIGHT, Place.UNSCHEDULABLE, Place.OUTSIDE}),
    Place.ERROR_BACKOFF: frozenset({Place.ACTIVE, Place.UNSCHEDULABLE, Place.OUTSIDE}),
    Place.UNSCHEDULABLE: frozenset(
        {Place.ACTIVE, Place.BACKOFF, Place.ERROR_BACKOFF, Place.UNSCHEDULABLE, Place.OUTSIDE}
    ),
    Place.IN_FLIGHT: frozenset({Place.ACTIVE, Place.BACKOFF, Place.ERROR_BACKOFF, Place.UNSCHEDULABLE, Place.OUTSIDE}),
    Place.IN_GROUP: frozenset({Place.IN_FLIGHT, Place.INCOMPLETE_GROUP, Place.OUTSIDE}),
    Place.PENDING_GROUP: frozenset({Place.IN_GROUP, Place.INCOMPLETE_GROUP, Place.OUTSIDE}),
    Place.INCOMPLETE_GROUP: frozenset({Place.IN_GROUP, Place.PENDING_GROUP, Place.OUTSIDE}),
}
"""Legal transitions. UNSCHEDULABLE → UNSCHEDULABLE records a change of the gate or the rejectors.
BACKOFF → UNSCHEDULABLE occurs only if PreEnqueue plugins run after the backoff (gate
SchedulerPopFromBackoffQ off), and UNSCHEDULABLE → ERROR_BACKOFF only for groups, whose rejectors
are those of their members."""

NO_PLUGINS: Final[frozenset[str]] = frozenset()


class IllegalMoveError(RuntimeError):
    """A transition that `TRANSITIONS` does not contain: a bug in the queue or in its caller."""


class QueuedEntity:
    """A pod or a group of pods with its history in the queue. Created and modified by the queue
    only."""

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
        "woken_by",
    )

    #: What it is, in messages.
    noun: ClassVar[str] = "pod"

    def __init__(self, pod: api.Pod, timestamp: int, serial: int) -> None:
        #: Latest version of the pod. For a group, a stand-in for QueueSort plugins.
        self.pod = pod
        meta = pod.metadata
        self.key = f"{meta.namespace}/{meta.name}"
        self.uid = meta.uid
        #: Name of the profile that schedules the pod; the queue may not know this profile.
        self.profile = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        #: Time when the pod was added, or returned from its last failed attempt.
        self.timestamp = timestamp
        #: Increases with every timestamp: orders pods with equal timestamps.
        self.serial = serial
        #: Time when the pod first entered activeQ, or NEVER.
        self.initial_attempt = NEVER
        #: Number of pops.
        self.attempts = 0
        #: Number of attempts that ended with a rejection.
        self.unschedulable_count = 0
        #: Number of consecutive attempts, up to the last one, that ended with an error.
        self.consecutive_errors = 0
        #: End of the backoff after the last failure, or NEVER.
        self.backoff_until = NEVER
        #: Plugins that rejected the pod in the last attempt, and PreEnqueue plugins that have gated
        #: it since.
        self.unschedulable_plugins = NO_PLUGINS
        #: Plugins that returned Pending in the last attempt: they wait for an event that is certain
        #: to come.
        self.pending_plugins = NO_PLUGINS
        #: PreEnqueue plugin that gates the pod, or "".
        self.gating_plugin = ""
        #: Whether the pod is being retried only because it was unschedulable for too long.
        self.was_flushed = False
        #: Time of the last such flush since the last attempt, or NEVER.
        self.flushed_at = NEVER
        self.place: Place = OUTSIDE
        #: Label of the event that caused the last move.
        self.moved_by = ""
        #: Label of the last event that was a reason to retry the pod, and the plugin whose
        #: registration matched it, or "" for an event that concerns every pod.
        self.woken_by = ("", "")

    @property
    def is_gated(self) -> bool:
        return self.gating_plugin != ""

    @property
    def rejectors(self) -> frozenset[str]:
        """Plugins that reject or gate the pod; empty if the last attempt ended with an error."""
        if not self.pending_plugins:
            return self.unschedulable_plugins
        return self.unschedulable_plugins | self.pending_plugins

    @property
    def size(self) -> int:
        """Number of pods."""
        return 1

    @property
    def has_unrejected_pods(self) -> bool:
        """Whether no plugin rejects one of the members, so that any event may help the group."""
        return False

    def mark_flushed(self, was_flushed: bool) -> None:
        self.was_flushed = was_flushed

    def move_to(self, place: Place, event: str) -> None:
        """Record the new place; the caller moves the pod."""
        if place not in TRANSITIONS[self.place]:
            raise IllegalMoveError(self._history(place, event))
        self.place = place
        self.moved_by = event

    def _history(self, place: Place, event: str) -> str:
        came_by = f", moved there by {self.moved_by}" if self.moved_by else ""
        return (
            f"{self.noun} {self.key} (uid {self.uid}) cannot go from {self.place.name} to {place.name} because of {event}: "
            f"it is in {self.place.name}{came_by}, after {self.attempts} attempts, "
            f"rejected by {sorted(self.rejectors) or 'no plugin'}, gated by {self.gating_plugin or 'no plugin'}"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key}, {self.place.name}, attempts={self.attempts})"


class QueuedPodInfo(QueuedEntity):
    """A pod."""

    __slots__ = ()

    @property
    def sub_queue(self) -> Place:
        """Place of the pod or, for a member of a queued group, that of the group."""
        return self.place

    def replace_pod(self, pod: api.Pod) -> None:
        """Replace the pod by a new version of itself."""
        self.pod = pod
        self.uid = pod.metadata.uid
        self.profile = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME

    def record_attempt(self, unschedulable_plugins: Iterable[str] = (), pending_plugins: Iterable[str] = ()) -> None:
        """Record the plugins that rejected the pod in the failed attempt; none if it ended with an
        error."""
        self.unschedulable_plugins = frozenset(unschedulable_plugins)
        self.pending_plugins = frozenset(pending_plugins)
        self.gating_plugin = ""
