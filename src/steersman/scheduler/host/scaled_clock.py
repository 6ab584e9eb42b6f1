# SPDX-License-Identifier: Apache-2.0
"""A clock that can be sped up, paused and advanced manually, for the sandbox, and its timers.

    clock = ScaledClock(60.0)                             # a minute per second; "max": from timer to timer
    timers = LoopTimers(clock, asyncio.get_running_loop())
    timers.call_at(clock.monotonic() + 30, callback)      # half a second from now
    clock.pause(); clock.step(3600); clock.resume()

Time never passes a timer that has not been called: a callback that is late because the loop was
busy still sees its due time, and so do the timers that it sets. Both classes must be used in the
thread of the loop.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sized
from typing import Final, Literal, Protocol, TypeAlias, cast

from steersman.base import InputError
from steersman.scheduler.host.timer_heap import TimerHeap

Speed: TypeAlias = float | Literal["max"]
"""Seconds of the clock per real second. `"max"` runs in real time, but jumps to the next timer when
the loop is idle, if any foreground timer is set; background timers alone cause no jump."""

MAX: Final = "max"
MAX_SPEED: Final = 1_000_000.0
MAX_STEP_SECONDS: Final = 10 * 366 * 86_400
NO_SPEED: Final = "is not a speed"
SPEED_HINT: Final = "use real, max, or a factor such as 60x (at most 1000000x)"
SLICE_SECONDS: Final = 0.005
"""Maximum duration of a batch of callbacks before other tasks of the loop run."""
OVERDUE_SECONDS: Final = 0.05
"""Duration after which a divisible callback should yield; shorter slices would cost too much."""


class ScaledClock:
    """Implements `Clock`: real time multiplied by `speed`. Wall and monotonic time advance
    together."""

    def __init__(
        self, speed: Speed = 1.0, *, start: float | None = None, real: Callable[[], float] = time.monotonic
    ) -> None:
        """`start` is the initial Unix time, by default the real time. `real` is the underlying real
        clock."""
        self._real = real
        self._speed = _checked(speed)
        self._is_paused = False
        #: Time of the clock at the last change of its rate, and the real time then.
        self._time = time.time() if start is None else float(start)
        self._since = real()
        #: Time stops here until the timer of this moment has been called.
        self._limit = math.inf
        #: Until this time the clock jumps from timer to timer.
        self._step_end = -math.inf
        self._on_change: list[Callable[[], None]] = []

    def now(self) -> float:
        return self.monotonic()

    def monotonic(self) -> float:
        return min(self._flowing(), self._limit)

    @property
    def speed(self) -> Speed:
        return self._speed

    @speed.setter
    def speed(self, speed: Speed) -> None:
        checked = _checked(speed)
        self._settle()
        self._speed = checked
        self._changed()

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    @property
    def is_stopped(self) -> bool:
        """Whether the clock is paused and no `step` is in progress."""
        return self._is_paused and not self.is_stepping

    @property
    def is_stepping(self) -> bool:
        """Whether a `step` is in progress."""
        return self.monotonic() < self._step_end

    def pause(self) -> None:
        """Stop time, except for `step`; cancels a step in progress."""
        self._settle()
        self._step_end = -math.inf
        self._is_paused = True
        self._changed()

    def resume(self) -> None:
        self._settle()
        self._is_paused = False
        self._changed()

    def step(self, seconds: float) -> None:
        """Advance by this many seconds, as fast as timers can be called; see `LoopTimers.step`."""
        if not 0 <= seconds <= MAX_STEP_SECONDS:
            hint = f"use a number such as 60, {MAX_STEP_SECONDS} at most"
            raise InputError("is not a number of seconds to step by", value=seconds, hint=hint)
        self._step_end = max(self._step_end, self.monotonic()) + seconds
        if not self._on_change:
            self.jump(self._step_end)
        self._changed()

    # -- for timers -------------------------------------------------------------------------------

    def attach(self, on_change: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for changes of the clock's rate; return the function that removes
        it."""
        self._on_change.append(on_change)
        return lambda: self._on_change.remove(on_change)

    def hold_at(self, moment: float | None) -> None:
        """Set the moment that time does not pass, or the current one if that is later; None for no
        limit."""
        now = self.monotonic()
        self._limit = math.inf if moment is None else max(moment, now)

    def jump(self, moment: float) -> None:
        """Set the clock to `moment`, unless it is already later."""
        self._time, self._since = max(moment, self.monotonic()), self._real()
        self._limit = max(self._limit, self._time)

    def real_seconds_until(self, moment: float) -> float | None:
        """Return the real time until `moment` if nothing changes, or None if it is never
        reached."""
        flowing = self._flowing()
        if flowing >= moment:
            return 0.0
        return (moment - flowing) / self._rate if self._rate else None

    def next_jump(self, next_timer: float | None, is_awaited: bool) -> float | None:
        """Return the target of a jump if the loop is idle: the next timer or the end of a step;
        None for no jump."""
        if self.is_stepping:
            return self._step_end if next_timer is None else min(next_timer, self._step_end)
        return next_timer if self._speed == MAX and is_awaited and not self._is_paused else None

    # -- helpers ----------------------------------------------------------------------------------

    @property
    def _rate(self) -> float:
        if self._is_paused:
            return 0.0
        return 1.0 if self._speed == MAX else float(self._speed)

    def _flowing(self) -> float:
        """Return the time of the clock without the limit."""
        return self._time + (self._real() - self._since) * self._rate

    def _settle(self) -> None:
        self._time, self._since = self.monotonic(), self._real()

    def _changed(self) -> None:
        for on_change in self._on_change:
            on_change()


class LoopTimers:
    """Implements `cluster.store.Timers` on an event loop. Exceptions of callbacks go to the loop's
    exception handler."""

    def __init__(
        self, clock: ScaledClock, loop: asyncio.AbstractEventLoop, *, is_idle: Callable[[], bool] | None = None
    ) -> None:
        """`is_idle` returns whether the loop has nothing else to do; called before the clock
        jumps."""
        self.clock = self._clock = clock
        self._loop = loop
        self._is_idle = is_idle or (lambda: not _has_ready_callbacks(loop))
        self._heap = TimerHeap()
        self._handle: asyncio.Handle | None = None
        self._is_running = False
        self._slice_began = 0.0
        clock.attach(self._arm)

    def __len__(self) -> int:
        """Return the number of foreground timers."""
        return len(self._heap)

    def call_at(self, time: float, callback: Callable[[], None], *, is_background: bool = False) -> None:
        earliest, was_awaited = self._heap.next_time(), len(self._heap)
        self._heap.call_at(time, callback, is_background=is_background)
        if not self._is_running and (earliest is None or time < earliest or not was_awaited):
            self._arm()

    def is_overdue(self) -> bool:
        """Return whether timers have been called for so long that other tasks should run."""
        return time.monotonic() - self._slice_began >= OVERDUE_SECONDS

    async def sleep(self, seconds: float) -> None:
        """Sleep on the clock with a background timer, as `Timing.sleep` for endless loops."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        over: asyncio.Future[None] = self._loop.create_future()
        self.call_at(self._clock.monotonic() + seconds, lambda: _finish(over), is_background=True)
        await over

    async def step(self, seconds: float) -> None:
        """Advance the clock by this many seconds, and return when all timers due by then were
        called."""
        self._clock.step(seconds)
        while self._clock.is_stepping or self._is_due():
            await asyncio.sleep(SLICE_SECONDS)

    def close(self) -> None:
        """Cancel all timers, now and later."""
        self._clock.attach(lambda: None)
        self._heap = TimerHeap()
        self._cancel()

    # -- helpers ----------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Schedule a wakeup for the next timer, or as soon as the clock may jump to it."""
        self._cancel()
        moment = self._heap.next_time()
        self._clock.hold_at(moment)
        seconds = None if moment is None else self._clock.real_seconds_until(moment)
        if seconds == 0.0 or self._next_jump() is not None:
            self._handle = self._loop.call_soon(self._wake)
        elif seconds is not None:
            self._handle = self._loop.call_later(seconds, self._wake)

    def _wake(self) -> None:
        self._handle = None
        jump = self._next_jump()
        if jump is not None and jump > self._clock.monotonic() and self._is_idle():
            self._clock.jump(jump)
        self._is_running = True
        try:
            self._call_due()
        finally:
            self._is_running = False
            self._arm()

    def _call_due(self) -> None:
        now, self._slice_began = self._clock.monotonic(), time.monotonic()
        end = self._slice_began + SLICE_SECONDS
        while (callback := self._heap.pop_due(now)) is not None:
            try:
                callback()
            except Exception as error:
                context = {"message": "a timer failed", "exception": error, "callback": callback}
                self._loop.call_exception_handler(context)
            if time.monotonic() >= end:
                return

    def _is_due(self) -> bool:
        moment = self._heap.next_time()
        return moment is not None and moment <= self._clock.monotonic()

    def _next_jump(self) -> float | None:
        return self._clock.next_jump(self._heap.next_time(), bool(len(self._heap)))

    def _cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class _WithReadyCallbacks(Protocol):
    _ready: Sized


def _has_ready_callbacks(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether the loop has ready callbacks. asyncio has no public method for this; its loops
    have a queue."""
    return bool(cast("_WithReadyCallbacks", loop)._ready)


def _finish(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


def parse_speed(text: str) -> Speed:
    """Parse `real`, `60x`, `0.5x` or `max`; raises `InputError`."""
    if text == "real":
        return 1.0
    if text == MAX:
        return MAX
    try:
        return _checked(float(text.removesuffix("x")))
    except (ValueError, InputError):
        raise InputError(NO_SPEED, value=text, hint=SPEED_HINT) from None


def _checked(speed: Speed) -> Speed:
    if speed == MAX:
        return speed
    if not (isinstance(speed, (int, float)) and 0 < speed <= MAX_SPEED):
        raise InputError(NO_SPEED, value=speed, hint=SPEED_HINT)
    return float(speed)
