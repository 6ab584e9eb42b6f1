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
from steersman.embedded import Document, Store
from steersman.embedded.history import EventType
from steersman.sandbox.event_objects import Event
from steersman.sandbox.history import MARK_SECONDS, SandboxHistory
from steersman.sandbox.options import LOOPBACK
from steersman.sandbox.scheduling import ReplaceableScheduler
from steersman.sandbox.web_actions import CAPABILITIES, SandboxActions
from steersman.serving import ConnectionLimits, Listen
from steersman.serving.access import bearer_token
from steersman.serving.http import Answer, Handler, Request
from steersman.serving.server import HttpServer
from steersman.web import (
    PREFIX,
    ClusterFeed,
    ClusterSource,
    EventRow,
    EventRows,
    PageFiles,
    SiteGuard,
    WebApi,
    WebHost,
    WebRefusal,
    json_page,
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

    def __init__(self, token: str, web_api: Handler, files: PageFiles) -> None:
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
        answer = await self._api(request)
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


class SandboxWeb:
    """The API of the scheduler that a sandbox has at the moment."""

    def __init__(
        self,
        store: Store,
        schedulers: ReplaceableScheduler,
        actions: SandboxActions,
        kubeconfig: str,
    ) -> None:
        self._store = store
        self._schedulers = schedulers
        self._history = SandboxHistory(store)
        self._actions = {**actions.by_path(), "GET history": self._show_history}
        self._clock = actions.clock
        self._configuration = actions.configuration
        self._kubeconfig = kubeconfig
        self._events = EventRows()
        follow_events(store, self._events)
        self._show()
        self._configuration.follow(self._show_anew)

    async def answer(self, request: Request) -> Answer:
        return await self._api.answer(request)

    def close(self) -> None:
        """Streams end."""
        self._feed.close()
        self._ticking.cancel()

    def _show_anew(self) -> None:
        """Another scheduler has taken over: streams end, and begin with a new epoch."""
        self.close()
        self._show()

    def _show(self) -> None:
        """Looks at the present scheduler from now on."""
        scheduler, events = self._schedulers.current.scheduler, self._events
        decisions, attempts = observed(scheduler)
        scheduler.observe(self._history)
        self._history.note()
        host = WebHost(
            "sandbox",
            scheduler,
            decisions,
            attempts,
            events,
            more_capabilities=CAPABILITIES,
            document=lambda obj: self._store.document(type(obj), api.key(obj)),
            actions=self._actions,
            kubeconfig=self._kubeconfig,
            past=self._answer_past,
            written=self._configuration.written,
        )
        self._host = host
        self._feed = ClusterFeed(ClusterSource(scheduler, attempts, events, self._clock.part), host.ask)
        self._api = WebApi(host, self._feed)
        self._ticking = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._feed.run(), name="web page")
            group.create_task(self._mark(), name="marks of the past")

    async def _mark(self) -> None:
        while True:
            self._history.mark(self._host.scheduler)
            await asyncio.sleep(MARK_SECONDS)

    async def _show_history(self, request: Request) -> Answer:
        return json_page(self._history.page())

    async def _answer_past(self, at: float, request: Request) -> Answer:
        first, *parts = request.path.removeprefix(PREFIX).split("/")
        pod = "/".join(parts[:2]) if first == "pods" else ""
        return await (await self._history.api_at(at, self._host, pod)).answer(request)


@asynccontextmanager
async def served_page(port: int, web: SandboxWeb) -> AsyncIterator[SandboxPage]:
    """The page, until the end of the block. OSError when the port cannot be had."""
    token = secrets.token_urlsafe(24)
    guard = TokenGuard(token, web.answer, PageFiles())
    async with HttpServer(Listen(LOOPBACK, port), guard.answer, LIMITS, body_limit=guard.body_limit) as server:
        try:
            yield SandboxPage(server.port, token)
        finally:
            web.close()


def follow_events(store: Store, rows: EventRows) -> None:
    """Adds a row for every Event object that is written to the store from now on."""

    def note(kind: EventType, old: api.Object | None, new: api.Object | None) -> None:
        if new is not None and kind != EventType.DELETED:
            rows.add(_row(store.document(Event, api.key(new)), store.clock.now()))

    store.subscribe(note, (Event,))


def _row(document: Document, now: float) -> EventRow:
    about = document.get("involvedObject") or {}
    place = f"{about['namespace']}/" if about.get("namespace") else ""
    named = f"{about.get('kind', '')} {place}{about.get('name', '')}"
    text = [str(document.get(name) or "") for name in ("type", "reason", "message")]
    component = document.get("reportingComponent") or (document.get("source") or {}).get("component") or ""
    return EventRow(now, text[0], text[1], named, text[2], str(component))
