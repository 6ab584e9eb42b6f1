# SPDX-License-Identifier: Apache-2.0
"""`python -m steersman.sandbox.web.recorded_moment DIRECTORY AT [PLUGIN_FILE…]`: a past time's API.

    record ─► simulation of that moment ─► `WebApi` ─► a line of JSON for each line of JSON

Started by `recorded_past`, to keep this work out of the scheduler's process. The first line of its
output says whether it is ready, or why not.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from steersman.base import SteersmanError
from steersman.kube.serving import Request
from steersman.record import DecisionBody, FrameKind, RecordReader, body_of, record_bounds, simulation_at
from steersman.sandbox.web.configuration_page import ConfigurationSource
from steersman.sandbox.web.event_rows import decision_row
from steersman.sandbox.web.http_api import WebApi
from steersman.sandbox.web.past import PastMoment, past_api
from steersman.simulation import Simulation

CLOSE_SECONDS: Final = 0.05
"""Maximum difference between the recorded time of a decision and that of the scheduler."""
_NICENESS: Final = 10
"""Niceness of this process, below the scheduler's."""


class MomentRequest(msgspec.Struct, frozen=True):
    """A request as one line of JSON."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()


class MomentAnswer(msgspec.Struct, frozen=True):
    """An answer as one line of JSON. `problem` in the first line says why there are none; "" if
    there are."""

    status: int = 200
    content_type: str = ""
    body: str = ""
    problem: str = ""


def main(directory: str, at: float, plugins: Sequence[str]) -> None:
    os.nice(_NICENESS)
    # Plugins may print; answers use the real stdout.
    sys.stdout = sys.stderr
    try:
        reader = RecordReader(directory)
        _, _, end = record_bounds(reader)
        # Nothing has changed since the last recorded time; no record is from before the epoch.
        moment = datetime.fromtimestamp(max(0.0, min(at, end)), UTC)
        simulation = simulation_at(directory, moment, plugins=plugins)
        with simulation:
            web_api = _pages(simulation, reader, at)
            _send(MomentAnswer())
            asyncio.run(_answer(web_api))
    except SteersmanError as error:
        _send(MomentAnswer(problem=str(error)))


def _pages(simulation: Simulation, reader: RecordReader, at: float) -> WebApi:
    frames = reader.frames(until=at + CLOSE_SECONDS)
    decisions = [body_of(frame, DecisionBody, reader.directory) for frame in frames if frame.kind == FrameKind.DECISION]
    before = [record for record in decisions if record.at < at - CLOSE_SECONDS]
    chosen = {record.pod: record.node for record in decisions[len(before) :]}
    events = [decision_row(record.at, record.pod, record.node, record.message) for record in before]
    return past_api(simulation.scheduler, "run", PastMoment(at, (), before, events, chosen), ConfigurationSource())


async def _answer(web_api: WebApi) -> None:
    for line in sys.stdin.buffer:
        request = msgspec.json.decode(line, type=MomentRequest)
        answer = await web_api.answer(Request(request.method, request.path, request.query))
        _send(MomentAnswer(answer.status, answer.content_type, answer.body.decode()))


def _send(answer: MomentAnswer) -> None:
    assert sys.__stdout__ is not None
    sys.__stdout__.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.__stdout__.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
