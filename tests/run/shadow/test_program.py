# SPDX-License-Identifier: Apache-2.0
"""A shadow on the API server of the tests: it follows, compares, ends, and sends nothing but GET."""

from __future__ import annotations

import asyncio
import urllib.request

import pytest
from tests.app.running import free_port
from tests.client.api_server import ApiServer
from tests.client.serving import run
from tests.live.asking import cluster

from steersman import api
from steersman.base.timing import Timing
from steersman.explain.live import LiveError
from steersman.kube.client import Connection, LeaseNotHeld, Request, http_transport
from steersman.run.app import RunOptions, effective
from steersman.run.shadow import ComparisonClass, Shadow, ShadowOptions, ShadowScreen, ShadowSummary
from steersman.testing import make_pod


def followed(server: ApiServer, options: ShadowOptions, pods: int = 1) -> ShadowSummary:
    """The summary of a shadow; so many pods come once it has begun, and are bound at once."""
    begun = asyncio.Event()

    async def place() -> None:
        await begun.wait()
        for index in range(pods):
            pod = server.store.create(make_pod(f"web-{index}").req(cpu="1").obj())
            server.pods.bind("default", f"web-{index}", pod.metadata.uid, "n0")

    async def scenario() -> ShadowSummary:
        screen = ShadowScreen(begun=lambda nodes, pods: begun.set())
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            shadow = Shadow(effective(RunOptions()), options, transport, Timing(), address, screen)
            await shadow.check_rights()
            placing = asyncio.ensure_future(place())
            summary = await shadow.run(asyncio.Event())
            await placing
            return summary

    summary = run(scenario())
    assert {request.split()[0] for request in server.requests} == {"GET"}
    return summary


def test_it_ends_after_as_many_decisions_as_wanted() -> None:
    summary = followed(cluster(nodes=1), ShadowOptions(hold=0.0, decisions=2), pods=2)
    assert summary.counts == {ComparisonClass.SAME: 2}


def test_it_ends_when_the_time_is_over_and_examines_what_is_left() -> None:
    summary = followed(cluster(nodes=2), ShadowOptions(hold=60.0, duration=0.5))
    assert summary.counts == {ComparisonClass.TIE: 1}


def test_a_right_that_is_missing_is_named_before_anything_is_followed() -> None:
    server = cluster(nodes=1, kinds=[kind for kind in api.KINDS.values() if kind is not api.CSINode])

    async def scenario() -> None:
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            shadow = Shadow(effective(RunOptions()), ShadowOptions(), transport, Timing(), address, ShadowScreen())
            await shadow.check_rights()

    with pytest.raises(LiveError, match=r"cannot list csinodes\.storage\.k8s\.io"):
        run(scenario())


def test_the_transport_sends_no_write_even_if_it_is_asked_to() -> None:
    server = cluster(nodes=1)

    async def scenario() -> None:
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            shadow = Shadow(effective(RunOptions()), ShadowOptions(), transport, Timing(), address, ShadowScreen())
            await shadow.transport.request(Request("POST", "/api/v1/namespaces/default/pods", body=b"{}"))

    with pytest.raises(LeaseNotHeld):
        run(scenario())
    assert not server.requests


def test_metrics_are_served_over_plain_http() -> None:
    server, pages = cluster(nodes=1), dict[str, bytes]()

    async def scenario() -> None:
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            begun, stop, port = asyncio.Event(), asyncio.Event(), free_port()
            screen = ShadowScreen(begun=lambda nodes, pods: begun.set())
            options = ShadowOptions(address="127.0.0.1", port=port)
            shadow = Shadow(effective(RunOptions()), options, transport, Timing(), address, screen)
            running = asyncio.ensure_future(shadow.run(stop))
            await begun.wait()
            for path in ("/readyz", "/metrics"):
                pages[path] = await asyncio.to_thread(_page, f"http://127.0.0.1:{port}{path}")
            stop.set()
            await running

    run(scenario())
    assert pages["/readyz"] == b"ok"
    assert b"steersman_shadow_lag_seconds 0.0" in pages["/metrics"]


def _page(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        content: bytes = answer.read()
        return content
