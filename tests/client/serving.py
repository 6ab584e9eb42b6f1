# SPDX-License-Identifier: Apache-2.0
"""Real HTTP servers on the loopback interface, with certificates made on the spot."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LIMIT_SECONDS = 20


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a test's coroutine; one that hangs fails."""

    async def limited() -> T:
        async with asyncio.timeout(LIMIT_SECONDS):
            return await coroutine

    return asyncio.run(limited())


@asynccontextmanager
async def serve(app: web.Application | Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that runs `app`, or answers everything with a function."""
    if not isinstance(app, web.Application):
        handler, app = app, web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    scheme = "http" if tls is None else "https"
    try:
        yield f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its key, PEM, with the files that hold them."""

    certificate_file: Path
    key_file: Path

    @property
    def certificate(self) -> bytes:
        return self.certificate_file.read_bytes()

    @property
    def key(self) -> bytes:
        return self.key_file.read_bytes()


def self_signed(folder: Path, name: str, alternative: str = "IP:127.0.0.1") -> KeyPair:
    """A new certificate that is its own authority."""
    pair = KeyPair(folder / f"{name}.crt", folder / f"{name}.key")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(pair.key_file), "-out", str(pair.certificate_file), "-days", "1"]
    command += ["-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}"]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    return pair


def server_tls(pair: KeyPair, clients: KeyPair | None = None) -> ssl.SSLContext:
    """Shows `pair`; with `clients`, demands that very certificate of whoever connects."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate_file, pair.key_file)
    if clients is not None:
        context.load_verify_locations(clients.certificate_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
