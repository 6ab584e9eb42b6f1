# SPDX-License-Identifier: Apache-2.0
"""Limits of an evaluation besides upstream's cost, which does not cover everything: `+` on lists costs 1 whatever
their length, and comparing two nested lists as much as comparing two numbers.

*Work* counts the elements and characters that such operations touch or make; its limit is the same on every machine. *Time*
is limited where the host's clock runs, which it does not in simulations: what users write must not keep a scheduler from
everything else. Whoever loops over what users wrote calls `spend` or `check_time`; between evaluations neither does anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from steersman.cel.errors import Aborted

T = TypeVar("T")

MOST_WORK: Final = 10_000_000
"""Elements and characters, in one evaluation: more than a tenth of a second's worth, less than 100 MB."""
LARGEST_VALUE: Final = 200_000
"""Elements of a list, or characters of a text."""
LONGEST_CACHED: Final = 256
"""Results for longer texts are not kept."""
EVALUATION_SECONDS: Final = 0.1
"""For one device and one expression. Those that people write take some microseconds, and no expression that does not go
through long lists in nested loops takes a millisecond."""
_CHECK_EVERY: Final = 2_000
_PACE: Final = 500

TOO_MUCH_WORK: Final = f"operation cancelled: more than {MOST_WORK} elements and characters were touched"
TOO_LARGE: Final = "operation cancelled: a {} of {} {} would be made, at most {} are allowed"
OUT_OF_TIME: Final = "operation cancelled: evaluation took longer than {:g} ms"


class EvaluationTimeout(Aborted):
    """An evaluation took too long on this machine, this time: the answer is not known, and must not be remembered."""


class Meter:
    """Counts what one evaluation takes. `clock` gives seconds; without one time does not matter."""

    __slots__ = ("_clock", "_deadline", "_next_check", "_seconds", "work")

    def __init__(self, clock: Callable[[], float] | None = None, seconds: float = EVALUATION_SECONDS) -> None:
        self.work = 0
        self._clock = clock
        self._seconds = seconds
        self._deadline = 0.0 if clock is None else clock() + seconds
        self._next_check = _CHECK_EVERY

    def spend(self, amount: int) -> None:
        """So much work is about to be done."""
        self.work += amount
        if self.work > MOST_WORK:
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
    """Everything inside is the evaluation that the meter measures."""
    token = _current.set(meter)
    try:
        yield
    finally:
        _current.reset(token)


def spend(amount: int) -> None:
    """So much work is about to be done by the current evaluation, if there is one."""
    meter = _current.get()
    if meter is not None:
        meter.spend(amount)


def check_time() -> None:
    """The current evaluation, if there is one, may have to end."""
    meter = _current.get()
    if meter is not None:
        meter.check_time()


def paced(elements: Iterable[T]) -> Iterator[T]:
    """The elements, with a look at the clock now and then."""
    for position, element in enumerate(elements, 1):
        yield element
        if position % _PACE == 0:
            spend(_PACE)


def require_room(kind: str, size: int, unit: str) -> None:
    """Before a value of that size is made: an `Aborted` error if it would be too large, or one too many."""
    if size > LARGEST_VALUE:
        raise Aborted(TOO_LARGE.format(kind, size, unit, LARGEST_VALUE))
    spend(size)
