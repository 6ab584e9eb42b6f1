# SPDX-License-Identifier: Apache-2.0
"""Pages of a past time from a record, made by a separate process.

    request with `at` ─► `RecordedPast` ─► `recorded_moment`, one process per time ─► answer

The scheduler's process only forwards lines, without blocking. The process of the last requested
time stays until it is idle for a while.
"""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from steersman.base import Clock
from steersman.kube.serving import Answer, Request
from steersman.sandbox.web.recorded_moment import MomentAnswer, MomentRequest
from steersman.sandbox.web.refusals import WebRefusal

IN_THE_FUTURE: Final = "that has not been yet"
TOO_SLOW: Final = "the record takes too long to read"
ENDED: Final = "the process that reads the record has ended"
WRITTEN_SECONDS: Final = 2.0
"""Time after which a decision is in the files of the record."""
START_SECONDS: Final = 300.0
IDLE_SECONDS: Final = 120.0
_MAX_LINE_BYTES: Final = 1 << 28


class RecordedPast:
    """Past of one record; one time is open at a time. Belongs to the server thread."""

    def __init__(self, directory: str, clock: Clock, plugin_files: Sequence[str] = ()) -> None:
        """`plugin_files` are those of this scheduler, which may also be run for its record."""
        self._directory = directory
        self._plugin_files = plugin_files
        self._clock = clock
        self._turn = asyncio.Lock()
        self._at: float | None = None
        self._process: Process | None = None
        self._asked_at = 0.0

    async def answer(self, at: float, request: Request) -> Answer:
        """Return the answer. Raises `WebRefusal` for a time that the record does not cover."""
        now = self._clock.now()
        if at > now:
            raise WebRefusal(404, "NotFound", IN_THE_FUTURE)
        await asyncio.sleep(max(0.0, WRITTEN_SECONDS - (now - at)))
        async with self._turn:
            try:
                if at != self._at:
                    await self._start(at)
                answer = await self._answer_of(MomentRequest(request.method, request.path, request.query))
            except BaseException:
                await self.close()  # otherwise an unread answer would be taken for the next one
                raise
            self._asked_at = time.monotonic()
            return Answer(answer.status, answer.body.encode(), answer.content_type)

    @property
    def is_reading(self) -> bool:
        """Whether a process is open or starting."""
        return self._process is not None

    async def end_if_idle(self) -> None:
        """End an idle process; call it periodically."""
        async with self._turn:
            if time.monotonic() - self._asked_at > IDLE_SECONDS:
                await self.close()

    async def close(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._at = self._process, None, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        assert process.stdin is not None, "it has a pipe"
        process.stdin.close()
        await process.wait()

    async def _start(self, at: float) -> None:
        await self.close()
        command = (
            sys.executable,
            "-m",
            "steersman.sandbox.web.recorded_moment",
            self._directory,
            repr(at),
            *self._plugin_files,
        )
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_MAX_LINE_BYTES
        )
        try:
            async with asyncio.timeout(START_SECONDS):
                answer = await self._line()
        except TimeoutError as error:
            raise WebRefusal(503, "ServiceUnavailable", TOO_SLOW) from error
        if answer.problem:
            raise WebRefusal(404, "NotFound", answer.problem)
        self._at = at

    async def _answer_of(self, request: MomentRequest) -> MomentAnswer:
        process = self._process
        assert process is not None, "it was started"
        assert process.stdin is not None, "with a pipe"
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        return await self._line()

    async def _line(self) -> MomentAnswer:
        process = self._process
        assert process is not None, "it was started"
        assert process.stdout is not None, "with a pipe"
        line = await process.stdout.readline()
        if not line:
            raise WebRefusal(503, "ServiceUnavailable", ENDED)
        return msgspec.json.decode(line, type=MomentAnswer)
