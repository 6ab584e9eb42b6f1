# SPDX-License-Identifier: Apache-2.0
"""Recording of one live scheduler: wrappers of its host's clock, writer, watches and tasks.

Used by `steersman run` and `steersman sandbox` if recording is enabled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from steersman import api
from steersman.base import Clock
from steersman.framework import ApiReader, ApiWriter, EventSink, Extender, Spawn
from steersman.kube.client import ObjectTexts
from steersman.record.frames import RunBody
from steersman.record.log import LogObserver, RecordLog
from steersman.record.ports import ExtenderPort, ReaderPort
from steersman.record.recorded_ports import RecordedCalls, RecordedClock, RecordedSink, WatchedTexts, recorded_writer
from steersman.record.scheduler_recorder import SchedulerRecorder
from steersman.record.segments import Limits
from steersman.scheduler.assembly import RunAction, Scheduler
from steersman.scheduler.cycle import Decision

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
