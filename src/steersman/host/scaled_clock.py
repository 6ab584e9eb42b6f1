# SPDX-License-Identifier: Apache-2.0
"""Time that can be sped up, stopped and moved on by hand: the clock of a sandbox, and its timers on an event loop.

    clock = ScaledClock(60.0)                             # a minute per second; "max": from timer to timer
    timers = LoopTimers(clock, asyncio.get_running_loop())
    timers.call_at(clock.monotonic() + 30, callback)      # half a second from now
    clock.pause(); clock.step(3600); clock.resume()

Time never passes a timer that has not been called: a callback that comes late because the loop was busy still sees the moment
for which it was set, and so do the timers that it sets. Both classes belong to the thread of the loop.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sized
from typing import Final, Literal, Protocol, TypeAlias, cast

from steersman.errors import InputError
from steersman.host.timer_heap import TimerHeap

Speed: TypeAlias = float | Literal["max"]
"""Seconds of the clock per real second. `"max"` passes as real time does, but jumps to the next timer when nothing else is to
be done, if somebody waits for one: timers in the background alone do not hurry it."""

MAX: Final = "max"
FASTEST: Final = 1_000_000.0
LONGEST_STEP_SECONDS: Final = 10 * 366 * 86_400
NO_SPEED: Final = "is no speed"
SPEED_HINT: Final = "use real, max, or a factor such as 60x (at most 1000000x)"
SLICE_SECONDS: Final = 0.005
"""So long callbacks may run before everybody else on the loop has a turn."""
OVERDUE_SECONDS: Final = 0.05
"""So long a single callback may run that can be divided: others wait for it, but dividing has its price too."""


class ScaledClock:
    """Implements `Clock`: real time, times `speed`. Wall and monotonic time move together."""

    def __init__(
        self, speed: Speed = 1.0, *, start: float | None = None, real: Callable[[], float] = time.monotonic
    ) -> None:
        """`start` is what the clock shows first, as Unix time; None: the real time. `real` is what passes by itself."""
        self._real = real
        self._speed = _checked(speed)
        self._is_paused = False
        #: What the clock showed when its rate last changed, and the real time then.
        self._time = time.time() if start is None else float(start)
        self._since = real()
        #: Time stops here until the timer of that moment has been called.
        self._limit = math.inf
        #: Until here the clock jumps from timer to timer.
        self._step_end = -math.inf
        self._on_change: Callable[[], None] | None = None

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
    def is_stepping(self) -> bool:
        """Whether a `step` has not come to its end."""
        return self.monotonic() < self._step_end

    def pause(self) -> None:
        """Time stands still, but for `step`; what is left of a step under way is given up."""
        self._settle()
        self._step_end = -math.inf
        self._is_paused = True
        self._changed()

    def resume(self) -> None:
        self._settle()
        self._is_paused = False
        self._changed()

    def step(self, seconds: float) -> None:
        """Moves on by so many seconds, as fast as the timers on the way can be called; see `LoopTimers.step`."""
        if not 0 <= seconds <= LONGEST_STEP_SECONDS:
            hint = f"use a number such as 60, {LONGEST_STEP_SECONDS} at most"
            raise InputError("is no number of seconds to step by", value=seconds, hint=hint)
        self._step_end = max(self._step_end, self.monotonic()) + seconds
        if self._on_change is None:
            self.jump(self._step_end)
        else:
            self._on_change()

    # -- for timers --------------------------------------------------------------------------------------------------

    def attach(self, on_change: Callable[[], None]) -> None:
        """Calls back when timers are due at other real times than before."""
        self._on_change = on_change

    def hold_at(self, moment: float | None) -> None:
        """Time does not pass that moment, or the present one if that is later; None: nothing holds it."""
        now = self.monotonic()
        self._limit = math.inf if moment is None else max(moment, now)

    def jump(self, moment: float) -> None:
        """Sets the clock to `moment`, unless it is later already."""
        self._time, self._since = max(moment, self.monotonic()), self._real()
        self._limit = max(self._limit, self._time)

    def real_seconds_until(self, moment: float) -> float | None:
        """After how much real time it is `moment`, if nothing changes; None: never."""
        flowing = self._flowing()
        if flowing >= moment:
            return 0.0
        return (moment - flowing) / self._rate if self._rate else None

    def next_jump(self, next_timer: float | None, is_awaited: bool) -> float | None:
        """Where the clock goes when nothing else is to be done: to the next timer or the end of a step; None: nowhere."""
        if self.is_stepping:
            return self._step_end if next_timer is None else min(next_timer, self._step_end)
        return next_timer if self._speed == MAX and is_awaited and not self._is_paused else None

    # -- inside ------------------------------------------------------------------------------------------------------

    @property
    def _rate(self) -> float:
        if self._is_paused:
            return 0.0
        return 1.0 if self._speed == MAX else float(self._speed)

    def _flowing(self) -> float:
        """The time that the clock would show if no timer held it."""
        return self._time + (self._real() - self._since) * self._rate

    def _settle(self) -> None:
        self._time, self._since = self.monotonic(), self._real()

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change()


class LoopTimers:
    """Implements `embedded.Timers` on an event loop. What a callback raises goes to the loop's exception handler."""

    def __init__(
        self, clock: ScaledClock, loop: asyncio.AbstractEventLoop, *, is_idle: Callable[[], bool] | None = None
    ) -> None:
        """`is_idle` says whether nothing but timers is left to be done; asked before the clock jumps."""
        self._clock = clock
        self._loop = loop
        self._is_idle = is_idle or (lambda: not _has_ready_callbacks(loop))
        self._heap = TimerHeap()
        self._handle: asyncio.Handle | None = None
        self._is_running = False
        self._slice_began = 0.0
        clock.attach(self._arm)

    def __len__(self) -> int:
        """How many timers somebody waits for: all but those in the background."""
        return len(self._heap)

    def call_at(self, time: float, callback: Callable[[], None], *, is_background: bool = False) -> None:
        earliest, was_awaited = self._heap.next_time(), len(self._heap)
        self._heap.call_at(time, callback, is_background=is_background)
        if not self._is_running and (earliest is None or time < earliest or not was_awaited):
            self._arm()

    def is_overdue(self) -> bool:
        """Whether timers have been called for so long that others on the loop should have a turn."""
        return time.monotonic() - self._slice_began >= OVERDUE_SECONDS

    async def sleep(self, seconds: float) -> None:
        """Returns when so much time has passed on the clock, in the background: `Timing.sleep` of a loop without end."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        over: asyncio.Future[None] = self._loop.create_future()
        self.call_at(self._clock.monotonic() + seconds, lambda: _finish(over), is_background=True)
        await over

    async def step(self, seconds: float) -> None:
        """Moves the clock on by so many seconds; returns when all that was to happen meanwhile has been called."""
        self._clock.step(seconds)
        while self._clock.is_stepping or self._is_due():
            await asyncio.sleep(SLICE_SECONDS)

    def close(self) -> None:
        """No timer is called any more."""
        self._clock.attach(lambda: None)
        self._heap = TimerHeap()
        self._cancel()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Has the loop call when the next timer is due, or as soon as the clock may jump to it."""
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
                told = {"message": "a timer failed", "exception": error, "callback": callback}
                self._loop.call_exception_handler(told)
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
    """Whether the loop has something to call before it would wait. No public method says so; asyncio's loops have a queue."""
    return bool(cast("_WithReadyCallbacks", loop)._ready)


def _finish(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


def parse_speed(text: str) -> Speed:
    """`real`, `60x`, `0.5x` or `max`; raises `InputError`."""
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
    if not (isinstance(speed, (int, float)) and 0 < speed <= FASTEST):
        raise InputError(NO_SPEED, value=speed, hint=SPEED_HINT)
    return float(speed)
