# SPDX-License-Identifier: Apache-2.0
"""`python -m steersman.web.recorded_moment DIRECTORY AT [PLUGIN_FILE…]`: a process that answers requests about a moment.

    record ─► simulation of that moment ─► `WebApi` ─► a line of JSON for each line of JSON

`recorded_past` starts it, so that the process of the scheduler does none of this work. The first line that it prints says that
it is ready, or why it cannot be.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from steersman.errors import SteersmanError
from steersman.record import RecordReader, simulation_at
from steersman.record.frames import DecisionBody, FrameKind
from steersman.record.recorded_run import body_of, record_bounds
from steersman.serving.http import Request
from steersman.sim import Simulation
from steersman.web.answers import EventRow
from steersman.web.configuration_page import ConfigurationSource
from steersman.web.event_rows import SCHEDULER
from steersman.web.http_api import WebApi
from steersman.web.past import PastMoment, past_api

CLOSE_SECONDS: Final = 0.05
"""So long before or after the scheduler noted a decision it may have been recorded."""
_POLITE: Final = 10
"""The scheduler comes first."""


class AskedOfMoment(msgspec.Struct, frozen=True):
    """A request without what only a server knows."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()


class ToldOfMoment(msgspec.Struct, frozen=True):
    """An answer. `problem`: why there are no answers, in the first line; "": there are."""

    status: int = 200
    content_type: str = ""
    body: str = ""
    problem: str = ""


def main(directory: str, at: float, plugins: Sequence[str]) -> None:
    os.nice(_POLITE)
    # Plugins may print; answers go to the real one.
    sys.stdout = sys.stderr
    try:
        reader = RecordReader(directory)
        _, _, end = record_bounds(reader)
        # Where nothing was recorded since, everything is as it was then; no record is older than time itself.
        moment = datetime.fromtimestamp(max(0.0, min(at, end)), UTC)
        simulation = simulation_at(directory, moment, plugins=plugins)
        with simulation:
            web_api = _pages(simulation, reader, at)
            _tell(ToldOfMoment())
            asyncio.run(_answer(web_api))
    except SteersmanError as error:
        _tell(ToldOfMoment(problem=str(error)))


def _pages(simulation: Simulation, reader: RecordReader, at: float) -> WebApi:
    frames = reader.frames(until=at + CLOSE_SECONDS)
    decisions = [body_of(frame, DecisionBody, reader.directory) for frame in frames if frame.kind == FrameKind.DECISION]
    before = [record for record in decisions if record.at < at - CLOSE_SECONDS]
    chosen = {record.pod: record.node for record in decisions[len(before) :]}
    events = [event_of(record) for record in before]
    return past_api(simulation.scheduler, "run", PastMoment(at, (), before, events, chosen), ConfigurationSource())


def event_of(record: DecisionBody) -> EventRow:
    """The event that a decision is reported with."""
    if record.node:
        note = f"Successfully assigned {record.pod} to {record.node}"
        return EventRow(record.at, "Normal", "Scheduled", f"Pod {record.pod}", note, SCHEDULER)
    return EventRow(record.at, "Warning", "FailedScheduling", f"Pod {record.pod}", record.message, SCHEDULER)


async def _answer(web_api: WebApi) -> None:
    for line in sys.stdin.buffer:
        asked = msgspec.json.decode(line, type=AskedOfMoment)
        answer = await web_api.answer(Request(asked.method, asked.path, asked.query))
        _tell(ToldOfMoment(answer.status, answer.content_type, answer.body.decode()))


def _tell(told: ToldOfMoment) -> None:
    assert sys.__stdout__ is not None
    sys.__stdout__.buffer.write(msgspec.json.encode(told) + b"\n")
    sys.__stdout__.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
