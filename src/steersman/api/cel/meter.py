# SPDX-License-Identifier: Apache-2.0
"""Limits of an evaluation besides upstream's cost, which is incomplete: `+` on lists costs 1
regardless of length, and comparing nested lists costs as much as comparing numbers.

*Work* is the number of elements and characters processed or created; its limit is the same on every
machine. *Time* is limited if the host has a running clock, unlike simulations, so that users'
expressions cannot block a scheduler. Loops over users' values call `spend` or `check_time`, which
have no effect outside of an evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from steersman.api.cel.errors import Aborted

T = TypeVar("T")

MAX_WORK: Final = 10_000_000
"""Maximum elements and characters per evaluation: over a tenth of a second, under 100 MB."""
MAX_VALUE: Final = 200_000
"""Maximum elements of a list or characters of a string."""
MAX_CACHED: Final = 256
"""Maximum length of strings whose results are cached."""
EVALUATION_SECONDS: Final = 0.1
"""Time limit per device and expression. Realistic expressions take microseconds, and any without
nested loops over long lists less than a millisecond."""
_CHECK_EVERY: Final = 2_000
_PACE: Final = 500

TOO_MUCH_WORK: Final = f"operation cancelled: more than {MAX_WORK} elements and characters were touched"
TOO_LARGE: Final = "operation cancelled: a {} of {} {} would be made, at most {} are allowed"
OUT_OF_TIME: Final = "operation cancelled: evaluation took longer than {:g} ms"


class EvaluationTimeout(Aborted):
    """An evaluation took too long on this machine: the result is unknown and must not be cached."""


class Meter:
    """Work and time of an evaluation. `clock` returns seconds; without it, time is unlimited."""

    __slots__ = ("_clock", "_deadline", "_next_check", "_seconds", "work")

    def __init__(self, clock: Callable[[], float] | None = None, seconds: float = EVALUATION_SECONDS) -> None:
        self.work = 0
        self._clock = clock
        self._seconds = seconds
        self._deadline = 0.0 if clock is None else clock() + seconds
        self._next_check = _CHECK_EVERY

    def spend(self, amount: int) -> None:
        """Count work before it is done. Raises above the limits."""
        self.work += amount
        if self.work > MAX_WORK:
            raise Aborted(TOO_MUCH_WORK)
        if self.work >= self._next_check:
            self._next_check = self.work + _CHECK_EVERY
            self.check_time()

    def check_time(self) -> None:
        if self._clock is not None and self._clock() > self._deadline:
            raise EvaluationTimeout(OUT_OF_TIME.format(self._seconds * 1000))


_current: ContextVar[Meter | None] = ContextVar("meter of the current CEL evaluation", default=None)


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Measure the block as one evaluation."""
    token = _current.set(meter)
    try:
        yield
    finally:
        _current.reset(token)


def spend(amount: int) -> None:
    """Count work for the current evaluation, if any, before it is done."""
    meter = _current.get()
    if meter is not None:
        meter.spend(amount)


def check_time() -> None:
    """Check the time limit of the current evaluation, if any."""
    meter = _current.get()
    if meter is not None:
        meter.check_time()


def paced(elements: Iterable[T]) -> Iterator[T]:
    """Yield the elements, and check the time periodically."""
    for position, element in enumerate(elements, 1):
        yield element
        if position % _PACE == 0:
            spend(_PACE)


def require_room(kind: str, size: int, unit: str) -> None:
    """Count the work of creating a value of this size. Raises `Aborted` if it is too large."""
    if size > MAX_VALUE:
        raise Aborted(TOO_LARGE.format(kind, size, unit, MAX_VALUE))
    spend(size)
