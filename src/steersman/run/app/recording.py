# SPDX-License-Identifier: Apache-2.0
"""Recording of a running scheduler: the `Recorder` wraps its ports; the `NullRecorder` leaves them
as they are.

`run --record` uses `recorded.FileRecorder`, which is imported only then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from steersman import api
from steersman.base import Clock
from steersman.framework import ApiReader, ApiWriter, EventSink, Extender, Spawn
from steersman.kube.client import ObjectTexts
from steersman.kube.observe import Metrics
from steersman.scheduler.assembly import RunAction, Scheduler
from steersman.scheduler.cycle import Decision
from steersman.scheduler.host import PlainPorts


class Recorder(Protocol):
    """Wraps the ports of a scheduler to record its inputs and actions."""

    @property
    def directory(self) -> str:
        """Directory of the record; "" if there is none."""

    @property
    def texts(self) -> ObjectTexts | None:
        """Receives the texts of watched objects; None if they are not recorded."""

    @property
    def act(self) -> RunAction:
        """Runs actions of the host on the scheduler."""

    def clock(self, clock: Clock) -> Clock: ...

    def writer(self, writer: ApiWriter) -> ApiWriter: ...

    def reader(self, reader: ApiReader) -> ApiReader: ...

    def spawn(self, spawn: Spawn) -> Spawn: ...

    def extenders(self, extenders: Sequence[Extender]) -> Sequence[Extender]: ...

    def sink(self, sink: EventSink) -> EventSink: ...

    def attempt(self, scheduler: Scheduler) -> Awaitable[Decision | None]:
        """Make a scheduling attempt that may wait for extenders."""

    def begin(
        self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop, objects: Callable[[], Sequence[api.Object]]
    ) -> None:
        """Begin the record of a new scheduler; `objects` returns those that it knows."""

    def show(self, metrics: Metrics) -> None:
        """Update the metrics of recording."""

    def close(self) -> None:
        """End the record."""


class NullRecorder(PlainPorts):
    """A `Recorder` that records nothing and returns the ports unchanged."""

    directory: str = ""
    texts: ObjectTexts | None = None

    def show(self, metrics: Metrics) -> None:
        """Do nothing."""
