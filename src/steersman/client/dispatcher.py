# SPDX-License-Identifier: Apache-2.0
"""The writes of the scheduler, sent to the API server: bindings, status, events, deletions, volumes, devices.

Implements `assembly.ApiWriter`. What somebody waits for is a coroutine; failures and events are queued (`status_updates`,
`events`) and written by `run`.

Objects are changed by merge patches of what differs, onto the version that was seen: the Structs hold only some fields of an
object, and the others must stay. `ResourceClaims` writes finalizers, allocation and users of claims, which others write too:
where somebody else was faster, the change is made again.
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
from steersman.api import codec
from steersman.api.meta import version_number
from steersman.client import paths
from steersman.client.binding_requests import BindingRequests
from steersman.client.direct_posts import DirectPosts
from steersman.client.errors import ApiError, ClientError
from steersman.client.events import NORMAL, WARNING, EventRecorder
from steersman.client.foreign_input import decode_foreign
from steersman.client.pacing import RetryPolicy, Timing, retrying
from steersman.client.status_updates import StatusUpdate, StatusUpdates, patch_for
from steersman.client.transport import JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Response, Transport
from steersman.errors import SteersmanError
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME, PodInfo
from steersman.framework.ports import Nomination
from steersman.framework.status import Status
from steersman.internal_errors import InternalErrors

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)
ClaimChange = Callable[[api.ResourceClaim], api.ResourceClaim]

POD_SCHEDULED: Final = "PodScheduled"
ASSIGNED: Final = "Successfully assigned {pod} to {node}"
REMEMBERED_PODS: Final = 4096
CLAIM_ATTEMPTS: Final = 5
"""So often the change of a ResourceClaim is made, where others change it at the same time."""
CLAIM_PAUSE_SECONDS: Final = 0.01


class FailedAttempt(Protocol):
    """`assembly.Failure`."""

    @property
    def pod(self) -> api.Pod: ...

    @property
    def reason(self) -> str: ...

    @property
    def message(self) -> str: ...

    @property
    def nomination(self) -> Nomination | None: ...


class Dispatcher:
    """Writes for the scheduler: at once what somebody waits for, in the background what nobody does."""

    binds_at_once = False

    def __init__(
        self,
        transport: Transport,
        events: EventRecorder,
        timing: Timing,
        policy: RetryPolicy | None = None,
        internal_errors: InternalErrors | None = None,
        posts: DirectPosts | None = None,
    ) -> None:
        """`posts` is the short way to where `transport` goes; None: there is none."""
        self._transport = transport
        self._events = events
        self._timing = timing
        self._policy = policy or RetryPolicy()
        self._updates = StatusUpdates(self._update_status, internal_errors)
        self._resource_claims = ResourceClaims(self._send)
        #: By uid, the latest of those whose status was written: the watch may be slower than the next attempt.
        self._written: OrderedDict[str, api.Pod] = OrderedDict()
        self._bindings = BindingRequests(transport, timing, self._policy, posts)

    async def run(self) -> None:
        """Writes what is queued, until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._updates.run())
            group.create_task(self._events.run())

    async def drain(self) -> None:
        """Returns when nothing is queued any more; while `run` runs."""
        await self._updates.drain()
        await self._events.drain()

    def close(self) -> None:
        """Drops, and counts, what is queued and whatever is reported from now on: the lease is lost."""
        self._updates.close()
        self._events.close()

    @property
    def dropped(self) -> tuple[int, int]:
        """Conditions and events that will never be written."""
        return self._updates.dropped, self._events.dropped

    # -- what is waited for ------------------------------------------------------------------------------------------

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        raise RuntimeError(f"binding {pod.key} to {node_name} takes a request to the API server: bind() does that")

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """A pod is bound at most once, whatever becomes of the answer: the server refuses a second binding.

        A failure that waits to be written is withdrawn, so that it cannot follow the binding; and while it is not known
        whether the server has bound the pod, no failure is reported.
        """
        return await self._bind(pod, node_name, None)

    async def _bind(self, pod: PodInfo, node_name: str, failed: ClientError | None) -> Status | None:
        await self._updates.withdraw(pod.uid)
        status = await self._bindings.bind(pod.pod, node_name, failed)
        if status is None:
            self._written.pop(pod.uid, None)
        return status

    def begin_bind(self, pod: PodInfo, node_name: str, on_end: Callable[[SteersmanError | None], None]) -> bool:
        """`bind` without a task, where no failure waits to be written and the request need not wait."""
        if self._updates.concerns(pod.uid):
            return False
        return self._bindings.begin(pod.pod, node_name, partial(self._begun, pod.uid, on_end))

    def _begun(self, uid: str, on_end: Callable[[SteersmanError | None], None], failure: ClientError | None) -> None:
        if failure is None:
            self._written.pop(uid, None)
        on_end(failure)

    async def resume_bind(self, pod: PodInfo, node_name: str, failed: SteersmanError) -> Status | None:
        """A request refused because the server did not know us is sent once more: `HttpTransport.request` has other credentials
        then."""
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
            await self._send("DELETE", paths.of(pod), options)
        except ApiError as refusal:
            if refusal.is_not_found or refusal.is_conflict:
                return False
            raise
        return True

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        """Only what the scheduler changes is sent: annotations, and the claim that the volume is for."""
        return await self._update(volume, {} if volume.spec.claim_ref is None else {"claimRef": volume.spec.claim_ref})

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        """Only annotations are sent."""
        return await self._update(claim, {})

    async def change_resource_claim(self, claim: api.ResourceClaim, change: ClaimChange) -> api.ResourceClaim:
        return await self._resource_claims.change(claim, change)

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return await self._resource_claims.create(claim)

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        await self._resource_claims.delete(claim)

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        await self._resource_claims.tell_pod(pod, status)

    # -- what is queued ----------------------------------------------------------------------------------------------

    def report_failure(self, failure: FailedAttempt) -> None:
        pod, nomination = failure.pod, failure.nomination
        if self._bindings.take_open(pod.metadata.uid):
            logger.info("pod %s may have been bound, its failure is not reported: %s", api.key(pod), failure.message)
            return
        self._events.record(
            pod,
            controller=_scheduler_of(pod),
            type=WARNING,
            reason="FailedScheduling",
            action="Scheduling",
            note=failure.message,
        )
        condition = api.Condition(type=POD_SCHEDULED, status="False", reason=failure.reason, message=failure.message)
        self._updates.put(StatusUpdate(pod, condition, None if nomination is None else nomination.node))

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        self._events.record(
            pod.pod,
            controller=pod.scheduler_name,
            type=NORMAL,
            reason="Scheduled",
            action="Binding",
            note=ASSIGNED.format(pod=pod.key, node=node_name),
        )

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        # Without the preemptor as related object, which kube-scheduler v1.36 means to name but does not.
        self._events.record(
            victim,
            controller=_scheduler_of(preemptor),
            type=NORMAL,
            reason="Preempted",
            action="Preempting",
            note=message,
        )

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        self._events.record(
            pod,
            controller=_scheduler_of(pod),
            type=WARNING if is_warning else NORMAL,
            reason=reason,
            action="Scheduling",
            note=note,
        )

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _update_status(self, update: StatusUpdate) -> bool:
        pod = self._latest(update.pod)
        patch = patch_for(StatusUpdate(pod, update.condition, update.nominated_node_name), self._timing.clock.now())
        if patch is None:
            return True
        try:
            answer = await self._send("PATCH", paths.of(pod, "status"), patch, STRATEGIC_MERGE_PATCH)
        except ApiError as refusal:
            if refusal.is_not_found or refusal.is_conflict:
                return False
            raise
        self._remember(decode_foreign(answer.body, api.Pod, f"the answer to a status of pod {api.key(pod)}"))
        return True

    def _latest(self, pod: api.Pod) -> api.Pod:
        written = self._written.get(pod.metadata.uid)
        return written if written is not None and _version(written) > _version(pod) else pod

    def _remember(self, pod: api.Pod) -> None:
        self._written[pod.metadata.uid] = pod
        self._written.move_to_end(pod.metadata.uid)
        if len(self._written) > REMEMBERED_PODS:
            self._written.popitem(last=False)

    async def _update(self, obj: T, spec: dict[str, Any]) -> T:
        """A merge patch: the Structs hold only some fields of the object, and the others must stay."""
        meta = obj.metadata
        metadata = {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": meta.annotations}
        patch = {"metadata": {name: value for name, value in metadata.items() if value}, "spec": spec}
        answer = await self._send("PATCH", paths.of(obj), patch, MERGE_PATCH, idempotent=False)
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
            return await self._transport.request(method, path, body=data, content_type=content_type, timeout=left)

        return await retrying(call, self._timing, self._policy, idempotent=idempotent)


def _scheduler_of(pod: api.Pod) -> str:
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME


def _version(pod: api.Pod) -> int:
    return version_number(pod.metadata.resource_version)


# -- ResourceClaims ----------------------------------------------------------------------------------------------------


class Send(Protocol):
    """A request that is repeated where that is safe."""

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
            answer = await self._send("GET", paths.of(claim))
            claim = decode_foreign(answer.body, api.ResourceClaim, "the ResourceClaim")
        return await self._write(claim, change(claim))

    async def create(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        path = paths.collection(api.ResourceClaim, claim.metadata.namespace)
        answer = await self._send("POST", path, codec.encode(claim), idempotent=False)
        return decode_foreign(answer.body, api.ResourceClaim, "the ResourceClaim")

    async def delete(self, claim: api.ResourceClaim) -> None:
        """One that is gone already is deleted."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": claim.metadata.uid}}
        try:
            await self._send("DELETE", paths.of(claim), options)
        except ApiError as refusal:
            if not refusal.is_not_found:
                raise

    async def tell_pod(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        patch = {"metadata": {"uid": pod.metadata.uid}, "status": {"extendedResourceClaimStatus": status}}
        await self._send("PATCH", paths.of(pod, "status"), patch, STRATEGIC_MERGE_PATCH)

    async def _write(self, old: api.ResourceClaim, new: api.ResourceClaim) -> api.ResourceClaim:
        """The status has a path of its own, and is written second: without the finalizer nothing may be allocated."""
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
        answer = await self._send("PATCH", paths.of(claim, subresource), patch, MERGE_PATCH, idempotent=False)
        return decode_foreign(answer.body, api.ResourceClaim, "the ResourceClaim")


def _status_patch(old: api.ResourceClaimStatus, new: api.ResourceClaimStatus) -> dict[str, Any]:
    """The change of a status as a merge patch. An allocation does not change as long as there is one, but for its time."""
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
