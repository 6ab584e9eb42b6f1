# SPDX-License-Identifier: Apache-2.0
"""The writes of the scheduler, sent to the API server: bindings, status, events, deletions,
volumes, devices.

Implements `assembly.ApiWriter`. Awaited writes are coroutines; failures and events are queued
(`status_updates`, `events`) and written by `run`.

Objects are changed by merge patches of the differences, with the resource version that was read:
the Structs have only some fields of an object, and the others must not change. `ResourceClaims`
writes finalizers, allocation and users of claims, and repeats a change after a conflict.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import msgspec

from steersman import api
from steersman.api import codec, version_number
from steersman.base import InternalErrors, SteersmanError, Timing
from steersman.framework import Failure, PodInfo, Status
from steersman.kube.client import paths
from steersman.kube.client.binding_requests import BindingRequests
from steersman.kube.client.errors import ApiError, ClientError
from steersman.kube.client.events import EventRecorder
from steersman.kube.client.failure_log import BINDING, UPDATING_STATUS, FailureLog
from steersman.kube.client.foreign_input import decode_foreign
from steersman.kube.client.pacing import RetryPolicy, retrying
from steersman.kube.client.requests import JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request, Response, Transport
from steersman.kube.client.status_updates import StatusUpdate, StatusUpdates, patch_for
from steersman.scheduler.host import EventReports, PodEvent

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)
ClaimChange = Callable[[api.ResourceClaim], api.ResourceClaim]

WithStatus = api.Pod | api.PodGroup

REMEMBERED_OBJECTS: Final = 4096
CLAIM_ATTEMPTS: Final = 5
"""Attempts to change a ResourceClaim that other writers change at the same time."""
CLAIM_PAUSE_SECONDS: Final = 0.01


class Dispatcher(EventReports):
    """The scheduler's `ApiWriter`. `run` writes queued status updates and events."""

    binds_at_once = False

    def __init__(
        self,
        transport: Transport,
        events: EventRecorder,
        timing: Timing,
        policy: RetryPolicy | None = None,
        internal_errors: InternalErrors | None = None,
        failure_log: FailureLog | None = None,
    ) -> None:
        """Bindings are sent without a task if `transport` is a `NowaitChain`."""
        self._transport = transport
        self._failure_log = failure_log or FailureLog(timing.clock)
        self._events = events
        self._timing = timing
        self._policy = policy or RetryPolicy()
        self._updates = StatusUpdates(
            self._update_status, internal_errors, partial(self._failure_log.failed, UPDATING_STATUS)
        )
        self._resource_claims = ResourceClaims(self._send)
        #: Objects with recently written status, by uid: the next attempt may precede the watch
        #: event.
        self._written: OrderedDict[str, WithStatus] = OrderedDict()
        self._bindings = BindingRequests(
            transport, timing, self._policy, self._bound, partial(self._failure_log.failed, BINDING)
        )

    async def run(self) -> None:
        """Write queued status updates and events, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._updates.run())
            group.create_task(self._events.run())

    async def drain(self) -> None:
        """Return when nothing is queued; `run` must be running."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._events.drain())
            group.create_task(self._updates.drain())

    def close(self) -> None:
        """Drop and count queued and all later status updates and events: the lease is lost."""
        self._updates.close()
        self._events.close()

    @property
    def dropped(self) -> tuple[int, int]:
        """Numbers of conditions and events that were dropped."""
        return self._updates.dropped, self._events.dropped

    # -- awaited writes ---------------------------------------------------------------------------------------------

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        raise RuntimeError(f"binding {pod.key} to {node_name} takes a request to the API server: bind() does that")

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Bind a pod, at most once: the server refuses a second binding.

        A queued failure of the pod is withdrawn first, so that it is not written after the binding.
        While the outcome of the binding is unknown, no failure is reported.
        """
        return await self._bind(pod, node_name, None)

    async def _bind(self, pod: PodInfo, node_name: str, failed: ClientError | None) -> Status | None:
        await self._updates.withdraw(pod.uid)
        return await self._bindings.bind(pod.pod, node_name, failed)

    def _bound(self, uid: str) -> None:
        self._failure_log.succeeded(BINDING)
        self._written.pop(uid, None)

    def begin_bind(self, pod: PodInfo, node_name: str, on_end: Callable[[SteersmanError | None], None]) -> bool:
        """Send a binding without a task, unless a failure of the pod is queued or it must wait."""
        if self._updates.concerns(pod.uid):
            return False
        return self._bindings.begin(pod.pod, node_name, on_end)

    async def resume_bind(self, pod: PodInfo, node_name: str, failed: SteersmanError) -> Status | None:
        """Continue after the failure of `begin_bind`. A request that was refused with 401 is sent
        again, with the new credentials of `HttpTransport.request`."""
        if not isinstance(failed, ClientError) or (isinstance(failed, ApiError) and failed.is_unauthorised):
            return await self._bind(pod, node_name, None)
        return await self._bind(pod, node_name, failed)

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        return await self._update_status(StatusUpdate(pod, condition, nominated_node_name))

    async def delete_pod(self, pod: api.Pod) -> bool:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.metadata.uid}}
        try:
            await self._send("DELETE", paths.object_path(pod), options)
        except ApiError as refusal:
            if refusal.is_not_found or refusal.is_conflict:
                return False
            raise
        return True

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        """Write the fields that the scheduler changes: annotations and claim reference."""
        return await self._update(volume, {} if volume.spec.claim_ref is None else {"claimRef": volume.spec.claim_ref})

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        """Write the annotations."""
        return await self._update(claim, {})

    async def change_resource_claim(self, claim: api.ResourceClaim, change: ClaimChange) -> api.ResourceClaim:
        return await self._resource_claims.change(claim, change)

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return await self._resource_claims.create(claim)

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        await self._resource_claims.delete(claim)

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        await self._resource_claims.write_pod_status(pod, status)

    # -- queued writes -----------------------------------------------------------------------------------------------

    def report_failure(self, failure: Failure) -> None:
        pod, nomination = failure.pod, failure.nomination
        if self._bindings.pop_unconfirmed(pod.metadata.uid):
            logger.info("pod %s may have been bound, its failure is not reported: %s", api.key(pod), failure.message)
            return
        self.report_failed_attempt(failure)
        self._updates.put(StatusUpdate(pod, failure.condition, None if nomination is None else nomination.node))

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        self._updates.put(StatusUpdate(group, condition))

    def write_event(self, event: PodEvent) -> None:
        self._events.record(event)

    # -- internals ---------------------------------------------------------------------------------------------------

    async def _update_status(self, update: StatusUpdate) -> bool:
        obj = self._latest(update.obj)
        patch = patch_for(StatusUpdate(obj, update.condition, update.nominated_node_name), self._timing.clock.now())
        if patch is None:
            return True
        try:
            answer = await self._send("PATCH", paths.object_path(obj, "status"), patch, STRATEGIC_MERGE_PATCH)
        except ApiError as refusal:
            if refusal.is_not_found or refusal.is_conflict:
                return False
            raise
        self._failure_log.succeeded(UPDATING_STATUS)
        self._remember(decode_foreign(answer.body, type(obj), f"the answer to a status of {obj.KIND} {api.key(obj)}"))
        return True

    def _latest(self, obj: WithStatus) -> WithStatus:
        written = self._written.get(obj.metadata.uid)
        return written if written is not None and _version(written) > _version(obj) else obj

    def _remember(self, obj: WithStatus) -> None:
        self._written[obj.metadata.uid] = obj
        self._written.move_to_end(obj.metadata.uid)
        if len(self._written) > REMEMBERED_OBJECTS:
            self._written.popitem(last=False)

    async def _update(self, obj: T, spec: dict[str, Any]) -> T:
        """Send a merge patch, because the Structs have only some fields of the object."""
        meta = obj.metadata
        metadata = {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": meta.annotations}
        patch = {"metadata": {name: value for name, value in metadata.items() if value}, "spec": spec}
        answer = await self._send("PATCH", paths.object_path(obj), patch, MERGE_PATCH, idempotent=False)
        return decode_foreign(answer.body, type(obj), f"{obj.KIND} {api.key(obj)}")

    async def _send(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | bytes | None = None,
        content_type: str = JSON,
        *,
        idempotent: bool = True,
    ) -> Response:
        data = msgspec.json.encode(body) if isinstance(body, dict) else body

        async def call(left: float) -> Response:
            return await self._transport.request(
                Request(method, path, body=data, content_type=content_type, timeout=left)
            )

        return await retrying(call, self._timing, self._policy, idempotent=idempotent)


def _version(obj: WithStatus) -> int:
    return version_number(obj.metadata.resource_version)


# -- ResourceClaims ----------------------------------------------------------------------------------------------------


class Send(Protocol):
    """Sends a request, with retries where they are safe."""

    def __call__(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | bytes | None = None,
        content_type: str = JSON,
        *,
        idempotent: bool = True,
    ) -> Awaitable[Response]: ...


class ResourceClaims:
    """Writes ResourceClaims."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def change(self, claim: api.ResourceClaim, change: ClaimChange) -> api.ResourceClaim:
        for _ in range(CLAIM_ATTEMPTS - 1):
            try:
                return await self._write(claim, change(claim))
            except ApiError as refusal:
                if not refusal.is_conflict:
                    raise
            await asyncio.sleep(CLAIM_PAUSE_SECONDS)
            answer = await self._send("GET", paths.object_path(claim))
            claim = decode_foreign(answer.body, api.ResourceClaim, "the ResourceClaim")
        return await self._write(claim, change(claim))

    async def create(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        path = paths.collection(api.ResourceClaim, claim.metadata.namespace)
        answer = await self._send("POST", path, codec.encode(claim), idempotent=False)
        return decode_foreign(answer.body, api.ResourceClaim, "the ResourceClaim")

    async def delete(self, claim: api.ResourceClaim) -> None:
        """Delete a claim; one that does not exist is no error."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": claim.metadata.uid}}
        try:
            await self._send("DELETE", paths.object_path(claim), options)
        except ApiError as refusal:
            if not refusal.is_not_found:
                raise

    async def write_pod_status(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        patch = {"metadata": {"uid": pod.metadata.uid}, "status": {"extendedResourceClaimStatus": status}}
        await self._send("PATCH", paths.object_path(pod, "status"), patch, STRATEGIC_MERGE_PATCH)

    async def _write(self, old: api.ResourceClaim, new: api.ResourceClaim) -> api.ResourceClaim:
        """Write the finalizer before the status: no allocation without the finalizer."""
        if new.metadata.finalizers != old.metadata.finalizers:
            written = await self._patch(old, "", {"finalizers": new.metadata.finalizers}, {})
            old = written
        status = _status_patch(old.status, new.status)
        return await self._patch(old, "status", {}, {"status": status}) if status else old

    async def _patch(
        self, claim: api.ResourceClaim, subresource: str, metadata: dict[str, Any], rest: dict[str, Any]
    ) -> api.ResourceClaim:
        seen = {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
        patch = {"metadata": {**{name: value for name, value in seen.items() if value}, **metadata}, **rest}
        answer = await self._send("PATCH", paths.object_path(claim, subresource), patch, MERGE_PATCH, idempotent=False)
        return decode_foreign(answer.body, api.ResourceClaim, "the ResourceClaim")


def _status_patch(old: api.ResourceClaimStatus, new: api.ResourceClaimStatus) -> dict[str, Any]:
    """Return a merge patch of the status. An existing allocation changes its timestamp only."""
    status: dict[str, Any] = {}
    if old.allocation is None or new.allocation is None:
        if old.allocation is not new.allocation:
            status["allocation"] = new.allocation
    elif old.allocation.allocation_timestamp != new.allocation.allocation_timestamp:
        status["allocation"] = {"allocationTimestamp": new.allocation.allocation_timestamp}
    if old.reserved_for != new.reserved_for:
        status["reservedFor"] = new.reserved_for or None
    if old.devices and not new.devices:
        status["devices"] = None
    return status
