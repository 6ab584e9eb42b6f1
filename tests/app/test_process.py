# SPDX-License-Identifier: Apache-2.0
"""What a running scheduler asks of the operating system; work in the background that fails is begun again; the heartbeat of the
scheduling loop is watched, in virtual time."""

from __future__ import annotations

import asyncio
import logging

import pytest
from tests.client.following import IMPATIENT, running, until
from tests.client.pacing import NoChance, Pacing
from tests.client.serving import run

from steersman.base.clock import ManualClock
from steersman.base.timing import Timing
from steersman.kube.observe import Metrics
from steersman.run.app.process import (
    CHECK_SECONDS,
    STANDSTILL_SECONDS,
    Heartbeat,
    Watchdog,
    raise_open_files,
    run_with_restarts,
)


def test_as_many_files_may_be_open_as_the_operator_allows() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    try:
        raise_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# -- work in the background --------------------------------------------------------------------------------------------


def test_what_fails_is_logged_counted_and_begun_again(caplog: pytest.LogCaptureFixture) -> None:
    metrics, begun = Metrics(), []

    async def work() -> None:
        begun.append(1)
        if len(begun) < 3:
            raise ValueError("nobody expects this")
        await asyncio.Event().wait()

    async def scenario() -> None:
        async with running(run_with_restarts("certificate", work, IMPATIENT, metrics)):
            await until(lambda: len(begun) == 3)

    with caplog.at_level(logging.ERROR, "steersman.run.app"):
        run(scenario())
    failures = metrics.registry.get_sample_value("steersman_background_failures_total", {"task": "certificate"})
    assert failures == 2
    assert len([message for message in caplog.messages if message.startswith("certificate has failed")]) == 2


# -- the scheduling loop -----------------------------------------------------------------------------------------------


class Watched:
    def __init__(self) -> None:
        self.pacing = Pacing()
        self.heartbeat = Heartbeat(self.pacing.timing, Metrics())
        self.given_up = 0
        self.watchdog = Watchdog(self.heartbeat, self.pacing.timing, self._give_up)
        self.watchdog.look()

    def _give_up(self) -> None:
        self.given_up += 1

    def pass_time(self, seconds: float, *, beats: bool) -> None:
        """The watchdog looks as often as it should."""
        for _ in range(int(seconds / CHECK_SECONDS)):
            self.pacing.clock.advance(CHECK_SECONDS)
            self.heartbeat.beats += beats
            self.watchdog.look()

    @property
    def failure(self) -> str:
        return self.watchdog.check().probe()


def test_a_loop_that_turns_is_well() -> None:
    watched = Watched()
    watched.pass_time(1000, beats=True)
    assert (watched.failure, watched.given_up) == ("", 0)


def test_a_loop_that_stands_still_for_long_fails_the_check_and_is_given_up_once() -> None:
    watched = Watched()
    watched.pass_time(STANDSTILL_SECONDS - 1, beats=False)
    assert (watched.failure, watched.given_up) == ("", 0)
    watched.pass_time(100, beats=False)
    assert watched.failure.startswith("the scheduling loop has stood still for 1")
    assert watched.given_up == 1


def test_a_loop_that_turns_again_is_well_again() -> None:
    watched = Watched()
    watched.pass_time(STANDSTILL_SECONDS + 1, beats=False)
    watched.pass_time(1, beats=True)
    assert watched.failure == ""


def test_a_machine_that_was_asleep_gives_nothing_up() -> None:
    watched = Watched()
    watched.pass_time(10, beats=True)
    watched.pacing.clock.advance(10_000)
    watched.watchdog.look()
    assert (watched.failure, watched.given_up) == ("", 0)


def test_the_lag_is_how_late_a_beat_comes() -> None:
    clock, metrics = ManualClock(), Metrics()

    async def late(seconds: float) -> None:
        clock.advance(seconds + 3.0)
        await asyncio.sleep(0)

    async def scenario() -> None:
        heartbeat = Heartbeat(Timing(clock, NoChance(), late), metrics)
        async with running(heartbeat.run()):
            await until(lambda: heartbeat.beats)
            assert heartbeat.lag == 3.0

    run(scenario())
    assert metrics.loop_delay_seconds.total >= 3.0
