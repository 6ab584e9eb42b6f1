# SPDX-License-Identifier: Apache-2.0
"""What the scheduler writes to the API server. Implemented by the embedded cluster and by the HTTP client's dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from steersman import api
from steersman.cycle.decision import Nomination
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status

REASON_UNSCHEDULABLE = "Unschedulable"
REASON_ERROR = "SchedulerError"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt as users see it: the condition PodScheduled=False and a FailedScheduling event."""

    pod: api.Pod
    reason: str
    message: str
    #: None: `status.nominatedNodeName` stays as it is.
    nomination: Nomination | None


class ApiWriter(Protocol):
    """Nothing but coroutines waits: a writer that speaks to a server queues what it is told."""

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        """Binds at once; None: done. Only for writers that can (`binds_at_once`)."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Returns when the API server has answered; a refusal is a Status with code ERROR."""

    @property
    def binds_at_once(self) -> bool: ...

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        """Sets one condition, the nominated node, or both, once the server has answered. False: the pod is gone; raises
        when the server refuses."""

    async def delete_pod(self, pod: api.Pod) -> bool:
        """Gracefully, with the pod's own period. As `patch_pod_status`."""

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        """An event on the victim: type Normal, reason Preempted, action Preempting."""

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        """The volume as the server stored it; raises when the server refuses."""

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        """As `update_volume`."""

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        """See `framework.handle.ResourceClaimWriter`, as for the three that follow."""

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim: ...

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None: ...

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None: ...

    def report_failure(self, failure: Failure) -> None: ...

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None: ...
