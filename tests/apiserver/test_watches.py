# SPDX-License-Identifier: Apache-2.0
"""Watches over the API: from a version on, through selectors, with bookmarks, and for clients that are too slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.apiserver.embedded_api import CONFIG_MAPS, EmbeddedApi, config_map

from steersman.cluster.apiserver.requests import WatchAnswer
from steersman.cluster.apiserver.watches import INITIAL_EVENTS_END, LINES_AT_A_TIME

DEADLINE_SECONDS = 10.0


class Watching:
    """The events of one watch, one after the other."""

    def __init__(self, cluster: EmbeddedApi, url: str, **headers: str) -> None:
        answer = cluster.ask("GET", url, headers=headers or None)
        assert isinstance(answer, WatchAnswer), answer
        self._pieces: AsyncIterator[bytes] = answer.stream.pieces()
        self._lines: list[bytes] = []

    async def next(self) -> tuple[str, Any]:
        while not self._lines:
            async with asyncio.timeout(DEADLINE_SECONDS):
                self._lines = (await anext(self._pieces)).splitlines()
        event = msgspec.json.decode(self._lines.pop(0))
        return event["type"], event["object"]

    async def names(self, count: int) -> list[tuple[str, str]]:
        return [(what, obj["metadata"]["name"]) for what, obj in [await self.next() for _ in range(count)]]


def test_a_watch_goes_on_from_a_version() -> None:
    async def run() -> None:
        cluster = EmbeddedApi()
        first = cluster.create(CONFIG_MAPS, config_map("a"))
        cluster.create(CONFIG_MAPS, config_map("b"))
        watch = Watching(cluster, f"{CONFIG_MAPS}?watch=1&resourceVersion={first['metadata']['resourceVersion']}")
        cluster.update(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}))
        cluster.delete(f"{CONFIG_MAPS}/b")
        assert await watch.names(3) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
        waiting = asyncio.ensure_future(watch.next())
        await asyncio.sleep(0)
        cluster.create(CONFIG_MAPS, config_map("c"))
        what, obj = await waiting
        assert (what, obj["metadata"]["name"]) == ("ADDED", "c")
        assert obj["metadata"]["resourceVersion"] == cluster.store.resource_version

    asyncio.run(run())


def test_without_a_version_the_objects_come_first() -> None:
    async def run() -> None:
        cluster = EmbeddedApi()
        for name in ("b", "a"):
            cluster.create(CONFIG_MAPS, config_map(name))
        watch = Watching(cluster, f"{CONFIG_MAPS}?watch=true")
        cluster.create(CONFIG_MAPS, config_map("c"))
        assert await watch.names(3) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]

    asyncio.run(run())


def test_the_end_of_the_initial_events_is_marked() -> None:
    async def run() -> None:
        cluster = EmbeddedApi()
        cluster.create(CONFIG_MAPS, config_map("a"))
        query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
        watch = Watching(cluster, f"{CONFIG_MAPS}?{query}")
        assert (await watch.next())[0] == "ADDED"
        what, bookmark = await watch.next()
        assert what == "BOOKMARK"
        assert bookmark["metadata"]["annotations"] == {INITIAL_EVENTS_END: "true"}
        assert bookmark["metadata"]["resourceVersion"] == cluster.store.resource_version

    asyncio.run(run())


def test_an_object_that_leaves_the_selection_is_shown_as_deleted() -> None:
    async def run() -> None:
        cluster = EmbeddedApi()
        version = cluster.store.resource_version
        url = f"{CONFIG_MAPS}?watch=1&resourceVersion={version}&labelSelector=app%3Dweb"
        watch = Watching(cluster, url)
        cluster.create(CONFIG_MAPS, config_map("a"))
        cluster.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"app": "web"}}})
        left = cluster.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"app": "db"}}})
        assert await watch.names(1) == [("ADDED", "a")]
        what, obj = await watch.next()
        assert what == "DELETED"
        assert obj["metadata"]["labels"] == {"app": "web"}
        assert obj["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]

    asyncio.run(run())


def test_a_watcher_that_falls_behind_gets_an_error_and_does_not_block_others() -> None:
    async def run() -> None:
        cluster = EmbeddedApi(history=8)
        version = cluster.create(CONFIG_MAPS, config_map("a"))["metadata"]["resourceVersion"]
        url = f"{CONFIG_MAPS}?watch=1&resourceVersion={version}"
        slow, fast = Watching(cluster, url), Watching(cluster, url)
        for number in range(100):
            cluster.update(f"{CONFIG_MAPS}/a", config_map("a", data={"number": str(number)}))
            assert (await fast.next())[1]["data"] == {"number": str(number)}
        what, status = await slow.next()
        assert what == "ERROR"
        assert (status["code"], status["reason"]) == (410, "Expired")

    asyncio.run(run())


def test_a_version_before_the_history_is_refused() -> None:
    cluster = EmbeddedApi(history=8)
    cluster.create(CONFIG_MAPS, config_map("a"))
    for number in range(40):
        cluster.update(f"{CONFIG_MAPS}/a", config_map("a", data={"number": str(number)}))
    assert cluster.refusal(410, "GET", f"{CONFIG_MAPS}?watch=1&resourceVersion=2")["reason"] == "Expired"
    cluster.refusal(504, "GET", f"{CONFIG_MAPS}?watch=1&resourceVersion=9999")
    cluster.refusal(422, "GET", f"{CONFIG_MAPS}?watch=1&sendInitialEvents=true")


def test_a_watch_ends_after_its_timeout() -> None:
    async def run() -> None:
        cluster = EmbeddedApi()
        answer = cluster.ask("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion=2&timeoutSeconds=1")
        assert isinstance(answer, WatchAnswer)
        async with asyncio.timeout(DEADLINE_SECONDS):
            assert [piece async for piece in answer.stream.pieces()] == []

    asyncio.run(run())


def test_many_objects_come_in_pieces_and_each_once() -> None:
    async def run() -> None:
        cluster = EmbeddedApi()
        count = 2 * LINES_AT_A_TIME + 7
        for number in range(count):
            cluster.create(CONFIG_MAPS, config_map(f"m-{number:04}"))
        watch = Watching(cluster, f"{CONFIG_MAPS}?watch=1&resourceVersion=2")
        seen = [name for _, name in await watch.names(count)]
        assert seen == [f"m-{number:04}" for number in range(count)]

    asyncio.run(run())


def test_three_watchers_see_every_write_once_and_encode_it_once() -> None:
    async def run() -> None:
        cluster = EmbeddedApi()
        url = f"{CONFIG_MAPS}?watch=1&resourceVersion={cluster.store.resource_version}"
        watches = [Watching(cluster, url) for _ in range(3)]
        start = cluster.store.version
        for number in range(50):
            cluster.create(CONFIG_MAPS, config_map(f"m-{number}"))
            cluster.update(f"{CONFIG_MAPS}/m-{number}", config_map(f"m-{number}", data={"x": "1"}))
            if number % 2:
                cluster.delete(f"{CONFIG_MAPS}/m-{number}")
        written = [(commit.type.value, commit.version) for commit in cluster.store.commits_since(start)]
        for watch in watches:
            events = [await watch.next() for _ in written]
            assert [(what, int(obj["metadata"]["resourceVersion"])) for what, obj in events] == written

    asyncio.run(run())


def test_one_object_is_watched_by_its_name() -> None:
    async def run() -> None:
        cluster = EmbeddedApi()
        watch = Watching(cluster, f"{CONFIG_MAPS}/b?watch=1&resourceVersion=2")
        for name in ("a", "b"):
            cluster.create(CONFIG_MAPS, config_map(name))
        assert await watch.names(1) == [("ADDED", "b")]

    asyncio.run(run())


def test_a_watch_gets_a_last_bookmark_before_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steersman.cluster.apiserver.watches.LAST_BOOKMARK_SECONDS", 59.99)

    async def run() -> None:
        cluster = EmbeddedApi()
        watch = Watching(cluster, f"{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion=1")
        what, bookmark = await watch.next()
        assert what == "BOOKMARK"
        assert bookmark["metadata"]["resourceVersion"] == cluster.store.resource_version

    asyncio.run(run())
