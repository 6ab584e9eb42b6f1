# SPDX-License-Identifier: Apache-2.0
"""Recording of one live scheduler: wrappers of its host's clock, writer, watches and tasks.

Used by `steersman run` and `steersman sandbox` if recording is enabled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.base import Clock, SteersmanError
from steersman.framework import ApiReader, ApiWriter, BindingBeginner, EventSink, Extender, Spawn
from steersman.kube.client import ObjectTexts
from steersman.record.frames import AnswerBody, RunBody, WatchedChange
from steersman.record.log import LogObserver, RecordLog
from steersman.record.ports import BeginnerPort, ExtenderPort, OnEnd, ReaderPort, ResultCodec, WriterPort, raised
from steersman.record.scheduler_recorder import HostWork, SchedulerRecorder
from steersman.record.segments import Limits
from steersman.scheduler.assembly import RunAction, Scheduler
from steersman.scheduler.cycle import Decision

T = TypeVar("T")

NOT_BEGUN: Final = msgspec.Raw(b"false")
"""Recorded result of a call to `begin` that did not start."""


class RecordedClock:
    """The scheduler's clock; records readings while the scheduler runs."""

    def __init__(self, clock: Clock, recorder: SchedulerRecorder) -> None:
        self._now = clock.now
        self._monotonic = clock.monotonic
        self._recorder = recorder

    def now(self) -> float:
        reading = self._now()
        if self._recorder.is_inside:
            self._recorder.note_time(reading)
        return reading

    def monotonic(self) -> float:
        reading = self._monotonic()
        if self._recorder.is_inside:
            self._recorder.note_time(reading)
        return reading


class WatchedTexts:
    """Implements `client.ObjectTexts`: texts of decoded objects until their delivery, one per
    watch, all of a list. The next watch line drops texts of unchanged, never delivered objects."""

    def __init__(self) -> None:
        #: Kind → last object of a watch, with its line.
        self.watched_last: dict[type[api.Object], tuple[api.Object, bytes]] = {}
        #: Kind → object ID → (object, text). The reference to the object keeps its ID unique.
        self._listed: dict[type[api.Object], dict[int, tuple[api.Object, msgspec.Raw]]] = {}

    def listed(self, obj: api.Object, text: msgspec.Raw) -> None:
        self._listed.setdefault(type(obj), {})[id(obj)] = obj, text

    def watched(self, obj: api.Object, line: bytes) -> None:
        self.watched_last[obj.__class__] = obj, line
        if self._listed:
            self._listed.pop(obj.__class__, None)

    def take_listed(self, obj: api.Object) -> msgspec.Raw | None:
        """Remove and return the text of an object from a list, or None."""
        found = self._listed.get(obj.__class__, {}).pop(id(obj), None)
        return None if found is None else found[1]


class RecordedSink:
    """Event sink that records events and passes them to the scheduler."""

    def __init__(self, sink: EventSink, texts: WatchedTexts, recorder: SchedulerRecorder) -> None:
        self._sink = sink
        self._changed = sink.changed
        self._texts = texts
        self._watched_last = texts.watched_last
        self._recorder = recorder

    def expect(self, kind: type[api.Object], count: int) -> None:
        self._recorder.expects(kind, count)
        try:
            self._sink.expect(kind, count)
        finally:
            self._recorder.end()

    def changed(self, obj: api.Object) -> None:
        watched = self._watched_last.get(obj.__class__)
        if watched is not None and watched[0] is obj and not self._recorder.is_open:  # usual case
            line = watched[1]
            self._recorder.deliver("CHANGED", obj, self._changed, _in_brackets(line), len(line))
        else:
            self._deliver(WatchedChange.CHANGED, obj, self._changed)

    def deleted(self, obj: api.Object) -> None:
        self._deliver(WatchedChange.DELETED, obj, self._sink.deleted)

    def _deliver(self, change: WatchedChange, obj: api.Object, tell: Callable[[api.Object], None]) -> None:
        watched = self._texts.watched_last.get(obj.__class__)
        if self._recorder.is_open:
            self._recorder.deliver_nested(change, obj, tell)
        elif watched is not None and watched[0] is obj:
            self._recorder.deliver(change, obj, tell, _in_brackets(watched[1]), len(watched[1]))
        else:
            text = self._texts.take_listed(obj)
            self._recorder.deliver(change, obj, tell, text, 0 if text is None else memoryview(text).nbytes)


def _in_brackets(line: bytes) -> msgspec.Raw:
    """Return a watch line in its recorded form."""
    return msgspec.Raw(b"[%b]" % line)


class RecordedCalls:
    """Implements `Calls`: numbers the calls, and records results when the scheduler gets them."""

    def __init__(self, recorder: SchedulerRecorder) -> None:
        self._recorder = recorder

    async def ask(self, form: ResultCodec[T], call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        work, number = call(), self._recorder.next_call()
        try:
            answer = await HostWork(work, self._recorder)
        except Exception as error:
            self._recorder.answered_with(raised(number, error))
            raise
        self._note_answer(number, answer, form)
        return answer

    def ask_nowait(self, form: ResultCodec[T], call: Callable[[], T]) -> T:
        number = self._recorder.next_call()
        answer = self._call_outside(call)
        self._note_answer(number, answer, form)
        return answer

    def _note_answer(self, number: int, answer: T, form: ResultCodec[T]) -> None:
        if answer is None:
            self._recorder.answered(number)
        else:
            self._recorder.answered_with(AnswerBody(number, form.write(answer)))

    def report(self, call: Callable[[], None]) -> None:
        self._recorder.next_call()
        self._call_outside(call)

    def _call_outside(self, call: Callable[[], T]) -> T:
        """Make a call during which the scheduler does not run."""
        recorder = self._recorder
        was_inside, recorder.is_inside = recorder.is_inside, False
        try:
            return call()
        finally:
            recorder.is_inside = was_inside

    def begin(self, call: Callable[[OnEnd], bool], on_end: OnEnd) -> bool:
        recorder = self._recorder
        number = recorder.next_call()
        was_inside, recorder.is_inside = recorder.is_inside, False
        try:
            has_begun = call(partial(self._ended, number, on_end))
        except Exception as error:
            recorder.answered_with(raised(number, error))
            raise
        finally:
            recorder.is_inside = was_inside
        if has_begun:
            recorder.open_calls.add(number)
        else:
            recorder.answered_with(AnswerBody(number, NOT_BEGUN))
        return has_begun

    def _ended(self, call: int, on_end: OnEnd, failure: SteersmanError | None) -> None:
        recorder = self._recorder
        if recorder.is_open:  # stimuli do not nest
            asyncio.get_running_loop().call_soon(self._ended, call, on_end, failure)
            return
        recorder.call_ended(call, on_end, failure)


def recorded_writer(writer: ApiWriter, calls: RecordedCalls) -> WriterPort:
    """Return a recording writer with the capabilities of `writer`."""
    if isinstance(writer, BindingBeginner):
        return BeginnerPort(calls, writer, writer)
    return WriterPort(calls, writer, binds_at_once=writer.binds_at_once)


# -- recording ---------------------------------------------------------------------------------------------------------


logger = logging.getLogger(__name__)

FAILED = "%s is not recorded any more: %s; scheduling continues, and recording is retried"
RESUMED = "recording continues in %s; events and decisions in between are missing"
FOLLOWS_TORN_RECORD = (
    "%s holds the record of an earlier process, of which %d bytes were not written to their end; this one follows"
)


class LiveRecording(LogObserver):
    """An active recording. A disk failure is logged once and does not affect scheduling."""

    def __init__(self, directory: str, limits: Limits, run: RunBody, clock: Clock) -> None:
        """Raises `InputError` if the directory cannot be written to."""
        self._directory = directory
        #: Bytes written, number of interruptions, and whether recording is interrupted now.
        self.bytes = self.gaps = 0
        self.is_failing = False
        self._log = RecordLog(Path(directory), limits, self)
        if self._log.cut is not None:
            logger.warning(FOLLOWS_TORN_RECORD, directory, self._log.cut.bytes)
        self._recorder = SchedulerRecorder(self._log, run, clock)
        self._calls = RecordedCalls(self._recorder)
        self._texts = WatchedTexts()
        #: Receives the texts of watched objects.
        self.texts: ObjectTexts | None = self._texts
        self.act: RunAction = self._recorder.act

    def clock(self, clock: Clock) -> Clock:
        return RecordedClock(clock, self._recorder)

    def writer(self, writer: ApiWriter) -> ApiWriter:
        return recorded_writer(writer, self._calls)

    def reader(self, reader: ApiReader) -> ApiReader:
        return ReaderPort(self._calls, reader)

    def spawn(self, spawn: Spawn) -> Spawn:
        return self._recorder.spawning(spawn)

    def extenders(self, extenders: Sequence[Extender]) -> Sequence[Extender]:
        return [ExtenderPort(self._calls, extender) for extender in extenders]

    def sink(self, sink: EventSink) -> EventSink:
        return RecordedSink(sink, self._texts, self._recorder)

    def attempt(self, scheduler: Scheduler) -> Awaitable[Decision | None]:
        """Start an attempt that may wait for extenders."""
        return self._recorder.attempt(scheduler)

    def begin(
        self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop, objects: Callable[[], Sequence[api.Object]]
    ) -> None:
        """Start recording a new scheduler before its first event; `objects` are those it knows."""
        self._recorder.observe(scheduler, objects)
        loop.set_task_factory(self._recorder.new_task)
        self._log.start()

    def close(self) -> None:
        """End the recording after the scheduler's last event."""
        self._recorder.close()

    # -- called by the writing thread --------------------------------------------------------------------------------

    def wrote(self, size: int) -> None:
        self.bytes += size

    def failed(self, reason: str) -> None:
        self.gaps += 1
        if not self.is_failing:
            logger.error(FAILED, self._directory, reason)
        self.is_failing = True

    def resumed(self) -> None:
        self.is_failing = False
        logger.warning(RESUMED, self._directory)
