# SPDX-License-Identifier: Apache-2.0
"""The loops of a running scheduler go on, whatever one pod, one flush or one task does."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.following import running, until
from tests.client.serving import run

from steersman.base.clock import ManualClock, RealClock
from steersman.base.internal_errors import InternalErrors, describe
from steersman.base.rng import SeededRng
from steersman.base.timing import Timing
from steersman.config import FeatureGates
from steersman.run.app.process import Bindings
from steersman.scheduler.assembly import AttemptObserver, Scheduler, SchedulerOptions
from steersman.scheduler.binding.guarded import Guarded
from steersman.scheduler.cycle.decision import Decision
from steersman.scheduler.host.scheduling_loop import BACKOFF_SECONDS, TIMER_SECONDS, SchedulingLoop
from steersman.scheduler.queue import SchedulingQueue
from steersman.scheduler.what_if import isolated_scheduler
from steersman.testing import Harness, make_node, make_pod


class Torn(RuntimeError):
    """Stands for a programming error."""


async def _a_moment(_: float) -> None:
    await asyncio.sleep(0.001)


class Looping(AttemptObserver):
    """A scheduling loop whose pauses are short."""

    def __init__(self) -> None:
        self.errors = InternalErrors()
        self.decisions: list[Decision] = []
        harness = Harness(nodes=[make_node("n1").capacity(cpu="8", pods="10")])
        self.scheduler: Scheduler = harness.scheduler
        self.scheduler.observe(self)
        self.add = harness.add

    def loop(self) -> SchedulingLoop:
        timing = Timing(RealClock(), SeededRng(1), _a_moment)
        return SchedulingLoop(self.scheduler, timing, self.errors)

    def carried_out(self, decision: Decision) -> None:
        self.decisions.append(decision)


def test_an_error_that_no_pod_answers_for_is_followed_by_a_pause_and_the_next_pod(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        looping = Looping()
        pop, breaks = looping.scheduler.queue.pop_nowait, [True]

        def torn() -> object:
            if breaks:
                breaks.pop()
                raise Torn
            return pop()

        monkeypatch.setattr(looping.scheduler.queue, "pop_nowait", torn)
        looping.add(make_pod("b").req(cpu="1"))
        async with running(looping.loop().run()):
            await until(lambda: looping.decisions)
        assert looping.errors.counts["scheduling loop"] == 1

    run(scenario())


@pytest.mark.parametrize(("gates", "pauses"), [("", [0.7, 0.99, 0.1]), ("SchedulerPopFromBackoffQ=false", [1] * 3)])
def test_backoffs_are_flushed_when_a_whole_second_has_begun(gates: str, pauses: list[float]) -> None:
    """However long flushing takes, here 0.01 and 0.9 seconds. Where backoffs end at any time, so do the pauses."""
    clock, asked = ManualClock(1000.3), list[float]()
    flushes = iter((0.01, 0.9))

    async def sleep(seconds: float) -> None:
        if seconds <= BACKOFF_SECONDS + TIMER_SECONDS:
            asked.append(seconds)
            clock.advance(seconds)
        await asyncio.sleep(0)

    async def scenario() -> None:
        options = SchedulerOptions(gates=FeatureGates.parse(gates))
        scheduler = isolated_scheduler(options, clock, SeededRng(1))
        scheduler.queue.flush_backoff = lambda: clock.advance(next(flushes, 0.0))  # type: ignore[method-assign]
        async with running(SchedulingLoop(scheduler, Timing(clock, SeededRng(1), sleep)).run()):
            await until(lambda: len(asked) >= 3)
        assert asked[:3] == pytest.approx(pauses, abs=2 * TIMER_SECONDS)

    run(scenario())


def test_flushes_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(_: SchedulingQueue) -> None:
        raise Torn

    async def scenario() -> None:
        looping = Looping()
        async with running(looping.loop().run()):
            await until(lambda: looping.errors.counts["queue"] > 10)

    monkeypatch.setattr(SchedulingQueue, "flush_backoff", torn)
    monkeypatch.setattr(SchedulingQueue, "flush_unschedulable", torn)
    run(scenario())


def test_a_task_that_breaks_ends_alone() -> None:
    async def breaking() -> None:
        await asyncio.sleep(0)
        raise Torn

    async def scenario() -> None:
        errors, ended = InternalErrors(), asyncio.Event()

        async def other() -> None:
            await asyncio.sleep(0.01)
            ended.set()

        async with Bindings(errors) as bindings:
            bindings.spawn(other())
            for _ in range(10):
                bindings.spawn(breaking())
            await bindings.finish(10)
            assert ended.is_set()
        assert errors.counts == {"task": 10}

    run(scenario())


def test_a_task_that_is_undone_before_it_begins_cleans_up() -> None:
    async def endless() -> None:
        await asyncio.Event().wait()

    async def scenario() -> None:
        abandoned: list[str] = []
        async with Bindings() as bindings:
            bindings.spawn(Guarded(endless(), lambda: abandoned.append("cleaned up")))
            await bindings.undo()
        assert abandoned == ["cleaned up"]

    run(scenario())


def test_out_of_memory_is_not_survived() -> None:
    with pytest.raises(MemoryError):
        InternalErrors().survived("anywhere", "anything", MemoryError())


def test_an_error_that_cannot_be_told_is_named() -> None:
    class Untold(Exception):
        def __str__(self) -> str:
            raise Torn

    assert describe(Untold()) == "Untold"
    assert describe(ValueError("two\nlines")) == "ValueError: two lines"


class _SlowDecisions(AttemptObserver):
    """Every decision takes 0.4 ms of the clock; notes how many there were when others had their turn."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.decisions = 0
        self.seen_by_others: list[int] = []

    def carried_out(self, decision: Decision) -> None:
        self._clock.advance(0.0004)
        self.decisions += 1

    async def others(self) -> None:
        while True:
            self.seen_by_others.append(self.decisions)
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("pods_at_a_time", "slice_seconds", "turns"),
    [(1, 1.0, [1, 2, 3, 4, 5, 6, 7]), (4, 1.0, [4, 7]), (4, 0.001, [3, 6, 7]), (4, 0.0, [1, 2, 3, 4, 5, 6, 7])],
)
def test_others_have_their_turn_after_some_pods_or_some_time(
    pods_at_a_time: int, slice_seconds: float, turns: list[int]
) -> None:
    async def scenario() -> None:
        clock = ManualClock(1000.0)
        slow = _SlowDecisions(clock)
        harness = Harness(nodes=[make_node("n1").capacity(cpu="8", pods="10")])
        harness.scheduler.observe(slow)
        for index in range(7):
            harness.add(make_pod(f"p{index}").req(cpu="1"))
        timing = Timing(clock, SeededRng(1), _a_moment)
        loop = SchedulingLoop(harness.scheduler, timing, pods_at_a_time=pods_at_a_time, slice_seconds=slice_seconds)
        async with running(slow.others()), running(loop.run()):
            await until(lambda: slow.decisions == 7)
            await until(lambda: slow.seen_by_others[-1] == 7)
        assert [seen for seen in dict.fromkeys(slow.seen_by_others) if seen] == turns

    run(scenario())
