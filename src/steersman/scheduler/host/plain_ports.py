# SPDX-License-Identifier: Apache-2.0
"""Ports of a scheduler that is not recorded. `record.LiveRecording` has the same methods."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from steersman import api
from steersman.base import Clock
from steersman.framework import ApiReader, ApiWriter, EventSink, Extender, Spawn
from steersman.scheduler.assembly import RunAction, Scheduler, run_directly
from steersman.scheduler.cycle import Decision


class PlainPorts:
    """Returns every port unchanged."""

    act: RunAction = staticmethod(run_directly)

    def clock(self, clock: Clock) -> Clock:
        return clock

    def writer(self, writer: ApiWriter) -> ApiWriter:
        return writer

    def reader(self, reader: ApiReader) -> ApiReader:
        return reader

    def spawn(self, spawn: Spawn) -> Spawn:
        return spawn

    def extenders(self, extenders: Sequence[Extender]) -> Sequence[Extender]:
        return extenders

    def sink(self, sink: EventSink) -> EventSink:
        return sink

    def attempt(self, scheduler: Scheduler) -> Awaitable[Decision | None]:
        return scheduler.schedule_one_async()

    def begin(
        self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop, objects: Callable[[], Sequence[api.Object]]
    ) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
