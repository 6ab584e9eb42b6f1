# SPDX-License-Identifier: Apache-2.0
"""The lease that a leader holds, as `lease` reads and writes it."""

from __future__ import annotations

from typing import Protocol

from steersman import api
from steersman.api import codec
from steersman.client import paths
from steersman.client.errors import ApiError
from steersman.client.foreign_input import decode_foreign
from steersman.client.lease_types import Lease
from steersman.client.transport import Transport


class LeaseApi(Protocol):
    """One lease. Everything may raise `ClientError`; a write onto another version than the one that was read does."""

    async def get(self) -> Lease | None:
        """None: there is none yet."""

    async def create(self, lease: Lease) -> Lease:
        """The lease as the server stored it."""

    async def update(self, lease: Lease) -> Lease:
        """As `create`."""


class HttpLease:
    """The lease on an API server. `timeout` is the most that one request may take."""

    def __init__(self, transport: Transport, namespace: str, name: str, timeout: float) -> None:
        self._transport = transport
        self._namespace = namespace
        self._path = paths.item(Lease, name, namespace)
        self._name = name
        self._timeout = timeout

    async def get(self) -> Lease | None:
        try:
            answer = await self._transport.request("GET", self._path, timeout=self._timeout)
        except ApiError as refusal:
            if refusal.is_not_found:
                return None
            raise
        return decode_foreign(answer.body, Lease, "the lease")

    async def create(self, lease: Lease) -> Lease:
        named = Lease(metadata=api.ObjectMeta(name=self._name, namespace=self._namespace), spec=lease.spec)
        return await self._write("POST", paths.collection(Lease, self._namespace), named)

    async def update(self, lease: Lease) -> Lease:
        return await self._write("PUT", self._path, lease)

    async def _write(self, method: str, path: str, lease: Lease) -> Lease:
        answer = await self._transport.request(method, path, body=codec.encode(lease), timeout=self._timeout)
        return decode_foreign(answer.body, Lease, "the lease")
