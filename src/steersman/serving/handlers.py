# SPDX-License-Identifier: Apache-2.0
"""The handlers of the server: each turns one page of the `endpoints` into an answer. Used by `server`."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from aiohttp import web

from steersman.observe import CONTENT_TYPE
from steersman.printable import printable, printable_lines
from steersman.serving import zpages
from steersman.serving.endpoints import Endpoints
from steersman.serving.health import Health, HealthAnswer

logger = logging.getLogger(__name__)

_RECENT: Final = 100
_LONGEST_LIST: Final = 10_000
_LIMIT: Final = re.compile("[0-9]{1,9}")
BAD_LIMIT: Final = "limit must be a number from 1 to {}\n"


def routes(endpoints: Endpoints) -> list[web.RouteDef]:
    served = _common_routes(endpoints)
    if endpoints.flags is not None:
        served.append(_page_route("/flagz", partial(zpages.flagz, endpoints.flags)))
    if endpoints.process is not None:
        paths = [route.path for route in served]
        served.append(_page_route("/statusz", partial(zpages.statusz, endpoints.process, paths)))
    return served


def _common_routes(endpoints: Endpoints) -> list[web.RouteDef]:
    handlers = Handlers(endpoints)
    return [
        *(
            route
            for health in (endpoints.healthz, endpoints.livez, endpoints.readyz)
            for route in _health_routes(health)
        ),
        web.get("/metrics", handlers.metrics),
        web.get("/metrics/resources", handlers.resources),
        web.get("/metrics/slis", handlers.health),
        web.get("/configz", handlers.configz),
        web.get("/debug/cache", handlers.cache),
        web.get("/debug/queue", handlers.queue),
        *_task_routes(endpoints.tasks),
        web.get("/debug/decisions", handlers.recent_decisions),
        web.get("/debug/decisions/{namespace}/{name}", handlers.decisions_on_a_pod),
    ]


class Handlers:
    """One method per path."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    async def metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=await self._endpoints.metrics(), headers={"Content-Type": CONTENT_TYPE})

    async def resources(self, request: web.Request) -> web.Response:
        return web.Response(body=await self._endpoints.resources(), headers={"Content-Type": CONTENT_TYPE})

    async def health(self, request: web.Request) -> web.Response:
        return web.Response(body=self._endpoints.health(), headers={"Content-Type": CONTENT_TYPE})

    async def configz(self, request: web.Request) -> web.Response:
        return web.json_response({"componentconfig": self._endpoints.configuration()})

    async def cache(self, request: web.Request) -> web.Response:
        return web.Response(text=printable_lines(await self._endpoints.cache()))

    async def queue(self, request: web.Request) -> web.Response:
        return web.Response(text=printable_lines(await self._endpoints.queue()))

    async def recent_decisions(self, request: web.Request) -> web.Response:
        """`?limit=`: how many, latest first."""
        given = request.query.get("limit", str(_RECENT))
        if not _LIMIT.fullmatch(given) or not 1 <= int(given) <= _LONGEST_LIST:
            return web.Response(status=400, text=BAD_LIMIT.format(_LONGEST_LIST))
        recent = await self._endpoints.decisions.recent(int(given))
        return web.json_response({"decisions": [record.to_dict() for record in recent]})

    async def decisions_on_a_pod(self, request: web.Request) -> web.Response:
        """`?explain` adds what every node and plugin say of the pod now; `?explain=table` gives that as text."""
        decisions, pod = self._endpoints.decisions, "{namespace}/{name}".format(**request.match_info)
        explanation = await decisions.explain(pod) if "explain" in request.query else None
        if explanation is not None and request.query["explain"] == "table":
            return web.Response(text=printable_lines(f"{explanation.table()}\n"))
        records = await decisions.of(pod)
        if not records and explanation is None:
            return web.Response(status=404, text=f"nothing is known of pod {printable(pod)}\n")
        body: dict[str, Any] = {"decisions": [record.to_dict() for record in records]}
        if explanation is not None:
            body["explanation"] = explanation.to_dict()
        return web.json_response(body)


def _page_route(path: str, page: Callable[[], zpages.ZPage]) -> web.RouteDef:
    async def show(request: web.Request) -> web.Response:
        return zpages.answer(page(), request.headers.get("Accept", ""))

    return web.get(path, show)


def _task_routes(tasks: Callable[[], Awaitable[str]] | None) -> list[web.RouteDef]:
    if tasks is None:
        return []

    async def show(request: web.Request) -> web.Response:
        return web.Response(text=printable_lines(await tasks()))

    return [web.get("/debug/tasks", show)]


def _health_routes(health: Health) -> list[web.RouteDef]:
    async def summary(request: web.Request) -> web.Response:
        answer = health.summary("verbose" in request.query, request.query.getall("exclude", []))
        for failure in answer.failures:
            logger.info("%s check failed: %s", health.name, failure)
        return _text(answer)

    async def single(request: web.Request) -> web.Response:
        answer = health.single(request.match_info["check"])
        return web.Response(status=404, text="404 page not found\n") if answer is None else _text(answer)

    return [web.get(f"/{health.name}", summary), web.get(f"/{health.name}/{{check}}", single)]


def _text(answer: HealthAnswer) -> web.Response:
    return web.Response(status=answer.status, text=printable_lines(answer.text))
