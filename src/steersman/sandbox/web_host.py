# SPDX-License-Identifier: Apache-2.0
"""Web page of a sandbox: HTTP on loopback, on a separate port, protected by a token.

    browser ─► `SiteGuard` ─► token ─► `WebApi`, in the loop of the sandbox

The token is in the fragment of the printed URL, which browsers do not send.
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
from steersman.cluster.store import Document, EventType, Store
from steersman.kube.serving import Answer, ConnectionLimits, Handler, HttpServer, Listen, Request, bearer_token
from steersman.sandbox.event_objects import Event
from steersman.sandbox.history import MARK_SECONDS, SandboxHistory
from steersman.sandbox.options import LOOPBACK
from steersman.sandbox.pod_fixes import PodFixes
from steersman.sandbox.scheduling import ReplaceableScheduler
from steersman.sandbox.web import (
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
from steersman.sandbox.web_actions import CAPABILITIES, SandboxActions

LIMITS: Final = ConnectionLimits(connections=256, connections_of_one_address=256)
DATA_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
BODY_BYTES: Final = 3 * 1024 * 1024
IMPORT_BYTES: Final = 256 * 1024 * 1024
"""Limit of an imported cluster, for requests with the token."""


class SandboxPage(msgspec.Struct, frozen=True):
    """Address of the page."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/#token={self.token}"


class TokenGuard:
    """Precedes every handler: files are open, data need the token, cross-site requests fail."""

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
        """Return the maximum length of the body: 0 without a valid token."""
        if self._sites.refusal(request) or not self._is_known(request):
            return 0
        return IMPORT_BYTES if request.path == f"{PREFIX}import" else BODY_BYTES

    def _is_known(self, request: Request) -> bool:
        token = bearer_token(request.headers.get("Authorization"))
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())


def _no_method() -> Answer:
    return refused(WebRefusal(405, "MethodNotAllowed", "files are read, nothing else"), {"Allow": "GET, HEAD"})


class SandboxWeb:
    """API of the current scheduler of a sandbox."""

    _host: WebHost

    def __init__(
        self,
        store: Store,
        schedulers: ReplaceableScheduler,
        actions: SandboxActions,
        kubeconfig: str,
        fixes: PodFixes | None = None,
    ) -> None:
        """`fixes` None: there is no kubeconfig file with which to search for fixes."""
        self._store = store
        self._schedulers = schedulers
        self._history = SandboxHistory(store)
        self._actions = {**actions.by_path(), "GET history": self._show_history}
        self._capabilities: tuple[str, ...] = CAPABILITIES
        if fixes is not None:
            self._actions["GET fixes"] = fixes.answer
            self._capabilities = (*CAPABILITIES, "fixes")
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
        """End all streams."""
        self._feed.close()
        self._ticking.cancel()

    def _show_anew(self) -> None:
        """Show another scheduler that has taken over; streams restart with a new epoch."""
        self.close()
        self._show(is_successor=True)

    def _show(self, *, is_successor: bool = False) -> None:
        """Show the current scheduler. A successor takes over its predecessor's decisions."""
        scheduler, events = self._schedulers.current.scheduler, self._events
        decisions, attempts = observed(scheduler, attempts=self._host.attempts if is_successor else None)
        if is_successor:
            decisions.extend(reversed(self._host.decisions.recent(len(self._host.decisions))))
        scheduler.observe(self._history)
        self._history.note()
        host = WebHost(
            "sandbox",
            scheduler,
            decisions,
            attempts,
            events,
            more_capabilities=self._capabilities,
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
    """Yield the page until the end of the block. Raise OSError if the port is not available."""
    token = secrets.token_urlsafe(24)
    guard = TokenGuard(token, web.answer, PageFiles())
    async with HttpServer(Listen(LOOPBACK, port), guard.answer, LIMITS, body_limit=guard.body_limit) as server:
        try:
            yield SandboxPage(server.port, token)
        finally:
            web.close()


def follow_events(store: Store, rows: EventRows) -> None:
    """Add a row for every Event object that is written to the store."""

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
    count = (document.get("series") or {}).get("count") or document.get("count") or 1
    return EventRow(now, text[0], text[1], named, text[2], str(component), int(count))
