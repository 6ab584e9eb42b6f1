# SPDX-License-Identifier: Apache-2.0
"""Coroutines wait in virtual time: nothing sleeps."""

from __future__ import annotations

import asyncio

import pytest

from steersman.base.clock import ManualClock
from steersman.simulation.virtual_time.tasks import ENDLESS_WAIT, SimulationError, Tasks

START = 1_767_225_600.0


async def wait_for_nothing(seconds: float, clock: ManualClock, times: list[float]) -> None:
    try:
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
    except TimeoutError:
        times.append(clock.monotonic() - START)


def test_timeouts_fire_in_the_order_of_time_and_at_their_time() -> None:
    clock = ManualClock(START)
    tasks, times = Tasks(clock), list[float]()
    for seconds in (900.0, 2.5, 86400.0 * 3):
        tasks.spawn(wait_for_nothing(seconds, clock, times))
    while tasks:
        tasks.advance(None)
    assert times == [2.5, 900.0, 86400.0 * 3]


def test_time_does_not_pass_beyond_the_limit() -> None:
    clock = ManualClock(START)
    tasks, times = Tasks(clock), list[float]()
    tasks.spawn(wait_for_nothing(60.0, clock, times))
    tasks.advance(START + 10.0)
    assert clock.monotonic() == START + 10.0
    assert times == []
    tasks.advance(START + 100.0)
    assert times == [60.0]


def test_tasks_run_as_far_as_they_can_without_time_passing() -> None:
    clock = ManualClock(START)
    tasks, steps = Tasks(clock), list[int]()

    async def three_steps() -> None:
        for step in range(3):
            steps.append(step)
            await asyncio.sleep(0)

    tasks.spawn(three_steps())
    assert tasks.run_ready() is None
    assert steps == [0, 1, 2]
    assert len(tasks) == 0
    assert clock.monotonic() == START


def test_waiting_for_what_never_comes_is_an_error_and_not_a_hang() -> None:
    tasks = Tasks(ManualClock(START))

    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    tasks.spawn(wait_for_ever())
    with pytest.raises(SimulationError, match="never comes"):
        tasks.advance(None)
    tasks.close()
    assert "threads" in ENDLESS_WAIT


def test_an_exception_of_a_task_reaches_the_caller_that_runs_it() -> None:
    tasks = Tasks(ManualClock(START))

    async def fail() -> None:
        raise ValueError("boom")

    tasks.spawn(fail())
    with pytest.raises(ValueError, match="boom"):
        tasks.run_ready()


def test_it_works_inside_of_another_running_loop() -> None:
    async def in_a_notebook() -> list[float]:
        clock = ManualClock(START)
        tasks, times = Tasks(clock), list[float]()
        tasks.spawn(wait_for_nothing(5.0, clock, times))
        tasks.advance(None)
        await asyncio.sleep(0)
        return times

    assert asyncio.run(in_a_notebook()) == [5.0]
