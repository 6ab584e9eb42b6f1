# SPDX-License-Identifier: Apache-2.0
"""The writer of a scheduler that must not write: every attempt is a fault of ours, and says so."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from steersman import api
from steersman.assembly import Failure
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status


class ReadOnlyWriter:
    """An `assembly.ApiWriter` that refuses every write."""

    binds_at_once = False

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        _refuse(f"bind {pod.key}")

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        _refuse(f"bind {pod.key}")

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        _refuse(f"patch {api.key(pod)}")

    async def delete_pod(self, pod: api.Pod) -> bool:
        _refuse(f"delete {api.key(pod)}")

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        _refuse(f"report {api.key(victim)}")

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        """An explanation tells nobody else."""

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        _refuse(f"update {volume.metadata.name}")

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        _refuse(f"update {api.key(claim)}")

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        _refuse(f"change {api.key(claim)}")

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        _refuse(f"create {api.key(claim)}")

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        _refuse(f"delete {api.key(claim)}")

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        _refuse(f"patch {api.key(pod)}")

    def report_failure(self, failure: Failure) -> None:
        _refuse(f"report {api.key(failure.pod)}")

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        _refuse(f"report {pod.key}")


def not_started(work: Coroutine[Any, Any, None]) -> None:
    """`Scheduler.spawn` where nothing may happen: what a decision would set in motion, evictions above all, never begins."""
    work.close()


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(f"a scheduler that only explains wanted to {what}")
