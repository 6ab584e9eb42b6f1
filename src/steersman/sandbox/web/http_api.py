# SPDX-License-Identifier: Apache-2.0
"""API of the page without network code: answers requests after `/web/v1/`.

    Request ─► WebApi.answer ─► path ─► handler ─► page, made in the scheduling thread ─► JSON

Access is checked before (`serving.Guard`, or the token of a sandbox). Refusals are Kubernetes
`Status` objects.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from steersman import api
from steersman.base import KUBE_SCHEDULER_RELEASES, steersman_version
from steersman.explain import PendingCauses
from steersman.kube.observe import in_slices
from steersman.kube.serving import JSON, Answer, Request, SchedulingLoopBusy, StreamAnswer
from steersman.sandbox.web.answers import WebPart
from steersman.sandbox.web.cluster_feed import TICK_SECONDS, ClusterFeed
from steersman.sandbox.web.configuration_handlers import ConfigurationHandlers
from steersman.sandbox.web.host import WebHost, manifest_text
from steersman.sandbox.web.matrix import PodMatrix, matrix_now, recorded
from steersman.sandbox.web.node_page import NodePage, node_page
from steersman.sandbox.web.pending import pending_report
from steersman.sandbox.web.pod_page import PodPage, pod_page
from steersman.sandbox.web.pod_places import MAX_FOUND, MAX_PODS, PodFilter, pod_table, search
from steersman.sandbox.web.refusals import WebRefusal, bad_request, json_page, not_found, refused
from steersman.sandbox.web.room import RoomReport, room_report
from steersman.sandbox.web.trial import MAX_DECISIONS
from steersman.scheduler.diagnosis import NotEvaluated

logger = logging.getLogger(__name__)

PREFIX: Final = "/web/v1/"
MAX_TEXT_LENGTH: Final = 300
OF_THE_PAST: Final = frozenset(("cluster", "pending", "pods", "nodes", "search", "room", "decisions"))
"""Pages that can show a past time."""
EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
_NUMBER: Final = re.compile("[0-9]{1,15}")
T = TypeVar("T")

PageHandler: TypeAlias = Callable[[Request, tuple[str, ...]], Awaitable[Answer]]


class WebInfo(WebPart, frozen=True, omit_defaults=True):
    host: str
    version: str
    kubernetes_version: str
    read_only: bool = msgspec.field()
    capabilities: tuple[str, ...] = msgspec.field()
    now: float = msgspec.field()
    started: float = msgspec.field()
    profiles: tuple[str, ...] = msgspec.field()
    tick_seconds: float = msgspec.field()
    kubeconfig: str = ""


class WebApi:
    """API of one host. Handlers run in the server thread, nested functions in the scheduling
    thread."""

    def __init__(self, host: WebHost, feed: ClusterFeed) -> None:
        self._host = host
        self._feed = feed
        self._causes = PendingCauses(host.scheduler)
        self._started = host.scheduler.clock.now()
        self._pages: dict[str, PageHandler] = {
            "info": self._info,
            "cluster": self._cluster,
            "stream": self._stream,
            "pending": self._pending,
            "pods": self._pods,
            "room": self._room,
            "nodes": self._nodes,
            "search": self._search,
            "decisions": self._decisions,
            "configuration": self._configuration,
        }
        self._configurations = ConfigurationHandlers(host)
        self._posts = self._configurations.by_path()

    async def answer(self, request: Request) -> Answer:
        """Return the answer; refusals and faults are answers too. Raises only if the scheduling
        thread is busy."""
        try:
            return await self._routed(request)
        except WebRefusal as refusal:
            return refused(refusal)
        except SchedulingLoopBusy as busy:
            return refused(WebRefusal(503, "ServiceUnavailable", str(busy).strip()), {"Retry-After": "10"})
        except Exception:
            logger.exception("%s %s cannot be answered", request.method, request.path)
            return refused(WebRefusal(500, "InternalError", "something is broken; the log of the server says what"))

    async def _routed(self, request: Request) -> Answer:
        if request.body is None:
            raise WebRefusal(413, "RequestEntityTooLarge", "the body is too long")
        path = request.path.removeprefix(PREFIX)
        action = self._posts.get(path) if request.method == "POST" else None
        action = action or self._action(request.method, path)
        if action is not None:
            return await action(request)
        first, *parts = path.split("/")
        page = self._pages.get(first)
        if page is None:
            raise not_found(f"path {request.path}")
        if request.method not in ("GET", "HEAD"):
            raise WebRefusal(405, "MethodNotAllowed", f"{request.method} is not possible here")
        if request.has("at") and first in OF_THE_PAST:
            return await self._past(request)
        return await page(request, tuple(parts))

    async def _past(self, request: Request) -> Answer:
        """Return the page at the time `at`."""
        if self._host.past is None:
            raise not_found("nothing of the past is remembered here: a record")
        query = tuple((name, value) for name, value in request.query if name != "at")
        try:
            at = float(request.value("at"))
        except ValueError:
            at = math.nan
        if not math.isfinite(at):
            raise bad_request(f"at: Invalid value: {request.value('at')[:40]!r}: use seconds since the Unix epoch")
        return await self._host.past(at, msgspec.structs.replace(request, query=query))

    def _action(self, method: str, path: str) -> Callable[[Request], Awaitable[Answer]] | None:
        actions = self._host.actions
        exact = actions.get(f"{method} {path}")
        if exact is not None:
            return exact
        beginning = path.partition("/")[0]
        return actions.get(f"* {beginning}/") if "/" in path else None

    # -- pages -------------------------------------------------------------------------------------------------------

    async def _info(self, request: Request, parts: tuple[str, ...]) -> Answer:
        host = self._host
        _no_parts(request, parts)
        return json_page(
            WebInfo(
                host=host.kind,
                version=steersman_version(),
                kubernetes_version=KUBE_SCHEDULER_RELEASES[str(host.scheduler.options.gates.version)],
                read_only=host.is_read_only,
                capabilities=host.capabilities,
                now=host.scheduler.clock.now(),
                started=self._started,
                profiles=tuple(host.scheduler.profiles),
                tick_seconds=TICK_SECONDS,
                kubeconfig=host.kubeconfig,
            )
        )

    async def _cluster(self, request: Request, parts: tuple[str, ...]) -> Answer:
        _no_parts(request, parts)
        return Answer(200, await self._feed.snapshot(), JSON)

    async def _stream(self, request: Request, parts: tuple[str, ...]) -> Answer:
        _no_parts(request, parts)
        if self._feed.is_crowded:
            raise WebRefusal(429, "TooManyRequests", "there are too many streams: close some pages")
        since = _number(request, "since", -1)
        pieces = self._feed.pieces(request.value("epoch"), since if since >= 0 else None)
        return StreamAnswer(content_type=EVENT_STREAM, headers={"Cache-Control": "no-store"}, pieces=pieces)

    async def _pending(self, request: Request, parts: tuple[str, ...]) -> Answer:
        _no_parts(request, parts)
        return json_page(await self._in_slices(lambda: pending_report(self._host.scheduler, self._causes)))

    async def _pods(self, request: Request, parts: tuple[str, ...]) -> Answer:
        if not parts:
            return await self._pod_table(request)
        if len(parts) == 2:
            return await self._pod(request, "/".join(parts))
        if len(parts) == 3 and parts[2] == "matrix":
            return await self._matrix("/".join(parts[:2]))
        raise not_found(f"path {request.path}")

    async def _pod_table(self, request: Request) -> Answer:
        host = self._host
        limit, offset = _number(request, "limit", 500, MAX_PODS), _number(request, "offset", 0)
        wanted = PodFilter(*(_text(request, name) for name in ("node", "place", "namespace", "text")))
        return json_page(await self._in_slices(lambda: pod_table(host.scheduler, host.attempts, wanted, limit, offset)))

    async def _pod(self, request: Request, key: str) -> Answer:
        host = self._host

        async def page() -> tuple[PodPage, api.Pod]:
            pod = self._known_pod(key)
            return pod_page(host.scheduler, host.decisions, host.attempts, host.events, self._causes, pod), pod

        made, pod = await host.ask(page)
        return json_page(msgspec.structs.replace(made, yaml=manifest_text(host.document(pod))))

    async def _matrix(self, key: str) -> Answer:
        host = self._host

        async def matrix() -> PodMatrix:
            made = matrix_now(host.scheduler, self._known_pod(key), host.attempts.preemption(key))
            return made if host.chosen is None else recorded(made, host.chosen.get(key, ""))

        return json_page(await self._asked(matrix))

    async def _room(self, request: Request, parts: tuple[str, ...]) -> Answer:
        _no_parts(request, parts)
        key = _text(request, "pod")

        async def room() -> RoomReport:
            return room_report(self._host.scheduler, self._known_pod(key))

        return json_page(await self._asked(room))

    async def _nodes(self, request: Request, parts: tuple[str, ...]) -> Answer:
        if len(parts) != 1:
            raise not_found(f"path {request.path}")
        host, name = self._host, parts[0]

        def page() -> Iterator[NodePage | None]:
            row = host.scheduler.cache.nodes.row_of(name)
            if row is None:
                raise not_found(f"node {name}")
            return node_page(host.scheduler, row)

        async def node() -> api.Node | None:
            row = host.scheduler.cache.nodes.row_of(name)
            return None if row is None else host.scheduler.cache.nodes.node(row)

        made, found = await self._in_slices(page), await host.ask(node)
        text = "" if found is None else manifest_text(host.document(found))
        return json_page(msgspec.structs.replace(made, yaml=text))

    async def _search(self, request: Request, parts: tuple[str, ...]) -> Answer:
        _no_parts(request, parts)
        text, limit = _text(request, "q"), _number(request, "limit", 20, MAX_FOUND)

        async def found() -> object:
            return search(self._host.scheduler, text, limit)

        return json_page(await self._host.ask(found))

    async def _decisions(self, request: Request, parts: tuple[str, ...]) -> Answer:
        _no_parts(request, parts)
        limit = _number(request, "limit", 100, MAX_DECISIONS)

        async def recent() -> object:
            return {"decisions": self._host.decisions.recent(limit)}

        return json_page(await self._host.ask(recent))

    async def _configuration(self, request: Request, parts: tuple[str, ...]) -> Answer:
        _no_parts(request, parts)
        return self._configurations.page()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _known_pod(self, key: str) -> api.Pod:
        pod = self._host.scheduler.pods.get(key)
        if pod is None:
            raise not_found(f"pod {key}")
        return pod

    async def _asked(self, question: Callable[[], Any]) -> Any:
        """Return the answer, or a refusal if the pod cannot be evaluated."""
        try:
            return await self._host.ask(question)
        except NotEvaluated as reason:
            raise WebRefusal(409, "Conflict", str(reason)) from reason

    async def _in_slices(self, begin: Callable[[], Iterator[T | None]]) -> T:
        """Return the last value of a generator that runs in slices in the scheduling thread."""

        async def made() -> T:
            last = (await in_slices(begin()))[-1]
            assert last is not None, "the last piece is the page"
            return last

        return await self._host.ask(made)


# -- parameters and answers --------------------------------------------------------------------------------------------


def _no_parts(request: Request, parts: tuple[str, ...]) -> None:
    if parts:
        raise not_found(f"path {request.path}")


def _number(request: Request, name: str, default: int, most: int | None = None) -> int:
    given = request.value(name)
    if not given:
        return default
    if not _NUMBER.fullmatch(given) or (most is not None and not 1 <= int(given) <= most):
        wanted = "a number" if most is None else f"a number from 1 to {most}"
        raise bad_request(f"{name}: Invalid value: {given[:40]!r}: use {wanted}")
    return int(given)


def _text(request: Request, name: str) -> str:
    given = request.value(name)
    if len(given) > MAX_TEXT_LENGTH:
        raise bad_request(f"{name}: is longer than {MAX_TEXT_LENGTH} characters")
    return given
