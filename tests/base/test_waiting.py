# SPDX-License-Identifier: Apache-2.0
"""Waiting for work or for an event, whichever comes first."""

from __future__ import annotations

import asyncio

import pytest

from steersman.base.waiting import ended_before


def test_work_that_ends_has_ended_first() -> None:
    assert asyncio.run(ended_before(asyncio.Event(), asyncio.sleep(0)))


def test_an_event_cancels_the_work_and_waits_for_its_end() -> None:
    story: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            story.append("cleaned up")

    async def scenario() -> bool:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_soon(stop.set)
        return await ended_before(stop, work())

    assert not asyncio.run(scenario())
    assert story == ["cleaned up"]


def test_what_the_work_raises_goes_on_as_it_is() -> None:
    async def work() -> None:
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        asyncio.run(ended_before(asyncio.Event(), work()))


def test_a_cancellation_from_outside_ends_both() -> None:
    story: list[str] = []

    async def scenario() -> None:
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                story.append("cleaned up")

        task = asyncio.create_task(ended_before(asyncio.Event(), work()))
        await begun.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(scenario())
    assert story == ["cleaned up"]
