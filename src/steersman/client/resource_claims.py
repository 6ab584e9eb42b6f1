# SPDX-License-Identifier: Apache-2.0
"""ResourceClaims as the scheduler writes them: finalizers, allocation, users; created and deleted for extended resources.

Used by `dispatcher`. Merge patches of what differs: the Structs hold only some fields of the object, and the others must
stay. They are made onto the version that was seen; where somebody else was faster, the change is made again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from steersman import api
from steersman.api import codec
from steersman.client import paths
from steersman.client.errors import ApiError
from steersman.client.foreign_input import decode_foreign
from steersman.client.transport import JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Response

ATTEMPTS: Final = 5
PAUSE_SECONDS: Final = 0.01

ClaimChange = Callable[[api.ResourceClaim], api.ResourceClaim]


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
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._write(claim, change(claim))
            except ApiError as refusal:
                if not refusal.is_conflict:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)
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
        status = _difference(old.status, new.status)
        return await self._patch(old, "status", {}, {"status": status}) if status else old

    async def _patch(
        self, claim: api.ResourceClaim, subresource: str, metadata: dict[str, Any], rest: dict[str, Any]
    ) -> api.ResourceClaim:
        seen = {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
        patch = {"metadata": {**{name: value for name, value in seen.items() if value}, **metadata}, **rest}
        answer = await self._send("PATCH", paths.of(claim, subresource), patch, MERGE_PATCH, idempotent=False)
        return decode_foreign(answer.body, api.ResourceClaim, "the ResourceClaim")


def _difference(old: api.ResourceClaimStatus, new: api.ResourceClaimStatus) -> dict[str, Any]:
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
