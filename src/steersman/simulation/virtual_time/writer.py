# SPDX-License-Identifier: Apache-2.0
"""Writers of a scheduler on the embedded cluster: bindings, conditions, nominations, events.

They implement `framework.ApiWriter`. `EmbeddedWriter` also records data of results that the cluster
does not contain: binding times, failed attempts, and aggregated events of pods.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator

import msgspec

from steersman import api
from steersman.api import EVENT_NORMAL, EVENT_WARNING, timestamps
from steersman.base import Clock, LayeredDict
from steersman.base.graph_copy import copied_attributes, shallow, shared_by_copies
from steersman.cluster.store import Conflict, NotFound, Pods, StatusError, Store, with_condition
from steersman.framework import Failure, PodInfo, Status, error
from steersman.scheduler.host import FAILED_SCHEDULING, SCHEDULED, EventReports, PodEvent, assigned_note


@shared_by_copies
class Event(msgspec.Struct, frozen=True):
    """An event of a pod that occurred `count` times between `first` and `last` (seconds since the
    start)."""

    pod: str
    type: str
    reason: str
    message: str
    count: int
    first: float
    last: float


@copied_attributes(_types=shallow)
class EventLog:
    """Events in the order in which each was first written."""

    def __init__(self) -> None:
        #: Count, first and last time by pod key, reason, and message or (when scheduled) node.
        self._seen: LayeredDict[tuple[str, str, str], tuple[int, float, float]] = LayeredDict()
        #: Types of events that differ from the type of their reason, and of events of plugins.
        self._types: dict[tuple[str, str, str], str] = {}

    def scheduled(self, pod: str, node: str, now: float) -> None:
        """Add the event of a binding, with the node in place of its message."""
        self._note((pod, SCHEDULED, node), now)

    def write(self, pod: str, type: str, reason: str, message: str, now: float) -> None:
        """Add an event, or count an equal one."""
        if type != _type_of(reason) or reason == SCHEDULED:
            self._types[pod, reason, message] = type
        self._note((pod, reason, message), now)

    def _note(self, what: tuple[str, str, str], now: float) -> None:
        count, first, _ = self._seen.get(what) or (0, now, now)
        self._seen.put(what, (count + 1, first, now))

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[Event]:
        for (pod, reason, detail), (count, first, last) in self._seen.items():
            type = self._types.get((pod, reason, detail))
            is_assignment = type is None and reason == SCHEDULED
            message = assigned_note(pod, detail) if is_assignment else detail
            yield Event(pod, type or _type_of(reason), reason, message, count, first, last)


def _type_of(reason: str) -> str:
    return EVENT_WARNING if reason == FAILED_SCHEDULING else EVENT_NORMAL


# -- writers -----------------------------------------------------------------------------------------------------------

_replace = msgspec.structs.replace


@shared_by_copies
class FailedAttempts(msgspec.Struct, frozen=True):
    """Failed attempts at one pod."""

    count: int
    #: Seconds since the start of the simulation.
    first: float
    reason: str
    message: str


@shared_by_copies
class Preemption(msgspec.Struct, frozen=True):
    """Pod that was preempted by another one."""

    pod: str
    node: str
    preemptor: str
    #: Seconds since the start of the simulation.
    at: float


class StoreWriter(EventReports):
    """Writes to a store synchronously, so that the effects of a decision are visible to the next
    one."""

    binds_at_once = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pods = Pods(store)
        #: Number of cluster versions that are status patches of failed attempts.
        self.status_patches = 0

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        meta = pod.pod.metadata
        try:
            self._pods.bind(meta.namespace, meta.name, meta.uid, node_name)
        except StatusError as refusal:
            return error(refusal.message)
        return None

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return self.bind_nowait(pod, node_name)

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        return self._patch(pod, condition, nominated_node_name)

    async def delete_pod(self, pod: api.Pod) -> bool:
        try:
            self._pods.delete(api.key(pod), grace_period_seconds=None, uid=pod.metadata.uid)
        except (NotFound, Conflict):
            return False
        return True

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return self._store.update(volume)

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return self._store.update(claim)

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        return self._store.replace(change(self._store.get(api.ResourceClaim, api.key(claim))))

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return self._store.create(claim)

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        self._store.delete(api.ResourceClaim, api.key(claim))

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        stored = self._store.get(api.Pod, api.key(pod))
        new_status = msgspec.structs.replace(stored.status, extended_resource_claim_status=status)
        self._store.update_status(msgspec.structs.replace(stored, status=new_status))

    def report_failure(self, failure: Failure) -> None:
        self.report_failed_attempt(failure)
        nomination = failure.nomination
        self._patch(failure.pod, failure.condition, None if nomination is None else nomination.node)

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        version = self._store.version
        try:
            stored = self._store.get(api.PodGroup, api.key(group))
        except NotFound:
            return
        if stored.metadata.uid == group.metadata.uid:
            conditions = with_condition(stored.status.conditions, condition, self._store.timestamp())
            self._store.update_status(_replace(stored, status=_replace(stored.status, conditions=conditions)))
            self.status_patches += self._store.version - version

    def _patch(self, pod: api.Pod, condition: api.Condition | None, nominated_node_name: str | None) -> bool:
        """Patch the status; return False if the pod was deleted or replaced by another one of its
        name."""
        version = self._store.version
        try:
            self._pods.patch_status(
                api.key(pod), condition=condition, nominated_node_name=nominated_node_name, uid=pod.metadata.uid
            )
        except (NotFound, Conflict):
            return False
        self.status_patches += self._store.version - version
        return True


@copied_attributes(waits=shallow, failures=shallow, preemptions=shallow)
class EmbeddedWriter(StoreWriter):
    """Writer of a simulation, with the event log and data of results."""

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store)
        self._clock = clock
        self._start = clock.monotonic()
        self.events = EventLog()
        #: Binding times by uid, in seconds since the start.
        self.placed_at: LayeredDict[str, float] = LayeredDict()
        #: Waiting times of bound pods in binding order, since their creation or the start.
        self.waits = array("d")
        self._created_text, self._created = "", 0.0
        self.failures: dict[str, FailedAttempts] = {}
        #: Preempted pods by key, including deleted ones, in the order of preemption.
        self.preemptions: dict[str, Preemption] = {}

    def now(self) -> float:
        """Return the seconds since the start of the simulation."""
        return round(self._clock.monotonic() - self._start, 6)

    def write_event(self, event: PodEvent) -> None:
        self.events.write(api.key(event.pod), event.type, event.reason, event.note, self.now())

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        now = self.now()
        self.placed_at.put(pod.uid, now)
        created = pod.pod.metadata.creation_timestamp
        if created != self._created_text:
            self._created_text = created or ""
            self._created = timestamps.parse(created) - self._start if created else 0.0
        self.waits.append(max(0.0, now - max(0.0, self._created)))
        self.events.scheduled(pod.key, node_name, now)

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        key = api.key(victim)
        self.preemptions[key] = Preemption(key, victim.spec.node_name, api.key(preemptor), self.now())
        super().report_preempted(victim, preemptor, message, group)

    def report_failure(self, failure: Failure) -> None:
        uid = failure.pod.metadata.uid
        before = self.failures.get(uid)
        count, first = (0, self.now()) if before is None else (before.count, before.first)
        self.failures[uid] = FailedAttempts(count + 1, first, failure.reason, failure.message)
        super().report_failure(failure)


class EventWriter(StoreWriter):
    """Writer that reports by event objects."""

    def __init__(self, store: Store, write: Callable[[PodEvent], None]) -> None:
        super().__init__(store)
        self._write = write

    def write_event(self, event: PodEvent) -> None:
        self._write(event)
