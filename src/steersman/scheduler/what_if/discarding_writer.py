# SPDX-License-Identifier: Apache-2.0
"""The writer of a scheduler whose decisions have no effect: every write appears to succeed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from steersman import api
from steersman.framework import Failure, PodInfo, Status


class DiscardingWriter:
    """An `ApiWriter` that discards every write. Writes to pods behave as if the pod were
    deleted."""

    binds_at_once = False

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        return None

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return None

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        return False

    async def delete_pod(self, pod: api.Pod) -> bool:
        return False

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        """Discard the event."""

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        """Discard the event."""

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return volume

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return claim

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        return change(claim)

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return claim

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        """Discard the deletion."""

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        """Discard the status."""

    def report_failure(self, failure: Failure) -> None:
        """Discard condition and event."""

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        """Discard the event."""

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        """Discard the condition."""


def discard_task(work: Coroutine[Any, Any, None]) -> None:
    """Close a background coroutine, so that evictions and bindings never begin."""
    work.close()
