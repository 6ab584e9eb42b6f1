# SPDX-License-Identifier: Apache-2.0
"""An extender with a bind verb binds instead of the plugins."""

from __future__ import annotations

import asyncio

import msgspec
from tests.extenders.server import Json, Requests, serve, world

from steersman.api import Duration
from steersman.cluster.store import Pods
from steersman.config import Extender
from steersman.testing import make_pod


def extender(url: str, ignorable: bool = False) -> Extender:
    return Extender(url_prefix=url, bind_verb="bind", ignorable=ignorable)


def test_it_is_told_pod_and_node_and_binds() -> None:
    requests = Requests()

    async def run() -> None:
        def bind(args: Json) -> Json:
            Pods(cluster.store).bind(args["PodNamespace"], args["PodName"], args["PodUID"], args["Node"])
            return {}

        async with serve(requests, bind=bind) as url, world(extender(url), nodes=("n1",)) as cluster:
            assert await cluster.place(make_pod("a")) == "n1"
            assert cluster.writer.failures == []

    asyncio.run(run())
    (args,) = requests.of("bind")
    assert args == {"PodName": "a", "PodNamespace": "default", "PodUID": "uid-pod-default-a", "Node": "n1"}


def test_its_refusal_leads_back_to_the_queue() -> None:
    async def run() -> None:
        async with serve(bind=lambda args: {"Error": "no"}) as url, world(extender(url)) as cluster:
            assert await cluster.place(make_pod("a")) == ""
            assert cluster.message == "no"
            assert cluster.scheduler.cache.pod_count == 0

    asyncio.run(run())


def test_one_that_is_ignorable_leaves_it_to_the_plugins() -> None:
    async def run() -> None:
        async with (
            serve(bind=lambda args: {"Error": "no"}) as url,
            world(extender(url, ignorable=True)) as cluster,
        ):
            assert await cluster.place(make_pod("a")) != ""

    asyncio.run(run())


def test_without_the_lease_it_is_not_asked() -> None:
    requests = Requests()

    async def run() -> None:
        async with serve(requests, bind=lambda args: {}) as url, world(extender(url)) as cluster:
            cluster.fence.close()
            assert await cluster.place(make_pod("a")) == ""
            assert "the lease is not held" in cluster.message

    asyncio.run(run())
    assert requests.of("bind") == []


def test_one_that_does_not_answer_may_have_bound_the_pod_and_nothing_is_said_of_a_failure() -> None:
    async def never(args: Json) -> Json:
        await asyncio.Event().wait()

    async def run() -> None:
        slow = Extender(url_prefix="", bind_verb="bind", http_timeout=Duration.parse("100ms"))
        async with (
            serve(bind=never) as url,
            world(msgspec.structs.replace(slow, url_prefix=url)) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == ""
            assert cluster.writer.failures == []
            assert cluster.scheduler.queue.statistics().error_backoff == 1

    asyncio.run(run())
