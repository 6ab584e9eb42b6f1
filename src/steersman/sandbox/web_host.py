# SPDX-License-Identifier: Apache-2.0
"""The web page of a sandbox: plain HTTP on loopback, on a port of its own, for whoever has the token.

    browser ─► `SiteGuard` ─► token ─► `WebApi`, in the loop of the sandbox

The token is in the fragment of the address that is printed, which browsers do not send anywhere.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from steersman import api
from steersman.assembly import Scheduler
from steersman.embedded import Document, Store
from steersman.embedded.history import EventType
from steersman.sandbox.event_objects import Event
from steersman.sandbox.options import LOOPBACK
from steersman.sandbox.web_actions import CAPABILITIES, SandboxActions
from steersman.serving import ConnectionLimits, Listen
from steersman.serving.access import bearer_token
from steersman.serving.http import Answer, Request
from steersman.serving.server import HttpServer
from steersman.web import (
    PREFIX,
    ClusterFeed,
    ClusterSource,
    ConfigurationSource,
    EventRow,
    EventRows,
    PageFiles,
    SiteGuard,
    WebApi,
    WebHost,
    WebRefusal,
    names_of,
    observed,
    refused,
)

LIMITS: Final = ConnectionLimits(connections=256, connections_of_one_address=256)
DATA_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
BODY_BYTES: Final = 3 * 1024 * 1024
IMPORT_BYTES: Final = 256 * 1024 * 1024
"""A whole cluster may be sent at once, by those who have the token."""


class SandboxPage(msgspec.Struct, frozen=True):
    """Where the page is served."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/#token={self.token}"


class TokenGuard:
    """Before every handler: files are open, data is for those who have the token, and no other site may ask."""

    def __init__(self, token: str, web_api: WebApi, files: PageFiles) -> None:
        self._token = token
        self._api = web_api
        self._files = files
        self._sites = SiteGuard(names_of(LOOPBACK), "http")

    async def answer(self, request: Request) -> Answer:
        foreign = self._sites.refusal(request)
        if foreign:
            return refused(WebRefusal(403, "Forbidden", foreign))
        if not request.path.startswith(PREFIX):
            return self._files.answer(request.path) if request.method in ("GET", "HEAD") else _no_method()
        if not self._is_known(request):
            return refused(WebRefusal(401, "Unauthorized", "Unauthorized"))
        answer = await self._api.answer(request)
        return msgspec.structs.replace(answer, headers={**DATA_HEADERS, **answer.headers})

    def body_limit(self, request: Request) -> int:
        """Strangers are not read."""
        if self._sites.refusal(request) or not self._is_known(request):
            return 0
        return IMPORT_BYTES if request.path == f"{PREFIX}import" else BODY_BYTES

    def _is_known(self, request: Request) -> bool:
        token = bearer_token(request.headers.get("Authorization"))
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())


def _no_method() -> Answer:
    return refused(WebRefusal(405, "MethodNotAllowed", "files are read, nothing else"), {"Allow": "GET, HEAD"})


@asynccontextmanager
async def served_page(
    port: int,
    store: Store,
    scheduler: Scheduler,
    actions: SandboxActions,
    kubeconfig: str,
    written: ConfigurationSource,
) -> AsyncIterator[SandboxPage]:
    """The page of a scheduler, until the end of the block. OSError when the port cannot be had."""
    events = EventRows()
    follow_events(store, events)
    decisions, attempts = observed(scheduler)

    def document(obj: api.Object) -> Document:
        return store.document(type(obj), api.key(obj))

    host = WebHost(
        "sandbox",
        scheduler,
        decisions,
        attempts,
        events,
        more_capabilities=CAPABILITIES,
        document=document,
        actions=actions.by_path(),
        kubeconfig=kubeconfig,
        written=written,
    )
    feed = ClusterFeed(ClusterSource(scheduler, attempts, events, actions.clock.part), host.ask)
    token = secrets.token_urlsafe(24)
    guard = TokenGuard(token, WebApi(host, feed), PageFiles())
    listen = Listen(LOOPBACK, port)
    async with HttpServer(listen, guard.answer, LIMITS, body_limit=guard.body_limit) as server:
        ticking = asyncio.ensure_future(feed.run())
        try:
            yield SandboxPage(server.port, token)
        finally:
            feed.close()
            ticking.cancel()
            await asyncio.wait((ticking,))


def follow_events(store: Store, rows: EventRows) -> None:
    """What the Event objects of the store tell, from now on."""

    def note(kind: EventType, old: api.Object | None, new: api.Object | None) -> None:
        if new is not None and kind != EventType.DELETED:
            rows.add(_row(store.document(Event, api.key(new)), store.clock.now()))

    store.subscribe(note, (Event,))


def _row(document: Document, now: float) -> EventRow:
    about = document.get("involvedObject") or {}
    place = f"{about['namespace']}/" if about.get("namespace") else ""
    named = f"{about.get('kind', '')} {place}{about.get('name', '')}"
    text = [str(document.get(name) or "") for name in ("type", "reason", "message")]
    return EventRow(now, text[0], text[1], named, text[2])
