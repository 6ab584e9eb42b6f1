# SPDX-License-Identifier: Apache-2.0
"""Two loops in two threads: what runs where, and how they end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.client.serving import run

from steersman.kube.serving import SchedulingLoopBusy
from steersman.run.app.control_thread import ControlThread, SchedulingLoopPort


async def thread_name() -> str:
    return threading.current_thread().name


def test_work_is_done_there_and_awaited_here() -> None:
    async def scenario() -> None:
        async with ControlThread() as thread:
            assert await thread.begin(thread_name()) == "control"
            assert await thread_name() != "control"

    run(scenario())


def test_what_is_entered_lives_and_ends_there() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def resident() -> AsyncIterator[str]:
        seen.append(await thread_name())
        yield "value"
        seen.append(await thread_name())

    async def scenario() -> None:
        async with ControlThread() as thread, thread.entered(resident) as value:
            assert (value, seen) == ("value", ["control"])

    run(scenario())
    assert seen == ["control", "control"]


def test_what_cannot_be_entered_says_why_here() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        raise OSError("address already in use")
        yield

    async def scenario() -> None:
        async with ControlThread() as thread:
            with pytest.raises(OSError, match="already in use"):
                async with thread.entered(broken):
                    pytest.fail("unreachable")

    run(scenario())


def test_it_works_on_while_the_scheduling_loop_stands_still() -> None:
    async def scenario() -> None:
        async with ControlThread() as thread:
            done = threading.Event()

            async def work() -> None:
                for _ in range(10):
                    await asyncio.sleep(0.001)
                done.set()

            future = thread.begin(work())
            assert done.wait(10), "the scheduling loop waits here without turning"
            await future

    run(scenario())


def test_the_scheduling_loop_answers_questions() -> None:
    async def scenario() -> None:
        async with ControlThread() as thread:
            port = SchedulingLoopPort(asyncio.get_running_loop())
            assert await thread.begin(port.ask(thread_name)) == threading.current_thread().name

    run(scenario())


def test_a_question_that_is_not_answered_in_time_is_given_up_and_not_answered_later() -> None:
    asked: list[str] = []

    async def question() -> None:
        await asyncio.sleep(0)
        asked.append("answered")

    async def scenario() -> None:
        async with ControlThread() as thread:
            port = SchedulingLoopPort(asyncio.get_running_loop(), 0.01)
            waiting = thread.begin(port.ask(question))
            time.sleep(0.3)
            with pytest.raises(SchedulingLoopBusy, match=r"has not answered within 0\.01 seconds"):
                await waiting
            await asyncio.sleep(0.01)
        assert asked == []

    run(scenario())


def test_no_thread_is_left_behind() -> None:
    async def scenario() -> None:
        async with ControlThread() as thread:
            thread.begin(asyncio.sleep(100))

    run(scenario())
    assert "control" not in [thread.name for thread in threading.enumerate()]


def test_credential_programs_can_be_run_there() -> None:
    async def told() -> bytes:
        process = await asyncio.create_subprocess_exec("echo", "token", stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        return output

    async def scenario() -> None:
        async with ControlThread() as thread:
            assert await thread.begin(told()) == b"token\n"

    run(scenario())
