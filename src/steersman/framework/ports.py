# SPDX-License-Identifier: Apache-2.0
"""Interfaces that a host provides to a scheduler: API writes, events, and background tasks.

A host implements `ApiWriter` (the HTTP client's dispatcher, the embedded cluster) and `Spawn`; time
and randomness are `Clock` and `Rng`. Plugins get the parts that they need through their handle
(`framework.handle`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, runtime_checkable

import msgspec

from steersman import api
from steersman.base import SteersmanError
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status

REASON_UNSCHEDULABLE = "Unschedulable"
REASON_ERROR = "SchedulerError"

#: Runs a coroutine in the background.
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Nomination(msgspec.Struct, frozen=True):
    """A change of the pod's nomination: a node name, or "" for none."""

    node: str


#: Removes the pod's nomination.
CLEARED = Nomination("")


class Failure(msgspec.Struct, frozen=True):
    """A failed attempt as users see it: the condition PodScheduled=False and a FailedScheduling
    event."""

    pod: api.Pod
    reason: str
    message: str
    #: Change of `status.nominatedNodeName`, or None to keep it.
    nomination: Nomination | None

    @property
    def condition(self) -> api.Condition:
        """The condition with the reason why the pod is not scheduled."""
        return api.Condition(type=api.POD_SCHEDULED, status="False", reason=self.reason, message=self.message)


class Binder(Protocol):
    """Binds pods to nodes through the API server."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Return when the API server has responded; a rejection is a Status with code ERROR."""


@runtime_checkable
class BindingBeginner(Protocol):
    """A binder that can send a binding without a task that waits for the response."""

    def begin_bind(self, pod: PodInfo, node_name: str, on_end: Callable[[SteersmanError | None], None]) -> bool:
        """Send the binding and return True; return False if nothing was sent and `bind` must be
        used.

        `on_end` is called with None if the pod is bound, else with the error. An exception raised
        by `on_end` only reaches the event loop's exception handler.
        """

    async def resume_bind(self, pod: PodInfo, node_name: str, failed: SteersmanError) -> Status | None:
        """Continue after a `begin_bind` that `failed`, as `bind` does after its first request
        failed."""


class PodWriter(Protocol):
    """Writes to pods. The coroutines return when the API server has responded: False if the pod no
    longer exists. A rejection raises."""

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        """Set one condition, the nominated node, or both."""

    async def delete_pod(self, pod: api.Pod) -> bool:
        """Delete the pod gracefully, with its own grace period."""

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        """Record an event on the victim: type Normal, reason Preempted, action Preempting. It is
        related to the group, if one preempts."""

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        """Record an event on the pod, of type Normal or Warning: `reason` is a word such as
        `QuotaExceeded`, `note` a sentence. Equal events are aggregated; if the queue is full,
        events are dropped."""


class VolumeWriter(Protocol):
    """Writes claims and volumes. Each call returns the object as stored by the API server; a
    rejection raises."""

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume: ...

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim: ...


class ResourceClaimWriter(Protocol):
    """Writes ResourceClaims. Each call returns when the API server has responded; a rejection
    raises."""

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        """Write the finalizers and the status returned by `change`, which is called again with a
        newer version of the claim on a conflict, and return the stored claim. An exception raised
        by `change` ends the call."""

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        """Create the claim with a name generated from `metadata.generateName`."""

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None: ...

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        """Set the claim that holds the devices behind extended resources in the pod's status."""


class ApiWriter(Binder, PodWriter, VolumeWriter, ResourceClaimWriter, Protocol):
    """All writes of a scheduler. Only the coroutines wait: a writer that sends requests to a server
    queues the other calls."""

    @property
    def binds_at_once(self) -> bool: ...

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        """Bind synchronously; return None on success. Only for writers with `binds_at_once`."""

    def report_failure(self, failure: Failure) -> None: ...

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None: ...

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        """Set a condition in the status of the group; the writer sets the time of its
        transition."""
