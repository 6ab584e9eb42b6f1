# SPDX-License-Identifier: Apache-2.0
"""A proxy between the scheduler and the real API server that does harm on demand. What harm: `faults`.

    steersman ─HTTPS─► FaultProxy ─HTTPS─► kube-apiserver

A token goes through to the server; a certificate cannot, and the proxy shows one of its own.

Runs in a thread of its own, so that tests stay synchronous.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias, TypeVar

import aiohttp
from aiohttp import web
from tests.e2e.faults.faults import (
    STREAM_FAULTS,
    CutMidLine,
    Delay,
    ExpiredLine,
    Fault,
    Interruption,
    LostAnswer,
    Refusal,
    Request,
)
from yarl import URL

from steersman.testing.control_plane import ControlPlane
from steersman.testing.control_plane.connections import tls_context
from steersman.testing.control_plane.schedulers import SCHEDULER_USER

NOT_FORWARDED: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})
NOT_RETURNED: Final = frozenset({"content-length", "transfer-encoding", "connection", "date"})
START_SECONDS: Final = 10.0
GONE: Final = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)
FaultT = TypeVar("FaultT", bound=Fault)
Stamp: TypeAlias = Callable[[Request], Mapping[str, str]]


class FaultProxy:
    """Between `with` and its end it listens at `url`; `kubeconfig` leads there."""

    def __init__(self, plane: ControlPlane, user: str = SCHEDULER_USER, stamp: Stamp = lambda request: {}) -> None:
        """Without a user it shows no certificate: then only tokens count. `stamp` gives further headers for the server."""
        self._stamp = stamp
        self._server = plane.url
        self._to_server = _client_tls(plane, user)
        self._to_client = _server_tls(plane)
        self._plane = plane
        self._faults: list[Fault] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="fault proxy")
        self._listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._end: asyncio.Event
        self._client: aiohttp.ClientSession
        self.url = ""

    @property
    def kubeconfig(self) -> Path:
        return self._plane.kubeconfig(SCHEDULER_USER, server=self.url)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._listening.wait(START_SECONDS):
            raise RuntimeError("the proxy does not listen")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def add(self, fault: FaultT) -> FaultT:
        """From now on, until `remove`."""
        self._faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        self._faults.remove(fault)

    @contextmanager
    def suffering(self, fault: FaultT) -> Iterator[FaultT]:
        """As long as the block lasts."""
        self.add(fault)
        try:
            yield fault
        finally:
            self.remove(fault)

    # -- in the thread -----------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        application = web.Application(client_max_size=1 << 28)
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        # Bodies go through as they are: compressed only if the scheduler has asked for that.
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._to_server),
            auto_decompress=False,
            skip_auto_headers=("Accept-Encoding",),
        )
        async with session as self._client:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._to_client).start()
            self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
            self._listening.set()
            await self._end.wait()
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        seen = Request(request.method, request.path, request.query.get("watch") == "true")
        hits = [fault for fault in self._faults if not isinstance(fault, STREAM_FAULTS) and fault.hits(seen)]
        for fault in hits:
            if isinstance(fault, Interruption):
                await asyncio.to_thread(fault.act, request.path)
            elif isinstance(fault, Refusal):
                return _refusal(fault)
        try:
            return await self._forward(request, seen, hits)
        except (aiohttp.ClientError, OSError):
            # To the scheduler it looks as if the server itself had gone.
            return _cut(request)

    async def _forward(self, request: web.Request, seen: Request, hits: list[Fault]) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in NOT_FORWARDED}
        headers.update(self._stamp(seen))
        url = URL(self._server + request.raw_path, encoded=True)
        limits = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
        body = await request.read()
        async with self._client.request(
            request.method, url, data=body or None, headers=headers, timeout=limits, allow_redirects=False
        ) as answer:
            if seen.is_watch:
                return await self._stream(request, seen, answer)
            data = await answer.read()
        for fault in hits:
            if isinstance(fault, Delay):
                await asyncio.sleep(fault.seconds)
            elif isinstance(fault, LostAnswer):
                return _cut(request)
        return web.Response(status=answer.status, body=data, headers=_returned(answer))

    async def _stream(self, request: web.Request, seen: Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=_returned(answer))
        await response.prepare(request)
        async for chunk in answer.content.iter_any():
            fault = next((one for one in self._faults if isinstance(one, STREAM_FAULTS) and one.hits(seen)), None)
            if isinstance(fault, ExpiredLine):
                await response.write(GONE)
                break
            if isinstance(fault, CutMidLine):
                await response.write(chunk[: max(1, (chunk.find(b"\n") + 1 or len(chunk)) // 2)])
                return _cut(request, response)
            await response.write(chunk)
        await response.write_eof()
        return response


def _client_tls(plane: ControlPlane, user: str) -> ssl.SSLContext:
    if user:
        return tls_context(plane.ca_file.read_bytes(), plane.identity(user))
    context = ssl.create_default_context(cafile=str(plane.ca_file))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _server_tls(plane: ControlPlane) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        context.load_cert_chain(*plane.server_identity("127.0.0.1").write(Path(folder), "proxy"))
    return context


def _returned(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.lower() not in NOT_RETURNED}


def _refusal(fault: Refusal) -> web.Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    status = {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "code": fault.code,
        "reason": fault.reason,
        "message": "refused by the fault proxy",
    }
    return web.json_response(status, status=fault.code, headers=headers)


def _cut(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.close()
    return response or web.Response(status=502)
