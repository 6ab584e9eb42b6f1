# SPDX-License-Identifier: Apache-2.0
"""A dispatcher at work on the API server of the tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.client.api_server import ApiServer
from tests.client.following import IMPATIENT, running

from steersman import api
from steersman.base.timing import Timing
from steersman.kube.client.connection import Connection
from steersman.kube.client.dispatcher import Dispatcher
from steersman.kube.client.events import Event, EventRecorder
from steersman.kube.client.pacing import RetryPolicy
from steersman.kube.client.transport import http_transport

INSISTENT = RetryPolicy(attempts=6, deadline=300)


@asynccontextmanager
async def dispatching(server: ApiServer, timing: Timing = IMPATIENT) -> AsyncIterator[Dispatcher]:
    """A dispatcher whose queues are emptied meanwhile."""
    async with server.serving() as address, http_transport(Connection(address)) as transport:
        recorder = EventRecorder(transport, timing, "host", INSISTENT)
        dispatcher = Dispatcher(transport, recorder, timing, INSISTENT)
        async with running(dispatcher.run()):
            yield dispatcher


def stored(server: ApiServer, name: str) -> api.Pod:
    return server.store.get(api.Pod, f"default/{name}")


def events(server: ApiServer) -> list[Event]:
    return list(server.store.objects(Event).values())
