# SPDX-License-Identifier: Apache-2.0
"""Process of a running scheduler: setup, signals, background work and the end of its tasks.

`run` sets up event loop, open files and signals; `Control` has the requests of signals or of an
embedding program.

    signals ─► Control ─► `program`     Heartbeat ─► Watchdog ─► /livez, lease     spawn ─► Bindings ─► finish or undo

Failed background work is restarted. `Heartbeat` runs in the scheduling loop and measures its
delays; `Watchdog` runs in the control loop. Without a heartbeat for long, `/livez` fails and the
lease is released, so that another replica takes over even if no kubelet restarts this one.

`Bindings` runs the scheduler's tasks: at shutdown they finish or are undone. A task that fails does
not affect others.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from steersman.base import InternalErrors, Timing
from steersman.kube.observe import Metrics
from steersman.kube.serving import HealthCheck
from steersman.scheduler.runtime import GuardedCoroutine

logger = logging.getLogger(__name__)

ENDING: Final = (signal.SIGTERM, signal.SIGINT)
PAUSE_SECONDS: Final = 5.0
"""Pause before failed background work is restarted."""
BEAT_SECONDS: Final = 0.25
CHECK_SECONDS: Final = 1.0
STANDSTILL_SECONDS: Final = 60.0
STANDS_STILL: Final = "the scheduling loop has stood still for {:.0f} seconds"
CHECK_NAME: Final = "scheduling-loop"
TASK: Final = "task"
"""Component name of tasks in `InternalErrors`."""


# -- event loop --------------------------------------------------------------------------------------------------------


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop if installed, which halves the cost of TLS."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


# -- open files --------------------------------------------------------------------------------------------------------


def raise_open_files() -> None:
    """Raise the limit of open files to its maximum, as Go programs do.

    The soft RLIMIT_NOFILE, often 1,024, is for programs that use select(); the hard one is the
    operator's. On failure the limit stays unchanged.
    """
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ImportError, OSError, ValueError) as failure:
        logger.info("the number of open files stays limited: %s", failure)


# -- stop requests and signals -----------------------------------------------------------------------------------------


class Control(msgspec.Struct, frozen=True):
    """Events set by signals: `stop` by SIGTERM and SIGINT, `dump` by SIGUSR2."""

    #: Requests an orderly end.
    stop: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    #: Requests a log of cache and queue and their differences from the API server; then cleared.
    dump: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


@contextmanager
def signals_handled(handlers: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """Call the handlers on signals, in the running event loop, until the end of the block."""
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


# -- work in the background --------------------------------------------------------------------------------------------


async def run_with_restarts(
    name: str, work: Callable[[], Coroutine[Any, Any, None]], timing: Timing, metrics: Metrics
) -> None:
    """Run the work until cancelled, restarting it after a pause. Failures are logged."""
    while True:
        try:
            await work()
        except Exception:
            metrics.background_failures[(name,)].inc()
            logger.exception("%s has failed and is begun again in %g seconds", name, PAUSE_SECONDS)
        await timing.sleep(PAUSE_SECONDS)


# -- the scheduling loop -----------------------------------------------------------------------------------------------


class Heartbeat:
    """Heartbeat of the scheduling loop. `beats` and `lag` may be read by any thread."""

    def __init__(self, timing: Timing, metrics: Metrics) -> None:
        self._timing = timing
        self._metrics = metrics
        self.beats = 0
        #: Delay of the last beat in seconds.
        self.lag = 0.0

    async def run(self) -> None:
        """Beat until cancelled."""
        clock = self._timing.clock
        while True:
            due = clock.monotonic() + BEAT_SECONDS
            await self._timing.sleep(BEAT_SECONDS)
            self.lag = max(0.0, clock.monotonic() - due)
            self._metrics.loop_delay_seconds.observe(self.lag)
            self.beats += 1


class Watchdog:
    """Monitors the heartbeat from the control loop."""

    def __init__(self, heartbeat: Heartbeat, timing: Timing, give_up: Callable[[], None]) -> None:
        """Watch the heartbeat; `give_up` is called once if the loop is blocked for too long."""
        self._heartbeat = heartbeat
        self._timing = timing
        self._give_up = give_up
        self._beats = -1
        self._looked = 0.0
        self._gave_up = False
        #: Seconds without a beat, not counting time in which this thread did not run either.
        self.standstill = 0.0

    @property
    def reason(self) -> str:
        """Why the loop counts as blocked; "" if it does not."""
        return STANDS_STILL.format(self.standstill) if self.standstill >= STANDSTILL_SECONDS else ""

    def check(self) -> HealthCheck:
        return HealthCheck(CHECK_NAME, lambda: self.reason)

    async def run(self) -> None:
        """Check the heartbeat until cancelled."""
        while True:
            self.look()
            await self._timing.sleep(CHECK_SECONDS)

    def look(self) -> None:
        now, beats = self._timing.clock.monotonic(), self._heartbeat.beats
        passed = min(now - self._looked, 2 * CHECK_SECONDS)
        self.standstill = 0.0 if beats != self._beats else self.standstill + passed
        self._looked, self._beats = now, beats
        if self.reason and not self._gave_up:
            self._gave_up = True
            logger.error("%s: writes and lease renewals stop", self.reason)
            self._give_up()


# -- bindings in flight ------------------------------------------------------------------------------------------------


class Bindings:
    """Task group for bindings; leaving the `async with` block cancels the remaining tasks."""

    def __init__(self, internal_errors: InternalErrors | None = None) -> None:
        self._internal_errors = internal_errors or InternalErrors()
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cancel()
        await self._group.__aexit__(kind, error, trace)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        survived = partial(self._internal_errors.survived, TASK, "a binding or preemption")
        task = self._group.create_task(GuardedCoroutine(work, survived))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, seconds: float) -> None:
        """Wait for the bindings in flight; undo bindings that take longer than `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._all_done()
        except TimeoutError:
            logger.warning("%d bindings did not finish within %g seconds and are undone", len(self), seconds)
            await self.undo()

    async def undo(self) -> None:
        """Cancel all tasks; each cleans up, so that nothing stays reserved."""
        self._cancel()
        await self._all_done()

    async def _all_done(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
