# SPDX-License-Identifier: Apache-2.0
"""Reflectors at work on the API server of the tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.client.api_server import ApiServer

from steersman import api
from steersman.base.clock import RealClock
from steersman.base.rng import SeededRng
from steersman.base.timing import Timing
from steersman.kube.client.connection import Connection
from steersman.kube.client.list_watch import ListWatch
from steersman.kube.client.reflector import Reflector
from steersman.kube.client.transport import http_transport


class Diary:
    """A sink that writes down what it is told: "+ default/web", "- n1"."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.expected: list[int] = []

    def expect(self, kind: type[api.Object], count: int) -> None:
        self.expected.append(count)

    def changed(self, obj: api.Object) -> None:
        self.entries.append(f"+ {api.key(obj)}")

    def deleted(self, obj: api.Object) -> None:
        self.entries.append(f"- {api.key(obj)}")


async def a_moment(_: float) -> None:
    """However long the pause should be."""
    await asyncio.sleep(0.001)


IMPATIENT = Timing(RealClock(), SeededRng(1), a_moment)


@asynccontextmanager
async def following(
    server: ApiServer, kind: type[api.Object], field_selector: str = ""
) -> AsyncIterator[tuple[Reflector[Any], Diary]]:
    """A reflector that runs, and its sink."""
    diary = Diary()
    async with server.serving() as address, http_transport(Connection(address)) as transport:
        reflector = Reflector(ListWatch(transport, kind, IMPATIENT, field_selector), diary, IMPATIENT)
        async with running(reflector.run()):
            yield reflector, diary


@asynccontextmanager
async def running(*coroutines: Any) -> AsyncIterator[None]:
    """Runs coroutines that do not end, meanwhile."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(coroutine) for coroutine in coroutines]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def until(condition: Callable[[], object]) -> None:
    """Lets others run until the condition holds; the test's own limit ends what never does."""
    while not condition():
        await asyncio.sleep(0.001)
