# SPDX-License-Identifier: Apache-2.0
"""Time that is sped up, stopped and moved on by hand, and timers that follow it."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import pytest

from steersman.base.errors import InputError
from steersman.scheduler.host import LoopTimers, ScaledClock, Speed, TimerHeap, parse_speed

START = 1_000_000.0


class FakeHandle:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None

    def run(self) -> None:
        if self.callback is not None:
            self.callback()


class FakeLoop:
    """An event loop whose real time passes in `pass_real_time` alone; it remembers what callbacks raised."""

    def __init__(self) -> None:
        self.now = 0.0
        self._ready: deque[FakeHandle] = deque()
        self._later: list[tuple[float, int, FakeHandle]] = []
        self._serial = 0
        self.failures: list[Exception] = []

    def call_soon(self, callback: Callable[[], None]) -> FakeHandle:
        handle = FakeHandle(callback)
        self._ready.append(handle)
        return handle

    def call_later(self, seconds: float, callback: Callable[[], None]) -> FakeHandle:
        self._serial += 1
        handle = FakeHandle(callback)
        heapq.heappush(self._later, (self.now + seconds, self._serial, handle))
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(context["exception"])

    def run_ready(self, most: int = 1000) -> None:
        while self._ready and most:
            most -= 1
            self._ready.popleft().run()
        assert most, "the loop never rests"

    def pass_real_time(self, seconds: float) -> None:
        end = self.now + seconds
        self.run_ready()
        while self._later and self._later[0][0] <= end:
            self.now, _, handle = heapq.heappop(self._later)
            handle.run()
            self.run_ready()
        self.now = end


class World:
    """A clock and its timers on a fake loop; `called` has the names and times of what was called, since the start."""

    def __init__(self, speed: Speed = 1.0) -> None:
        self.loop = FakeLoop()
        self.clock = ScaledClock(speed, start=START, real=lambda: self.loop.now)
        self.timers = LoopTimers(self.clock, cast("asyncio.AbstractEventLoop", self.loop))
        self.called: list[tuple[str, float]] = []

    @property
    def seconds(self) -> float:
        """What has passed on the clock."""
        return round(self.clock.monotonic() - START, 3)

    def set(self, name: str, seconds: float, *, is_background: bool = False) -> None:
        self.timers.call_at(START + seconds, lambda: self.note(name), is_background=is_background)

    def note(self, name: str) -> None:
        self.called.append((name, self.seconds))


def test_real_time_passes_as_it_is() -> None:
    world = World()
    world.set("a", 5)
    world.loop.pass_real_time(4.9)
    assert world.called == []
    world.loop.pass_real_time(0.1)
    assert world.called == [("a", 5)]


def test_time_passes_sixty_times_as_fast() -> None:
    world = World(60)
    world.set("late", 120)
    world.set("early", 60)
    world.loop.pass_real_time(1)
    assert world.called == [("early", 60)]
    assert world.clock.now() == START + 60
    world.loop.pass_real_time(1)
    assert world.called == [("early", 60), ("late", 120)]


def test_a_timer_that_is_called_late_sees_its_own_moment() -> None:
    world = World(60)
    world.set("a", 10)
    world.loop.now += 5  # the loop was busy
    assert world.seconds == 10
    world.timers.call_at(START + 3, lambda: world.note("before"))
    world.loop.run_ready()
    world.loop.pass_real_time(0)
    assert world.called == [("before", 10), ("a", 10)]
    assert world.seconds == 300


def test_a_timer_set_by_a_late_one_is_counted_from_its_moment() -> None:
    world = World(60)

    def start() -> None:
        world.set("end", world.seconds + 30)

    world.timers.call_at(START + 10, start)
    world.loop.now += 5
    world.loop.pass_real_time(0)
    assert world.called == [("end", 40)]


def test_a_paused_clock_stands_still_and_calls_nothing() -> None:
    world = World()
    world.set("a", 5)
    world.loop.pass_real_time(2)
    world.clock.pause()
    world.loop.pass_real_time(100)
    assert (world.seconds, world.called, world.clock.is_paused) == (2, [], True)
    world.clock.resume()
    world.loop.pass_real_time(2.9)
    assert world.called == []
    world.loop.pass_real_time(0.1)
    assert world.called == [("a", 5)]


def test_a_change_of_speed_moves_timers() -> None:
    world = World()
    world.set("a", 100)
    world.loop.pass_real_time(10)
    world.clock.speed = 90
    world.loop.pass_real_time(1)
    assert world.called == [("a", 100)]
    assert world.clock.speed == 90


def test_a_step_calls_what_is_due_on_the_way_in_order_and_ends_where_it_should() -> None:
    world = World()
    world.clock.pause()
    for seconds in (30, 10, 61):
        world.set(str(seconds), seconds, is_background=seconds == 10)
    world.clock.step(60)
    assert world.clock.is_stepping
    world.loop.pass_real_time(0)
    assert world.called == [("10", 10), ("30", 30)]
    assert (world.seconds, world.clock.is_stepping) == (60, False)
    world.loop.pass_real_time(100)
    assert world.seconds == 60


def test_steps_add_up() -> None:
    world = World()
    world.clock.pause()
    world.clock.step(1)
    world.clock.step(2)
    world.loop.pass_real_time(0)
    assert world.seconds == 3


def test_a_pause_gives_up_what_is_left_of_a_step() -> None:
    world = World()
    world.clock.pause()
    world.set("a", 10)
    world.clock.step(60)
    world.clock.pause()
    world.loop.pass_real_time(0)
    assert (world.seconds, world.called, world.clock.is_stepping) == (0, [], False)


def test_a_clock_without_timers_steps_at_once() -> None:
    clock = ScaledClock(start=START, real=lambda: 0.0)
    clock.step(5)
    assert clock.now() == START + 5


def test_at_full_speed_the_clock_jumps_from_timer_to_timer() -> None:
    world = World("max")
    world.set("a", 3600)
    world.set("b", 7200)
    world.loop.pass_real_time(0)
    assert world.called == [("a", 3600), ("b", 7200)]


def test_at_full_speed_the_clock_waits_until_nothing_else_is_to_be_done() -> None:
    world = World("max")
    world.set("timer", 3600)

    def begin() -> None:
        world.loop.call_soon(lambda: world.note("work"))

    world.loop.call_soon(begin)
    world.loop.pass_real_time(0)
    assert world.called == [("work", 0), ("timer", 3600)]


def test_at_full_speed_the_background_alone_does_not_hurry_the_clock() -> None:
    world = World("max")
    world.set("cron", 60, is_background=True)
    world.loop.pass_real_time(59)
    assert (world.called, world.seconds) == ([], 59)
    world.loop.pass_real_time(1)
    assert world.called == [("cron", 60)]


def test_at_full_speed_the_background_comes_on_the_way_to_what_is_awaited() -> None:
    world = World("max")
    world.set("cron", 60, is_background=True)
    world.set("job", 90)
    world.loop.pass_real_time(0)
    assert world.called == [("cron", 60), ("job", 90)]


def test_a_paused_clock_does_not_jump() -> None:
    world = World("max")
    world.clock.pause()
    world.set("a", 60)
    world.loop.pass_real_time(10)
    assert world.called == []
    world.clock.resume()
    world.loop.pass_real_time(0)
    assert world.called == [("a", 60)]


def test_a_callback_that_fails_stops_no_other() -> None:
    world = World()

    def fail() -> None:
        raise RuntimeError("broken")

    world.timers.call_at(START + 1, fail)
    world.set("a", 1)
    world.set("b", 2)
    world.loop.pass_real_time(3)
    assert world.called == [("a", 1), ("b", 2)]
    assert [str(failure) for failure in world.loop.failures] == ["broken"]


def test_closed_timers_call_nothing() -> None:
    world = World()
    world.set("a", 1)
    world.timers.close()
    world.clock.pause()
    world.clock.resume()
    world.loop.pass_real_time(3)
    assert (world.called, len(world.timers)) == ([], 0)


def test_time_never_goes_back() -> None:
    world = World(60)
    seen = []
    for _ in range(50):
        world.timers.call_at(START + world.seconds - 5, lambda: seen.append(world.seconds))
        world.set("a", world.seconds + 7)
        world.loop.pass_real_time(0.03)
        seen.append(world.seconds)
    assert seen == sorted(seen)


def test_on_a_real_loop_a_step_wakes_sleepers_in_order() -> None:
    async def story() -> list[str]:
        clock, woken = ScaledClock("max"), list[str]()
        clock.pause()
        timers = LoopTimers(clock, asyncio.get_running_loop())

        async def sleeper(name: str, seconds: float) -> None:
            await timers.sleep(seconds)
            woken.append(name)

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(sleeper("second", 7200))
            group.create_task(sleeper("first", 3600))
            group.create_task(sleeper("at once", 0))
            group.create_task(timers.step(10_000))
        timers.close()
        return woken

    assert asyncio.run(story()) == ["at once", "first", "second"]


def test_on_a_real_loop_full_speed_lets_tasks_finish_before_time_passes() -> None:
    async def story() -> list[str]:
        clock, told, over = ScaledClock("max"), list[str](), asyncio.Event()

        def arrive() -> None:
            told.append("a day later")
            over.set()

        timers = LoopTimers(clock, asyncio.get_running_loop())
        timers.call_at(clock.monotonic() + 86_400, arrive)
        for turn in range(20):
            await asyncio.sleep(0)
            told.append(str(turn))
        async with asyncio.timeout(30):
            await over.wait()
        timers.close()
        return told

    assert asyncio.run(story()) == [*map(str, range(20)), "a day later"]


@pytest.mark.parametrize(("text", "speed"), [("real", 1.0), ("60x", 60.0), ("0.5x", 0.5), ("10", 10.0), ("max", "max")])
def test_speeds_as_people_write_them(text: str, speed: Speed) -> None:
    assert parse_speed(text) == speed


@pytest.mark.parametrize("text", ["fast", "0x", "-1x", "", "nanx", "infx", "1e9x"])
def test_what_is_no_speed_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"is not a speed .*; use real, max, or a factor such as 60x"):
        parse_speed(text)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), 1e300])
def test_steps_back_or_without_end_are_refused(seconds: float) -> None:
    with pytest.raises(InputError, match="is not a number of seconds"):
        ScaledClock().step(seconds)


def test_due_timers_can_be_taken_one_by_one() -> None:
    heap = TimerHeap()
    heap.call_at(1, lambda: None)
    heap.call_at(3, lambda: None, is_background=True)
    assert heap.pop_due(0.5) is None
    assert heap.pop_due(1) is not None
    assert (heap.pop_due(2), len(heap)) == (None, 0)


def test_a_callback_is_told_when_others_should_have_a_turn() -> None:
    told: list[bool] = []

    async def run() -> None:
        clock = ScaledClock()
        timers = LoopTimers(clock, asyncio.get_running_loop())
        done = asyncio.Event()

        def work() -> None:
            told.append(timers.is_overdue())
            while not timers.is_overdue():
                pass
            done.set()

        timers.call_at(clock.monotonic(), work)
        async with asyncio.timeout(10):
            await done.wait()

    asyncio.run(run())
    assert told == [False]
