"""The lease that a leader holds, as `lease` reads and writes it."""

from __future__ import annotations

from typing import Protocol

from steersman import api
from steersman.api import codec
from steersman.client import paths
from steersman.client.errors import ApiError, ConnectionFailed
from steersman.client.lease_types import Lease
from steersman.client.transport import Response, Transport
from steersman.errors import InputError


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
        return self._decoded(answer)

    async def create(self, lease: Lease) -> Lease:
        named = Lease(metadata=api.ObjectMeta(name=self._name, namespace=self._namespace), spec=lease.spec)
        return await self._write("POST", paths.collection(Lease, self._namespace), named)

    async def update(self, lease: Lease) -> Lease:
        return await self._write("PUT", self._path, lease)

    async def _write(self, method: str, path: str, lease: Lease) -> Lease:
        answer = await self._transport.request(method, path, body=codec.encode(lease), timeout=self._timeout)
        return self._decoded(answer)

    def _decoded(self, answer: Response) -> Lease:
        """A lease that cannot be read is as good as no answer: it is asked for again."""
        try:
            return codec.decode(answer.body, Lease)
        except InputError as cause:
            raise ConnectionFailed(f"{self._path}: the lease cannot be read: {cause}", may_have_arrived=True) from cause
