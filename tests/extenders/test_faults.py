# SPDX-License-Identifier: Apache-2.0
"""Extenders that are slow, broken, lying or absent."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from tests.extenders.server import Answer, Json, serve, world

from steersman.api import Duration
from steersman.config import Extender
from steersman.framework.ports import REASON_ERROR
from steersman.testing import make_pod

ABSENT = "http://127.0.0.1:9"
MILLISECONDS = 1_000_000


async def dawdle(args: Json) -> Json:
    await asyncio.Event().wait()


def lie(args: Json) -> Json:
    return {"NodeNames": ["n1", "nowhere"]}


ANSWERS: dict[str, tuple[Answer, str]] = {
    "slow": (dawdle, 'Post "{url}/filter": no answer within 200ms'),
    "broken": (lambda args: web.Response(status=503), "failed filter with extender at URL {url}/filter, code 503"),
    "babbling": (lambda args: web.Response(text="hello"), "cannot read the extender's answer: "),
    "wrong": (lambda args: ["n1"], "cannot read the extender's answer: "),
    "complaining": (lambda args: {"Error": "no quota"}, "no quota"),
    "lying": (
        lie,
        'extender "{url}" claims a filtered node "nowhere" which is not found in the input node list',
    ),
}


def extender(url: str, ignorable: bool = False) -> Extender:
    return Extender(
        url_prefix=url,
        filter_verb="filter",
        node_cache_capable=True,
        ignorable=ignorable,
        http_timeout=Duration(200 * MILLISECONDS),
    )


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_fault_ends_the_attempt_with_its_reason(kind: str) -> None:
    answer, message = ANSWERS[kind]

    async def run() -> None:
        async with serve(filter=answer) as url, world(extender(url)) as cluster:
            assert await cluster.place(make_pod("a")) == ""
            failure = cluster.writer.failures[0]
            assert failure.reason == REASON_ERROR
            assert failure.message.startswith(message.format(url=url))
            assert cluster.scheduler.queue.statistics().error_backoff == 1

    asyncio.run(run())


@pytest.mark.parametrize("kind", ANSWERS)
def test_one_that_is_ignorable_is_left_out(kind: str) -> None:
    answer, _ = ANSWERS[kind]

    async def run() -> None:
        async with serve(filter=answer) as url, world(extender(url, ignorable=True)) as cluster:
            assert await cluster.place(make_pod("a")) != ""

    asyncio.run(run())


def test_one_that_is_not_there_ends_the_attempt_too() -> None:
    async def run() -> None:
        async with world(extender(ABSENT)) as cluster:
            assert await cluster.place(make_pod("a")) == ""
            assert cluster.message.startswith(f'Post "{ABSENT}/filter": ')

    asyncio.run(run())


def test_an_answer_without_nodes_leaves_none() -> None:
    async def run() -> None:
        async with serve(filter=lambda args: {}) as url, world(extender(url)) as cluster:
            assert await cluster.place(make_pod("a")) == ""
            assert cluster.writer.failures[0].reason != REASON_ERROR

    asyncio.run(run())


def test_a_scheduler_that_is_stopped_while_it_waits_keeps_the_pod() -> None:
    async def run() -> None:
        async with serve(filter=dawdle) as url, world(extender(url)) as cluster:
            cluster.add(make_pod("a"))
            attempt = asyncio.ensure_future(cluster.scheduler.schedule_one_async())
            await asyncio.wait([attempt], timeout=0.05)
            attempt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await attempt
            assert cluster.scheduler.queue.get("default/a") is not None
            assert cluster.scheduler.queue.statistics().in_flight == 0
            assert cluster.writer.failures == []
            cluster.scheduler.cache.validate_state()

    asyncio.run(run())


def test_a_password_in_the_address_is_sent_and_never_shown() -> None:
    seen: list[str] = []

    def refuse(args: Json) -> Json:
        return web.Response(status=503)

    async def run() -> None:
        async with serve(filter=refuse) as url:
            secret = url.replace("//", "//me:hunter2@")
            async with world(extender(secret)) as cluster:
                assert await cluster.place(make_pod("a")) == ""
                seen.append(cluster.message)
        async with world(extender("http://me:hunter2@127.0.0.1:9")) as cluster:
            assert await cluster.place(make_pod("a")) == ""
            seen.append(cluster.message)

    asyncio.run(run())
    assert seen[0].startswith("failed filter with extender at URL http://me:***@127.0.0.1:")
    assert seen[1].startswith('Post "http://me:***@127.0.0.1:9/filter": ')
    assert "hunter2" not in "".join(seen)


def test_a_redirect_that_keeps_the_method_is_followed() -> None:
    def filter_all(args: Json) -> Json:
        return {"NodeNames": args["NodeNames"]}

    async def run() -> None:
        async with serve(filter=filter_all) as new:
            moved = {"Location": f"{new}/filter"}
            async with (
                serve(filter=lambda args: web.Response(status=307, headers=moved)) as url,
                world(extender(url)) as cluster,
            ):
                assert await cluster.place(make_pod("a")) != ""

    asyncio.run(run())


def test_redirects_without_end_end_the_attempt() -> None:
    def redirect(args: Json) -> Json:
        return web.Response(status=308, headers={"Location": "/filter"})

    async def run() -> None:
        async with serve(filter=redirect) as url, world(extender(url)) as cluster:
            assert await cluster.place(make_pod("a")) == ""
            assert cluster.message == f'Post "{url}/filter": stopped after 10 redirects'

    asyncio.run(run())
