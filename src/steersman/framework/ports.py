# SPDX-License-Identifier: Apache-2.0
"""Ports of a scheduler, which its host provides: writing to the API server, events, and tasks beside the cycle.

A host implements `ApiWriter` (the HTTP client's dispatcher, the embedded cluster) and `Spawn`; time and chance are `Clock` and
`Rng`. Plugins get the parts that they need through their handle (`framework.handle`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, runtime_checkable

import msgspec

from steersman import api
from steersman.errors import SteersmanError
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status

REASON_UNSCHEDULABLE = "Unschedulable"
REASON_ERROR = "SchedulerError"

#: Runs work off the cycle, which does not wait for it.
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Nomination(msgspec.Struct, frozen=True):
    """The change of a pod's nomination: a node name, or "" for none."""

    node: str


#: The pod is no longer nominated to any node.
CLEARED = Nomination("")


class Failure(msgspec.Struct, frozen=True):
    """A failed attempt as users see it: the condition PodScheduled=False and a FailedScheduling event."""

    pod: api.Pod
    reason: str
    message: str
    #: None: `status.nominatedNodeName` stays as it is.
    nomination: Nomination | None


class Binder(Protocol):
    """Tells the API server on which node a pod is to run."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Returns when the API server has answered; a refusal is a Status with code ERROR."""


@runtime_checkable
class BindingBeginner(Protocol):
    """A binder that can send a binding without a task that waits for the answer."""

    def begin_bind(self, pod: PodInfo, node_name: str, on_end: Callable[[SteersmanError | None], None]) -> bool:
        """Sends the binding; `on_end` is told how that ended, None: the pod is bound. False: nothing was sent, `bind` does it.
        Should `on_end` raise, nobody hears of it but the event loop's handler of exceptions."""

    async def resume_bind(self, pod: PodInfo, node_name: str, failed: SteersmanError) -> Status | None:
        """Goes on after a beginning that `failed`, as `bind` goes on when its first request has failed so."""


class PodWriter(Protocol):
    """Writes to pods. The coroutines return when the API server has answered: False when there is no such pod any more. A
    refusal raises."""

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        """Sets one condition, the nominated node, or both."""

    async def delete_pod(self, pod: api.Pod) -> bool:
        """Deletes the pod gracefully, with its own period."""

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        """An event on the victim: type Normal, reason Preempted, action Preempting."""

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        """An event on the pod, of type Normal or Warning, by its scheduler: `reason` is a word such as `QuotaExceeded`, `note`
        a sentence for people. Equal ones are counted; where too many wait to be written, some are dropped."""


class VolumeWriter(Protocol):
    """Writes claims and volumes. Each call returns the object as the API server stored it; a refusal raises."""

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume: ...

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim: ...


class ResourceClaimWriter(Protocol):
    """Writes ResourceClaims. Each call returns when the API server has answered; a refusal raises."""

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        """Writes the finalizers and the status that `change` makes of the claim, or of a newer version of it if somebody
        else has written meanwhile. What `change` raises ends it. The claim as the server stored it."""

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        """Creates the claim under a name made from `metadata.generateName`."""

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None: ...

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        """Tells in the pod's status which claim has the devices behind its extended resources."""


class ApiWriter(Binder, PodWriter, VolumeWriter, ResourceClaimWriter, Protocol):
    """Everything that a scheduler writes. Nothing but coroutines waits: a writer that speaks to a server queues what it is
    told."""

    @property
    def binds_at_once(self) -> bool: ...

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        """Binds at once; None: done. Only for writers that can (`binds_at_once`)."""

    def report_failure(self, failure: Failure) -> None: ...

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None: ...
