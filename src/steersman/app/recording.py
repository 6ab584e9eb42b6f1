# SPDX-License-Identifier: Apache-2.0
"""The places at which a running scheduler is recorded, where nothing is: everything is what it is.

`run --record` has `recorded.Recorded` in its place, which is imported only then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from steersman import api
from steersman.assembly import ApiWriter, Scheduler
from steersman.assembly.stimuli import Act, at_once
from steersman.client import ObjectTexts
from steersman.clock import Clock
from steersman.cycle.decision import Decision
from steersman.framework.extender import Extender
from steersman.framework.ports import Spawn
from steersman.framework.reading import ApiReader
from steersman.framework.watching import EventSink
from steersman.observe import Metrics


class NotRecorded:
    """The ports of a program that records nothing: they are what `Program` has anyway."""

    #: Where the record is written; "": there is none.
    directory: str = ""
    #: Is given the texts of watched objects; None: nobody wants them.
    texts: ObjectTexts | None = None
    act: Act = staticmethod(at_once)

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
        """An attempt that may wait for extenders."""
        return scheduler.schedule_one_async()

    def begin(
        self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop, objects: Callable[[], Sequence[api.Object]]
    ) -> None:
        """The scheduler is made, and nothing has happened to it; `objects` are those that it knows at a time."""

    def show(self, metrics: Metrics) -> None:
        """Brings the metrics of recording up to date."""

    def close(self) -> None:
        """Nothing happens to the scheduler any more."""


NOT_RECORDED = NotRecorded()
