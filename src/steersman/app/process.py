# SPDX-License-Identifier: Apache-2.0
"""The process of a running scheduler: how it is set up and controlled, what keeps it going, and how its tasks end.

`run` sets up event loop, open files and signals; `Control` is what may be asked of a running program from outside, by signals
or by whoever runs it in their own process.

    signals ─► Control ─► `program`     Heartbeat ─► Watchdog ─► /livez, lease     spawn ─► Bindings ─► finish or undo

Work in the background that fails is begun again. `Heartbeat` runs in the scheduling loop and measures how late it is woken;
`Watchdog` runs in the control loop. When there has been no beat for long, `/livez` fails and the lease is given up, so that
another replica takes over even where no kubelet restarts this one.

`Bindings` holds what the scheduler hands to its host: at shutdown it finishes or is undone. A task that breaks ends alone: the
others, and the scheduler, go on.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from steersman.client import Timing
from steersman.internal_errors import InternalErrors
from steersman.observe import Metrics
from steersman.serving import HealthCheck

logger = logging.getLogger(__name__)

ENDING: Final = (signal.SIGTERM, signal.SIGINT)
PAUSE_SECONDS: Final = 5.0
"""After so long background work that failed is begun again."""
BEAT_SECONDS: Final = 0.25
LOOK_SECONDS: Final = 1.0
STANDSTILL_SECONDS: Final = 60.0
STANDS_STILL: Final = "the scheduling loop has stood still for {:.0f} seconds"
CHECK_NAME: Final = "scheduling-loop"
TASK: Final = "task"
"""Where a task breaks, for `InternalErrors`."""


# -- event loop --------------------------------------------------------------------------------------------------------


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where there is one, which does TLS at half the cost."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


# -- open files --------------------------------------------------------------------------------------------------------


def raise_open_files() -> None:
    """Lets the process have as many files and connections open as it may ever have, as Go's programs do at their start.

    RLIMIT_NOFILE, soft to hard: the soft limit, often 1,024, is for programs that use select(); the hard one is the operator's.
    Where that is not possible it stays as it is.
    """
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ImportError, OSError, ValueError) as failure:
        logger.info("the number of open files stays limited: %s", failure)


# -- control from outside ----------------------------------------------------------------------------------------------


class Control(msgspec.Struct, frozen=True):
    """Events that somebody outside of the program sets. SIGTERM and SIGINT ask for the end, SIGUSR2 for a dump."""

    #: End, with everything in order.
    stop: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    #: Log cache and queue, and compare them with what the API server shows. Once for every time it is set.
    dump: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


@contextmanager
def signals_handled(handlers: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """Signals call their handlers in the running event loop, until the end of the block."""
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


# -- work in the background --------------------------------------------------------------------------------------------


async def kept_going(
    name: str, work: Callable[[], Coroutine[Any, Any, None]], timing: Timing, metrics: Metrics
) -> None:
    """Runs the work, again after a pause when it fails or ends, until this is cancelled. Failures are logged and counted."""
    while True:
        try:
            await work()
        except Exception:
            metrics.background_failures[(name,)].inc()
            logger.exception("%s has failed and is begun again in %g seconds", name, PAUSE_SECONDS)
        await timing.sleep(PAUSE_SECONDS)


# -- the scheduling loop -----------------------------------------------------------------------------------------------


class Heartbeat:
    """Beats in the scheduling loop. `beats` and `lag` may be read by any thread."""

    def __init__(self, timing: Timing, metrics: Metrics) -> None:
        self._timing = timing
        self._metrics = metrics
        self.beats = 0
        #: Seconds by which the last beat came late.
        self.lag = 0.0

    async def run(self) -> None:
        """Beats until it is cancelled."""
        clock = self._timing.clock
        while True:
            due = clock.monotonic() + BEAT_SECONDS
            await self._timing.sleep(BEAT_SECONDS)
            self.lag = max(0.0, clock.monotonic() - due)
            self._metrics.loop_delay_seconds.observe(self.lag)
            self.beats += 1


class Watchdog:
    """Watches the heartbeat from the control loop."""

    def __init__(self, heartbeat: Heartbeat, timing: Timing, give_up: Callable[[], None]) -> None:
        """`give_up` is called once, when the loop has stood still for too long."""
        self._heartbeat = heartbeat
        self._timing = timing
        self._give_up = give_up
        self._beats = -1
        self._looked = 0.0
        self._gave_up = False
        #: Seconds without a beat. Time in which this thread did not run either (a machine that was asleep) does not count.
        self.standstill = 0.0

    @property
    def reason(self) -> str:
        """Why the loop is given up; "" while it turns."""
        return STANDS_STILL.format(self.standstill) if self.standstill >= STANDSTILL_SECONDS else ""

    def check(self) -> HealthCheck:
        return HealthCheck(CHECK_NAME, lambda: self.reason)

    async def run(self) -> None:
        """Looks until it is cancelled."""
        while True:
            self.look()
            await self._timing.sleep(LOOK_SECONDS)

    def look(self) -> None:
        now, beats = self._timing.clock.monotonic(), self._heartbeat.beats
        passed = min(now - self._looked, 2 * LOOK_SECONDS)
        self.standstill = 0.0 if beats != self._beats else self.standstill + passed
        self._looked, self._beats = now, beats
        if self.reason and not self._gave_up:
            self._gave_up = True
            logger.error("%s: nothing is written and no lease renewed any more", self.reason)
            self._give_up()


# -- bindings in flight ------------------------------------------------------------------------------------------------


class Bindings:
    """Tasks of one group; `spawn` works inside of the `async with` block, whose end undoes what is left."""

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
        task = self._group.create_task(_Surviving(work, self._internal_errors))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, seconds: float) -> None:
        """Returns when nothing is in flight; what takes longer than so many seconds is undone."""
        try:
            async with asyncio.timeout(seconds):
                await self._all_done()
        except TimeoutError:
            logger.warning("%d bindings did not finish within %g seconds and are undone", len(self), seconds)
            await self.undo()

    async def undo(self) -> None:
        """Each task cleans up as it is cancelled: nothing stays reserved."""
        self._cancel()
        await self._all_done()

    async def _all_done(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


class _Surviving(Coroutine[Any, Any, None]):
    """A coroutine that ends where the one inside of it breaks. Every step goes through, also the cancellation of one that has
    not begun: `binding.guarded` cleans up then."""

    def __init__(self, work: Coroutine[Any, Any, None], internal_errors: InternalErrors) -> None:
        self._work = work
        self._internal_errors = internal_errors

    def send(self, value: Any, /) -> Any:
        return self._step(self._work.send, value)

    def throw(self, kind: Any, value: object = None, trace: TracebackType | None = None, /) -> Any:
        return self._step(self._work.throw, kind) if value is None else self._step(self._work.throw, kind, value, trace)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._work.__await__()

    def _step(self, resume: Callable[..., Any], *given: Any) -> Any:
        try:
            return resume(*given)
        except StopIteration:
            raise
        except Exception as error:
            self._internal_errors.survived(TASK, "a binding or preemption", error)
            raise StopIteration from error
