# SPDX-License-Identifier: Apache-2.0
"""The start of `steersman run`: what is not imported on the way to the first binding, and what comes before what."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pytest
from tests.kube.serving.running import endpoints as pages

from steersman.base.timing import Timing
from steersman.kube.client.connection import Connection
from steersman.kube.client.transport import HttpTransport
from steersman.kube.observe import Metrics
from steersman.run.app import ServingOptions, endpoints
from steersman.run.app.control_thread import ControlTransports

HEAVY = (
    "aiohttp",
    "cryptography",
    "re2",
    "rich",
    "steersman.api.cel.parser",
    "steersman.testing",
    "steersman.testing.bench",
)
"""Each takes 20 ms or more, and a scheduler may well never need it, or not before it serves."""


def test_what_few_schedulers_need_is_not_imported_before_it_is_needed() -> None:
    code = f"import sys; from steersman.run.app import main; print([name for name in {HEAVY} if name in sys.modules])"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert imported.stdout.strip() == "[]"


def nobody() -> ControlTransports:
    """Transports to a server that is not there."""
    nowhere = HttpTransport(Connection("http://127.0.0.1:1"))
    return ControlTransports(nowhere, nowhere, nowhere)


def test_the_cluster_may_be_followed_as_soon_as_the_port_is_had() -> None:
    """Not later: what the server needs is imported meanwhile."""
    story: list[str] = []

    async def scenario() -> None:
        options = ServingOptions("127.0.0.1", _free_port())
        prepared = endpoints.served(options, pages(), nobody(), Timing(), Metrics(), lambda: story.append("prepared"))
        async with prepared as server:
            assert server is not None
            assert server.port == options.port
            story.append("serving")

    asyncio.run(scenario())
    assert story == ["prepared", "serving"]


def test_a_port_that_is_taken_is_found_before_the_cluster_is_followed() -> None:
    story: list[str] = []

    async def scenario(port: int) -> None:
        options = ServingOptions("127.0.0.1", port)
        async with endpoints.served(options, pages(), nobody(), Timing(), Metrics(), lambda: story.append("prepared")):
            story.append("serving")

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="cannot listen"):
        asyncio.run(scenario(taken.getsockname()[1]))
    assert story == []


def test_a_scheduler_that_serves_nothing_follows_the_cluster_all_the_same() -> None:
    story: list[str] = []

    async def scenario() -> None:
        async with endpoints.served(
            ServingOptions(port=0), pages(), nobody(), Timing(), Metrics(), lambda: story.append("prepared")
        ) as server:
            assert server is None

    asyncio.run(scenario())
    assert story == ["prepared"]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
