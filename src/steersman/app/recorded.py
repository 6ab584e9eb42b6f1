# SPDX-License-Identifier: Apache-2.0
"""`steersman run --record`: the record of this process, and what `Program` gives its scheduler so that it is written.

A disk that fails is told once in the log, and counted: scheduling does not depend on it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from steersman import api
from steersman.app.recording import NotRecorded
from steersman.app.settings import Effective, RecordOptions
from steersman.assembly import ApiWriter, Scheduler
from steersman.clock import Clock
from steersman.config import SchedulerConfiguration
from steersman.cycle.decision import Decision
from steersman.framework.extender import Extender
from steersman.framework.ports import Spawn
from steersman.framework.reading import ApiReader
from steersman.framework.watching import EventSink
from steersman.observe import Metrics
from steersman.record.frames import LIVE, RunBody
from steersman.record.live_log import LiveLog
from steersman.record.live_ports import (
    RecordedClock,
    RecordedExtender,
    RecordedReader,
    RecordedSink,
    RecordedWriter,
    WatchedTexts,
)
from steersman.record.live_recorder import LiveRecorder
from steersman.record.recorded_setup import run_body
from steersman.record.segments import Limits
from steersman.redaction import hide_passwords

logger = logging.getLogger(__name__)

FAILED = "%s is not recorded any more: %s; scheduling goes on, and the record when it can"
RESUMED = "recording goes on in %s; what happened meanwhile is missing in it"
GOES_ON = "%s holds the record of an earlier process, of which %d bytes were not written to their end; this one follows"


class Recorded(NotRecorded):
    """The record of a running scheduler."""

    def __init__(self, options: RecordOptions, settings: Effective, seed: int, clock: Clock) -> None:
        """Raises `InputError` if the directory cannot be written to."""
        self._directory = options.directory
        self._bytes = self._gaps = 0
        self._is_failing = False
        limits = Limits(total_bytes=options.total_bytes, age_seconds=options.age_seconds)
        limits = msgspec.structs.replace(limits, segment_bytes=min(limits.segment_bytes, options.total_bytes // 4))
        self._log = LiveLog(Path(options.directory), limits, self)
        if self._log.cut is not None:
            logger.warning(GOES_ON, options.directory, self._log.cut.bytes)
        self._recorder = LiveRecorder(self._log, _run_body(settings, seed, clock.now()), clock)
        self.texts = self._texts = WatchedTexts()
        self.act = self._recorder.act

    def clock(self, clock: Clock) -> Clock:
        return RecordedClock(clock, self._recorder)

    def writer(self, writer: ApiWriter) -> ApiWriter:
        return RecordedWriter(writer, self._recorder)

    def reader(self, reader: ApiReader) -> ApiReader:
        return RecordedReader(reader, self._recorder)

    def spawn(self, spawn: Spawn) -> Spawn:
        return self._recorder.spawning(spawn)

    def extenders(self, extenders: Sequence[Extender]) -> Sequence[Extender]:
        return [RecordedExtender(extender, self._recorder) for extender in extenders]

    def sink(self, sink: EventSink) -> EventSink:
        return RecordedSink(sink, self._texts, self._recorder)

    def attempt(self, scheduler: Scheduler) -> Awaitable[Decision | None]:
        return self._recorder.attempt(scheduler)

    def begin(
        self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop, objects: Callable[[], Sequence[api.Object]]
    ) -> None:
        self._recorder.observe(scheduler, objects)
        loop.set_task_factory(self._recorder.new_task)
        self._log.start()

    def show(self, metrics: Metrics) -> None:
        metrics.recorded_bytes.set(self._bytes)
        metrics.record_gaps.set(self._gaps)
        metrics.is_recording.set(not self._is_failing)

    def close(self) -> None:
        self._recorder.close()

    # -- told by the thread that writes ------------------------------------------------------------------------------

    def wrote(self, size: int) -> None:
        self._bytes += size

    def failed(self, reason: str) -> None:
        self._gaps += 1
        if not self._is_failing:
            logger.error(FAILED, self._directory, reason)
        self._is_failing = True

    def resumed(self) -> None:
        self._is_failing = False
        logger.warning(RESUMED, self._directory)


def _run_body(settings: Effective, seed: int, start: float) -> RunBody:
    configuration = _without_secrets(settings.configuration)
    body = run_body(LIVE, configuration, settings.gates, settings.registry, seed, start)
    return msgspec.structs.replace(body, controllers=False, max_in_unschedulable=settings.max_in_unschedulable)


def _without_secrets(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """Extenders without passwords and certificates: a replay asks nobody."""
    extenders = tuple(
        msgspec.structs.replace(one, url_prefix=hide_passwords(one.url_prefix), tls_config=None, enable_https=False)
        for one in configuration.extenders
    )
    return msgspec.structs.replace(configuration, extenders=extenders)
