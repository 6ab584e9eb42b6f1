# SPDX-License-Identifier: Apache-2.0
"""Clock and external calls of a replayed scheduler, which return the recorded results.

`recorded_ports` has the recording counterparts. `scheduler_replay` loads the readings and results
of one stimulus at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from steersman.base import SteersmanError
from steersman.record.answers import ResultCodec, error_of
from steersman.record.frames import AnswerBody, CallEndBody, NestedWatchEventBody, WatchEventBody
from steersman.record.ports import OnEnd
from steersman.record.replay_loop import ReplayLoop, StepNotPossible

T = TypeVar("T")


class ReplayedClock:
    """Clock that returns the recorded readings, and repeats the last one if there are no more."""

    def __init__(self) -> None:
        self._readings: list[float] = []
        self._last = 0.0

    def load(self, readings: Sequence[float]) -> None:
        """Load the recorded readings of one stimulus."""
        self._readings = list(reversed(readings))

    def now(self) -> float:
        if self._readings:
            self._last = self._readings.pop()
        return self._last

    def monotonic(self) -> float:
        return self.now()


class ReplayedCalls:
    """Implements `Calls` with the recorded results, without external calls. Objects that were
    delivered during a call are delivered again."""

    def __init__(self, loop: ReplayLoop) -> None:
        self._loop = loop
        self._calls = 0
        self._known: dict[int, AnswerBody] = {}
        self._awaited: dict[int, Any] = {}
        self._told: dict[int, list[NestedWatchEventBody]] = {}
        #: Number → receiver of the end of a call that no task awaits.
        self._on_end: dict[int, OnEnd] = {}
        #: Delivers an object to the scheduler during a call.
        self.tell: Callable[[WatchEventBody], None] = lambda body: None

    def load(self, answered: Iterable[AnswerBody], told: Iterable[NestedWatchEventBody] = ()) -> None:
        """Load results, waking the coroutines that await them, and objects delivered in calls."""
        for body in told:
            self._told.setdefault(body.call, []).append(body)
        for answer in answered:
            waiting = self._awaited.pop(answer.call, None)
            if waiting is None:
                self._known[answer.call] = answer
            elif not waiting.done():
                waiting.set_result(answer)

    def continue_after(self, number: int) -> None:
        """Number the next call `number + 1`."""
        self._calls = number

    def _begin_call(self) -> int:
        """Return the number of the next call, after delivering the objects recorded during it."""
        self._calls += 1
        for body in self._told.pop(self._calls, ()):
            self.tell(body)
        return self._calls

    async def ask(self, form: ResultCodec[T], call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        number = self._begin_call()
        answer = self._known.pop(number, None)
        if answer is None:
            waiting = self._awaited[number] = self._loop.create_future()
            answer = await waiting
        if answer.error is not None:
            raise error_of(answer.error)
        return form.read(answer.value)

    def ask_nowait(self, form: ResultCodec[T], call: Callable[[], T]) -> T:
        number = self._begin_call()
        return form.read(self._known.pop(number, AnswerBody(number)).value)

    def report(self, call: Callable[[], None]) -> None:
        self._begin_call()

    def begin(self, call: Callable[[OnEnd], bool], on_end: OnEnd) -> bool:
        number = self._begin_call()
        answer = self._known.pop(number, None)
        if answer is None:
            self._on_end[number] = on_end
            return True
        if answer.error is not None:
            raise error_of(answer.error)
        return False

    def end(self, body: CallEndBody) -> None:
        """End a call as recorded. Raises `StepNotPossible` if it was not started."""
        on_end = self._on_end.pop(body.call, None)
        if on_end is None:
            raise StepNotPossible(f"call {body.call} was not begun")
        error = None if body.error is None else error_of(body.error)
        on_end(error if error is None or isinstance(error, SteersmanError) else SteersmanError(str(error)))
