# SPDX-License-Identifier: Apache-2.0
"""Handlers of the server: each turns one page of the `endpoints` into an answer."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from steersman.base import printable, printable_lines
from steersman.kube.observe import CONTENT_TYPE
from steersman.kube.serving import zpages
from steersman.kube.serving.endpoints import Endpoints
from steersman.kube.serving.health import Health, HealthAnswer
from steersman.kube.serving.http import NOT_FOUND, Answer, Request, Route, json_answer, text_answer

logger = logging.getLogger(__name__)

_RECENT: Final = 100
_MAX_LISTED: Final = 10_000
_LIMIT: Final = re.compile("[0-9]{1,9}")
BAD_LIMIT: Final = "limit must be a number from 1 to {}\n"


def routes(endpoints: Endpoints) -> list[Route]:
    served = _common_routes(endpoints)
    if endpoints.flags is not None:
        served.append(_page_route("/flagz", partial(zpages.flagz, endpoints.flags)))
    if endpoints.process is not None:
        paths = [route.path for route in served]
        served.append(_page_route("/statusz", partial(zpages.statusz, endpoints.process, paths)))
    return served


def _common_routes(endpoints: Endpoints) -> list[Route]:
    handlers = Handlers(endpoints)
    return [
        *(
            route
            for health in (endpoints.healthz, endpoints.livez, endpoints.readyz)
            for route in _health_routes(health)
        ),
        Route("/metrics", handlers.metrics),
        Route("/metrics/resources", handlers.resources),
        Route("/metrics/slis", handlers.health),
        Route("/configz", handlers.configz),
        Route("/debug/cache", handlers.cache),
        Route("/debug/queue", handlers.queue),
        *_task_routes(endpoints.tasks),
        Route("/debug/decisions", handlers.recent_decisions),
        Route("/debug/decisions/{namespace}/{name}", handlers.decisions_on_a_pod),
    ]


class Handlers:
    """One method per path."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    async def metrics(self, request: Request) -> Answer:
        return Answer(body=await self._endpoints.metrics(), content_type=CONTENT_TYPE)

    async def resources(self, request: Request) -> Answer:
        return Answer(body=await self._endpoints.resources(), content_type=CONTENT_TYPE)

    async def health(self, request: Request) -> Answer:
        return Answer(body=self._endpoints.health(), content_type=CONTENT_TYPE)

    async def configz(self, request: Request) -> Answer:
        return json_answer({"componentconfig": self._endpoints.configuration()})

    async def cache(self, request: Request) -> Answer:
        return text_answer(printable_lines(await self._endpoints.cache()))

    async def queue(self, request: Request) -> Answer:
        return text_answer(printable_lines(await self._endpoints.queue()))

    async def recent_decisions(self, request: Request) -> Answer:
        """Answer with the latest decisions, at most `?limit=`, latest first."""
        given = request.value("limit", str(_RECENT))
        if not _LIMIT.fullmatch(given) or not 1 <= int(given) <= _MAX_LISTED:
            return text_answer(BAD_LIMIT.format(_MAX_LISTED), 400)
        recent = await self._endpoints.decisions.recent(int(given))
        return json_answer({"decisions": [record.to_dict() for record in recent]})

    async def decisions_on_a_pod(self, request: Request) -> Answer:
        """Answer with the decisions on a pod; `?explain` adds the current verdicts of all
        plugins."""
        decisions, pod = self._endpoints.decisions, "{namespace}/{name}".format(**request.parts)
        explanation = await decisions.explain(pod) if request.has("explain") else None
        if explanation is not None and request.value("explain") == "table":
            return text_answer(printable_lines(f"{explanation.table()}\n"))
        records = await decisions.of_pod(pod)
        if not records and explanation is None:
            return text_answer(f"nothing is known of pod {printable(pod)}\n", 404)
        body: dict[str, Any] = {"decisions": [record.to_dict() for record in records]}
        if explanation is not None:
            body["explanation"] = explanation.to_dict()
        return json_answer(body)


def _page_route(path: str, page: Callable[[], zpages.ZPage]) -> Route:
    async def show(request: Request) -> Answer:
        return zpages.answer(page(), request.headers.get("Accept"))

    return Route(path, show)


def _task_routes(tasks: Callable[[], Awaitable[str]] | None) -> list[Route]:
    if tasks is None:
        return []

    async def show(request: Request) -> Answer:
        return text_answer(printable_lines(await tasks()))

    return [Route("/debug/tasks", show)]


def _health_routes(health: Health) -> list[Route]:
    async def summary(request: Request) -> Answer:
        answer = health.summary(request.has("verbose"), request.values("exclude"))
        for failure in answer.failures:
            logger.info("%s check failed: %s", health.name, failure)
        return _text(answer)

    async def single(request: Request) -> Answer:
        answer = health.single(request.parts["check"])
        return text_answer(NOT_FOUND, 404) if answer is None else _text(answer)

    return [Route(f"/{health.name}", summary), Route(f"/{health.name}/{{check}}", single)]


def _text(answer: HealthAnswer) -> Answer:
    return text_answer(printable_lines(answer.text), answer.status)
