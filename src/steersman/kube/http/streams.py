# SPDX-License-Identifier: Apache-2.0
"""A streamed response, such as a watch: its body is read in pieces, over a connection of its own.

`http1` hands over the connection, usually the one that a list came over; `client.transport` splits
the pieces into lines.
"""

from __future__ import annotations

import asyncio
from typing import Final

from steersman.kube.http.answers import AnswerParser, InvalidAnswer
from steersman.kube.http.read_pacing import ReadPacing

BUFFER_BYTES: Final = 1 << 20
"""Reading from the socket pauses while more bytes than this wait to be read."""


class StreamedAnswer(asyncio.Protocol):
    """The response to one request, on a connection that ends with it."""

    def __init__(self, transport: asyncio.Transport, read_pacing: ReadPacing | None = None) -> None:
        self._transport = transport
        self._read_pacing = read_pacing
        self._parser = AnswerParser()
        self._pieces: list[bytes] = []
        self._size = 0
        #: Reasons not to read from the socket: the buffer is full, or a pause of `read_pacing`.
        self._is_full = False
        self._is_paused = False
        #: Whether the response has ended; `_failure` is the error, if there was one.
        self._has_ended = False
        self._failure: OSError | None = None
        self._waiting: asyncio.Future[None] | None = None
        #: One timer for all waits: most of them end long before their timeout.
        self._timer: asyncio.TimerHandle | None = None
        #: Deadline of the current wait, on the loop's clock.
        self._wait_end = 0.0
        #: 0 until the head has come.
        self.status = 0
        #: Names in lower case.
        self.headers: dict[str, str] = {}
        transport.set_protocol(self)

    def send(self, request: bytes) -> None:
        self._transport.write(request)

    async def read(self, timeout: float) -> bytes:
        """Return the body received since the last call, waiting for at least one byte; b"" at the
        end.

        Raise TimeoutError if nothing comes for `timeout` seconds, OSError if the connection breaks
        before the end.
        """
        if not self._pieces and not self._has_ended:
            await self._wait(timeout)
        if self._pieces:
            return self._taken()
        if self._failure is not None:
            raise self._failure
        return b""

    def close(self) -> None:
        """Abort the connection: the only way to tell a server to stop sending."""
        self._transport.abort()

    # -- called by the event loop ------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        try:
            answer = self._parser.feed(data)
        except ValueError as wrong:
            self._end(InvalidAnswer(str(wrong)))
            return
        if answer is not None:
            self.status, self.headers = answer.status, answer.headers
            self._put(answer.body)
            self._end(None)
            return
        self.status, self.headers = self._parser.status, self._parser.headers
        self._put(self._parser.drain())
        if self._read_pacing is not None and not self._is_paused and self._read_pacing.pause(self._go_on_reading):
            self._is_paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        answer = self._parser.end()
        if answer is not None:
            self._put(answer.body)
            self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        lost = exc if isinstance(exc, OSError) else ConnectionResetError("the connection was closed")
        self._end(lost)

    # -- internals ---------------------------------------------------------------------------------------------------

    async def _wait(self, timeout: float) -> None:
        loop = asyncio.get_running_loop()
        waiting = self._waiting = loop.create_future()
        self._wait_end = loop.time() + timeout
        if self._timer is None or self._timer.when() > self._wait_end:
            self._set_timer(timeout)
        try:
            await waiting
        finally:
            self._waiting = None

    def _taken(self) -> bytes:
        pieces, self._pieces, self._size = self._pieces, [], 0
        if self._is_full:
            self._is_full = False
            self._read_again()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _put(self, piece: bytes) -> None:
        if not piece:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > BUFFER_BYTES and not self._is_full:
            self._is_full = True
            self._transport.pause_reading()
        self._wake()

    def _go_on_reading(self) -> None:
        self._is_paused = False
        self._read_again()

    def _read_again(self) -> None:
        if not self._is_full and not self._is_paused and not self._transport.is_closing():
            self._transport.resume_reading()

    def _end(self, failure: OSError | None) -> None:
        if not self._has_ended:
            self._has_ended, self._failure = True, failure
            if self._timer is not None:
                self._timer.cancel()
            self.close()
        self._wake()

    def _set_timer(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._time_out)

    def _time_out(self) -> None:
        self._timer = None
        if self._waiting is None:
            return  # the next wait sets the timer again
        left = self._wait_end - asyncio.get_running_loop().time()
        if left > 0:
            self._set_timer(left)
        else:
            self._end(TimeoutError("no answer in time"))

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
