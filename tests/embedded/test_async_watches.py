# SPDX-License-Identifier: Apache-2.0
"""Watches that wait for the next event."""

from __future__ import annotations

import asyncio

import pytest
from tests.embedded.stores import bare_pod, make_store

from steersman import api
from steersman.cluster.store import Expired


def test_an_asynchronous_watch_waits_for_what_comes() -> None:
    async def scenario() -> list[str]:
        store = make_store()
        watch = store.watch((api.Pod,), store.resource_version)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(anext(watch))
            await asyncio.sleep(0)
            assert not first.done()
            store.create(bare_pod("a"))
            store.create(bare_pod("b"))
        second = await anext(watch)
        return [first.result().object.metadata.name, second.object.metadata.name]

    assert asyncio.run(scenario()) == ["a", "b"]


def test_stopping_ends_an_iteration_that_waits() -> None:
    async def scenario() -> list[str]:
        store = make_store()
        watch = store.watch((api.Pod,), store.resource_version)

        async def names() -> list[str]:
            return [event.object.metadata.name async for event in watch]

        async with asyncio.TaskGroup() as group:
            reader = group.create_task(names())
            store.create(bare_pod("a"))
            await asyncio.sleep(0)
            watch.stop()
        return reader.result()

    assert asyncio.run(scenario()) == ["a"]


def test_a_cancelled_wait_loses_nothing() -> None:
    async def scenario() -> str:
        store = make_store()
        watch = store.watch((api.Pod,), store.resource_version)
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        store.create(bare_pod("a"))
        return (await anext(watch)).object.metadata.name

    assert asyncio.run(scenario()) == "a"


def test_many_watchers_wait_side_by_side() -> None:
    async def scenario() -> list[str]:
        store = make_store()
        watches = [store.watch((api.Pod,), store.resource_version) for _ in range(3)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(anext(watch)) for watch in watches]
            await asyncio.sleep(0)
            store.create(bare_pod("a"))
        return [task.result().object.metadata.name for task in tasks]

    assert asyncio.run(scenario()) == ["a", "a", "a"]


def test_a_watcher_that_wakes_too_late_is_told_that_its_version_expired() -> None:
    async def scenario() -> None:
        store = make_store(history=2)
        watch = store.watch((api.Pod,), store.resource_version)
        for number in range(10):
            store.create(bare_pod(str(number)))
        await anext(watch)

    with pytest.raises(Expired):
        asyncio.run(scenario())
