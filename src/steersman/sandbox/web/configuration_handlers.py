# SPDX-License-Identifier: Apache-2.0
"""Requests about configurations: the one in effect, whether another one is valid, and what it would
have decided.

One trial runs at a time, in slices between scheduling cycles. Used by `http_api`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Iterator
from contextlib import asynccontextmanager
from typing import TypeVar

from steersman import api, config
from steersman.base import InputError
from steersman.kube.observe import beside_scheduling
from steersman.kube.serving import Answer, Request
from steersman.sandbox.web.answers import WebPart
from steersman.sandbox.web.configuration_page import configuration_page, loaded, problems_of, validated
from steersman.sandbox.web.host import Action, WebHost
from steersman.sandbox.web.refusals import WebRefusal, bad_request, decoded_body, json_page
from steersman.sandbox.web.run_comparison import compared_runs, repeat_run
from steersman.sandbox.web.trial import (
    DEFAULT_DECISIONS,
    MAX_DECISIONS,
    ClusterMoment,
    compared,
    decided_again,
    moment_of,
)
from steersman.scheduler.assembly import SchedulerOptions

T = TypeVar("T")


class EditedConfiguration(WebPart, frozen=True):
    """A configuration edited by the user; the `last` decisions are repeated with it."""

    yaml: str
    last: int = DEFAULT_DECISIONS


class ComparedConfigurations(WebPart, frozen=True):
    a: EditedConfiguration
    b: EditedConfiguration
    last: int = DEFAULT_DECISIONS


class OtherRun(WebPart, frozen=True):
    """Another run: its configuration, and the nodes of pods that it placed differently, "" for
    none."""

    pods: dict[str, str]
    yaml: str = ""
    last: int = MAX_DECISIONS


class ConfigurationHandlers:
    """Handlers of the configuration page of one host."""

    def __init__(self, host: WebHost) -> None:
        self._host = host
        self._trial = asyncio.Lock()

    def by_path(self) -> dict[str, Action]:
        """Return the handlers of POST requests by path after `/web/v1/`."""
        return {
            "configuration/validate": self._validate,
            "configuration/try": self._try,
            "compare": self._compare,
            "compare/run": self._compare_run,
        }

    def page(self) -> Answer:
        return json_page(configuration_page(self._host.scheduler.options, self._host.written))

    async def _validate(self, request: Request) -> Answer:
        return json_page(validated(decoded_body(request, EditedConfiguration).yaml, self._host.scheduler.options))

    async def _try(self, request: Request) -> Answer:
        """Compare the last decisions with those of another configuration."""
        body = decoded_body(request, EditedConfiguration)
        edited = self._loaded(body.yaml)
        async with self._exclusive_trial():
            moment = await self._moment(body.last)
            real = [decision.node for decision in moment.decisions]
            side = await _last(decided_again(moment, edited, real))
            return json_page(compared(moment, real, moment.numbers, side))

    async def _compare(self, request: Request) -> Answer:
        """Compare the last decisions under two configurations."""
        body = decoded_body(request, ComparedConfigurations)
        sides = [self._loaded(side.yaml) for side in (body.a, body.b)]
        async with self._exclusive_trial():
            moment = await self._moment(body.last)
            real = [decision.node for decision in moment.decisions]
            first = await _last(decided_again(moment, sides[0], real))
            second = await _last(decided_again(moment, sides[1], first.nodes))
            return json_page(compared(moment, first.nodes, first.numbers, second))

    async def _compare_run(self, request: Request) -> Answer:
        """Compare the last decisions with those of another run."""
        body = decoded_body(request, OtherRun)
        options, other = self._loaded(""), self._loaded(body.yaml)
        async with self._exclusive_trial():
            moment = await self._moment(body.last, body.pods)
            here = [decision.node for decision in moment.decisions]
            keys = [api.key(decision.pod) for decision in moment.decisions]
            there = [body.pods.get(key, node) for key, node in zip(keys, here, strict=True)]
            first = await _last(repeat_run(moment, options, here, there, is_other=False))
            second = await _last(repeat_run(moment, other, here, there, is_other=True))
            return json_page(compared_runs(moment, here, there, (first, second)))

    @asynccontextmanager
    async def _exclusive_trial(self) -> AsyncIterator[None]:
        if self._trial.locked():
            raise WebRefusal(429, "TooManyRequests", "another configuration is being tried: wait until that has ended")
        async with self._trial:
            yield

    async def _moment(self, last: int, waiting: Container[str] = ()) -> ClusterMoment:
        if not 1 <= last <= MAX_DECISIONS:
            raise bad_request(f"last: Invalid value: {last}: use a number from 1 to {MAX_DECISIONS}")

        async def moment() -> ClusterMoment:
            return moment_of(self._host.scheduler, self._host.decisions, last, waiting)

        return await self._host.ask(moment)

    def _loaded(self, text: str) -> SchedulerOptions:
        """Return the options with an edited configuration, or with the one in effect for ""."""
        options = self._host.scheduler.options
        try:
            return loaded(text or config.dump_yaml(options.configuration), options)
        except InputError as error:
            raise WebRefusal(422, "Invalid", str(error), problems_of(error, text)) from error


async def _last(parts: Iterator[T | None]) -> T:
    """Return the last value of a generator that runs in slices between scheduling cycles."""
    last = (await beside_scheduling(parts))[-1]
    assert last is not None, "the last part is what is made"
    return last
