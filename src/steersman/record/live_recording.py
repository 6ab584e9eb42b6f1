# SPDX-License-Identifier: Apache-2.0
"""The record of one live scheduler: what its host gives it instead of clock, writer, watches and tasks, so that it is written.

`steersman run` and `steersman sandbox` have one where they are asked to record.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from steersman import api
from steersman.assembly import ApiWriter, Scheduler
from steersman.assembly.stimuli import Act
from steersman.client import ObjectTexts
from steersman.clock import Clock
from steersman.cycle.decision import Decision
from steersman.framework.extender import Extender
from steersman.framework.ports import Spawn
from steersman.framework.reading import ApiReader
from steersman.framework.watching import EventSink
from steersman.record.frames import RunBody
from steersman.record.live_log import LiveLog
from steersman.record.live_ports import (
    RecordedClock,
    RecordedExtender,
    RecordedReader,
    RecordedSink,
    WatchedTexts,
    recorded_writer,
)
from steersman.record.live_recorder import LiveRecorder
from steersman.record.segments import Limits

logger = logging.getLogger(__name__)

FAILED = "%s is not recorded any more: %s; scheduling goes on, and the record when it can"
RESUMED = "recording goes on in %s; what happened meanwhile is missing in it"
GOES_ON = "%s holds the record of an earlier process, of which %d bytes were not written to their end; this one follows"


class LiveRecording:
    """A record that is being written. A disk that fails is told once in the log: scheduling does not depend on it."""

    def __init__(self, directory: str, limits: Limits, run: RunBody, clock: Clock) -> None:
        """Raises `InputError` if the directory cannot be written to."""
        self._directory = directory
        #: What was written so far, how often the record was interrupted, and whether it is at the moment.
        self.bytes = self.gaps = 0
        self.is_failing = False
        self._log = LiveLog(Path(directory), limits, self)
        if self._log.cut is not None:
            logger.warning(GOES_ON, directory, self._log.cut.bytes)
        self._recorder = LiveRecorder(self._log, run, clock)
        self._texts = WatchedTexts()
        #: Is given the texts of watched objects.
        self.texts: ObjectTexts | None = self._texts
        self.act: Act = self._recorder.act

    def clock(self, clock: Clock) -> Clock:
        return RecordedClock(clock, self._recorder)

    def writer(self, writer: ApiWriter) -> ApiWriter:
        return recorded_writer(writer, self._recorder)

    def reader(self, reader: ApiReader) -> ApiReader:
        return RecordedReader(reader, self._recorder)

    def spawn(self, spawn: Spawn) -> Spawn:
        return self._recorder.spawning(spawn)

    def extenders(self, extenders: Sequence[Extender]) -> Sequence[Extender]:
        return [RecordedExtender(extender, self._recorder) for extender in extenders]

    def sink(self, sink: EventSink) -> EventSink:
        return RecordedSink(sink, self._texts, self._recorder)

    def attempt(self, scheduler: Scheduler) -> Awaitable[Decision | None]:
        """An attempt that may wait for extenders."""
        return self._recorder.attempt(scheduler)

    def begin(
        self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop, objects: Callable[[], Sequence[api.Object]]
    ) -> None:
        """The scheduler is made, and nothing has happened to it; `objects` are those that it knows at a time."""
        self._recorder.observe(scheduler, objects)
        loop.set_task_factory(self._recorder.new_task)
        self._log.start()

    def close(self) -> None:
        """Nothing happens to the scheduler any more."""
        self._recorder.close()

    # -- told by the thread that writes ------------------------------------------------------------------------------

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
