# SPDX-License-Identifier: Apache-2.0
"""The writer of a scheduler on the embedded cluster: bindings, conditions, nominations, events.

Implements `assembly.ApiWriter`. Also keeps what a report needs and the cluster does not hold: when each pod got its node,
and how often and since when it was tried in vain.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final

import msgspec

from steersman import api
from steersman.api import timestamps
from steersman.assembly import Failure
from steersman.clock import Clock
from steersman.embedded import Conflict, NotFound, Pods, StatusError, Store
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status, error
from steersman.graph_copy import copied_attributes, shallow, shared_by_copies
from steersman.layered_dict import LayeredDict
from steersman.sim.events import EventLog

POD_SCHEDULED: Final = "PodScheduled"


@shared_by_copies
class FailedAttempts(msgspec.Struct, frozen=True):
    """The attempts in vain at one pod."""

    count: int
    #: Seconds since the start of the simulation.
    first: float
    reason: str
    message: str


@shared_by_copies
class Preemption(msgspec.Struct, frozen=True):
    """A pod that had to go so that another one fits."""

    pod: str
    node: str
    preemptor: str
    #: Seconds since the start of the simulation.
    at: float


@copied_attributes(waits=shallow, failures=shallow, preemptions=shallow)
class EmbeddedWriter:
    """Writes at once, so that a decision's effects are visible to the next one."""

    binds_at_once = True

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._pods = Pods(store)
        self._clock = clock
        self._start = clock.monotonic()
        self.events = EventLog()
        #: By uid: when the pod was bound, in seconds since the start.
        self.placed_at: LayeredDict[str, float] = LayeredDict()
        #: How long each pod waited that was bound, in the order of time: since it was created, but not since before the start.
        self.waits = array("d")
        self._created_text, self._created = "", 0.0
        self.failures: dict[str, FailedAttempts] = {}
        #: How many cluster versions are status patches of failed attempts.
        self.status_patches = 0
        #: By key, in the order of time; pods that were preempted, whether they are still there or gone.
        self.preemptions: dict[str, Preemption] = {}

    def now(self) -> float:
        """Seconds since the start of the simulation."""
        return round(self._clock.monotonic() - self._start, 6)

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        meta = pod.pod.metadata
        try:
            self._pods.bind(meta.namespace, meta.name, meta.uid, node_name)
        except StatusError as refusal:
            return error(refusal.message)
        return None

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return self.bind_nowait(pod, node_name)

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        now = self.now()
        self.placed_at.put(pod.uid, now)
        created = pod.pod.metadata.creation_timestamp
        if created != self._created_text:
            self._created_text = created or ""
            self._created = timestamps.parse(created) - self._start if created else 0.0
        self.waits.append(max(0.0, now - max(0.0, self._created)))
        self.events.scheduled(pod.key, node_name, now)

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
        told = msgspec.structs.replace(stored.status, extended_resource_claim_status=status)
        self._store.update_status(msgspec.structs.replace(stored, status=told))

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        key, now = api.key(victim), self.now()
        self.preemptions[key] = Preemption(key, victim.spec.node_name, api.key(preemptor), now)
        self.events.preempted(key, message, now)

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        self.events.reported(api.key(pod), reason, note, is_warning, self.now())

    def report_failure(self, failure: Failure) -> None:
        key, now = api.key(failure.pod), self.now()
        uid = failure.pod.metadata.uid
        before = self.failures.get(uid)
        count, first = (0, now) if before is None else (before.count, before.first)
        self.failures[uid] = FailedAttempts(count + 1, first, failure.reason, failure.message)
        self.events.failed(key, failure.message, now)
        nomination = failure.nomination
        self._patch(failure.pod, _condition(failure), None if nomination is None else nomination.node)

    def _patch(self, pod: api.Pod, condition: api.Condition | None, nominated_node_name: str | None) -> bool:
        """False when the pod is gone, or another one has its name."""
        version = self._store.version
        try:
            self._pods.patch_status(
                api.key(pod), condition=condition, nominated_node_name=nominated_node_name, uid=pod.metadata.uid
            )
        except (NotFound, Conflict):
            return False
        self.status_patches += self._store.version - version
        return True


def _condition(failure: Failure) -> api.Condition:
    return api.Condition(type=POD_SCHEDULED, status="False", reason=failure.reason, message=failure.message)
