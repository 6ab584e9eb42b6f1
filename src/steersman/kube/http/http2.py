# SPDX-License-Identifier: Apache-2.0
"""Small requests over one HTTP/2 connection; requests made in one turn of the event loop are sent
in one write.

Used by `http2_requests`, which opens connections. Input is a header block (`hpack`) and a body,
output an `Http2Answer`.

A server may be broken or hostile, so every frame, head and body has a limit. Pending responses
share `RECEIVE_WINDOW` bytes, because flow-control credit is returned only for complete responses. A
protocol error closes the connection.
"""

from __future__ import annotations

import asyncio
import math
import ssl
import struct
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Final, cast

import msgspec

from steersman.kube.http.answers import InvalidAnswer
from steersman.kube.http.connector import NotSent
from steersman.kube.http.hpack import read_header, read_status
from steersman.kube.http.read_pacing import ReadPacing

ALPN: Final = ["h2", "http/1.1"]
MAX_STREAMS: Final = 64
"""Limit of concurrent requests; the server may set a lower one."""
MAX_REQUEST_BODY_BYTES: Final = 16384
"""Bytes of a request body: one frame of the size that every server accepts."""
MAX_ANSWER_BYTES: Final = 16 << 20
RECEIVE_WINDOW: Final = 64 << 20

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME: Final = struct.Struct(">HBBBI")
_SETTING: Final = struct.Struct(">HI")
_MAX_FRAME_BYTES: Final = 16384
_MAX_HEADER_BLOCK_BYTES: Final = 64 << 10
_MAX_INTERIM_ANSWERS: Final = 16
_FIRST_FINAL_STATUS: Final = 200
_DEFAULT_WINDOW: Final = 65535
_MAX_STREAM_ID: Final = (1 << 31) - 1
_CREDIT_BYTES: Final = 1 << 20
"""Flow-control credit is returned in portions of at least this many bytes."""

_DATA, _HEADERS, _RESET, _SETTINGS, _PUSH, _PING, _GO_AWAY, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_HEADER_TABLE_SIZE, _ENABLE_PUSH, _MAX_CONCURRENT_STREAMS, _INITIAL_WINDOW_SIZE, _MAX_HEADER_LIST_SIZE = 1, 2, 3, 4, 6
_CANCEL, _REFUSED_STREAM = 8, 7


class Http2Answer(msgspec.Struct, frozen=True):
    """A complete response. The header block is decoded on demand."""

    status: int
    block: bytes
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the header of that lower-case name. Raise `InvalidAnswer` if the block is
        malformed."""
        try:
            return read_header(self.block, name)
        except ValueError as wrong:
            raise InvalidAnswer(str(wrong)) from None


OnAnswer = Callable[[Http2Answer | OSError], None]
"""Callback for the response to a request, or its failure; called once, must not raise."""


class _Exchange:
    """A request that waits for its response."""

    __slots__ = ("block", "end", "heard_before", "interim_answers", "on_end", "parts", "received", "status")

    def __init__(self, on_end: OnAnswer, end: float, heard_before: int) -> None:
        self.on_end = on_end
        #: Monotonic.
        self.end = end
        #: `_heard` of the connection when the request was made.
        self.heard_before = heard_before
        self.status = 0
        self.block = b""
        self.parts: list[bytes] = []
        self.received = 0
        self.interim_answers = 0


class Http2Connection(asyncio.Protocol):
    """One connection and the requests on it. `on_room` is called when a queued request may be sent;
    `read_pacing` lets many pending responses be read together."""

    def __init__(self, on_room: Callable[[], None] = lambda: None, read_pacing: ReadPacing | None = None) -> None:
        self._on_room = on_room
        self._read_pacing = read_pacing
        #: Whether reading is paused by `read_pacing`.
        self._is_paused = False
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._exchanges: dict[int, _Exchange] = {}
        self._next_stream = 1
        #: Whether no further request may be sent: the server refuses them, or seems to be gone.
        self._is_retired = False
        self._is_congested = False
        self._failure: OSError = ConnectionResetError("the connection was closed")
        #: Frames to write at the end of this turn of the loop.
        self._unsent: list[bytes] = []
        #: Stream, index of frames and body size of `_unsent` requests; their earliest deadline.
        self._unsent_requests: list[tuple[int, int, int]] = []
        self._unsent_until = math.inf
        self._most_streams = MAX_STREAMS
        self._send_window = _DEFAULT_WINDOW
        self._stream_window = _DEFAULT_WINDOW
        self._receive_window = RECEIVE_WINDOW
        self._credit = 0
        #: Start of an incomplete frame.
        self._rest = b""
        #: Incomplete header block: stream, whether it ends the response, bytes.
        self._open_block: tuple[int, bool, bytearray] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_end = 0.0
        #: Numbers of reads from the socket and of finished requests.
        self._heard = 0
        self._ended = 0
        #: End of the last request; monotonic.
        self.used = monotonic()
        self.speaks_http2 = False

    @property
    def is_open(self) -> bool:
        """Whether requests may be sent, now or when there is room."""
        return not self._is_retired and self._transport is not None

    @property
    def is_idle(self) -> bool:
        return not self._exchanges

    def has_room(self, size: int) -> bool:
        """Return whether a request with a body of `size` bytes may be sent now."""
        return (
            not self._is_retired
            and not self._is_congested
            and len(self._exchanges) < self._most_streams
            and size <= self._send_window
            and size <= self._stream_window
        )

    async def exchange(self, block: bytes, body: bytes | None, end: float) -> Http2Answer:
        """Send a request and return its response; call only while `has_room`.

        Raise OSError if the connection breaks, TimeoutError without a response by `end`, and
        `NotSent` if the server has not processed the request.
        """
        answer: asyncio.Future[Http2Answer] = self._loop.create_future()
        stream = self.begin(block, body, end, partial(_settle, answer))
        try:
            return await answer
        finally:
            if answer.cancelled():
                self._give_up(stream)

    def begin(self, block: bytes, body: bytes | None, end: float, on_end: OnAnswer) -> int:
        """Send a request and return its stream number; call only while `has_room`."""
        if self._transport is None or self._is_retired:
            raise NotSent(str(self._failure))
        stream = self._next_stream
        self._next_stream += 2
        self._is_retired = self._next_stream > _MAX_STREAM_ID
        self._exchanges[stream] = _Exchange(on_end, end, self._heard)
        self._send_request(stream, block, body, end)
        if self._timer is None or end < self._timer_end:
            self._set_timer(end)
        return stream

    def close(self) -> None:
        """Accept no more requests; close when pending ones have their responses."""
        self._is_retired = True
        self._close_when_done()

    def abandon(self) -> None:
        """Close immediately."""
        self._break(self._failure)

    # -- called by the event loop ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        self.speaks_http2 = tls is None or tls.selected_alpn_protocol() == ALPN[0]
        if not self.speaks_http2:
            self.abandon()
            return
        settings = {_HEADER_TABLE_SIZE: 0, _ENABLE_PUSH: 0, _INITIAL_WINDOW_SIZE: MAX_ANSWER_BYTES}
        settings[_MAX_HEADER_LIST_SIZE] = _MAX_HEADER_BLOCK_BYTES
        self._send(_PREFACE)
        self._send(_frame(_SETTINGS, 0, 0, b"".join(_SETTING.pack(*setting) for setting in settings.items())))
        self._send(_frame(_WINDOW_UPDATE, 0, 0, _number(RECEIVE_WINDOW - _DEFAULT_WINDOW)))

    def data_received(self, data: bytes) -> None:
        self._heard += 1
        ended_before = self._ended
        if self._rest:
            data = self._rest + data
        at, end = 0, len(data)
        try:
            while end - at >= _FRAME.size:
                high, low, kind, flags, stream = _FRAME.unpack_from(data, at)
                start = at + _FRAME.size
                after = start + (high << 8 | low)
                if after - start > _MAX_FRAME_BYTES:
                    raise ValueError("a frame is longer than allowed")
                if after > end:
                    break
                self._take(kind, flags, stream & _MAX_STREAM_ID, data[start:after])
                at = after
        except ValueError as wrong:
            self._break(InvalidAnswer(str(wrong)))
            return
        self._rest = data[at:]
        if self._read_pacing is not None and self._transport is not None:
            self._read_pacing.answers_read(self._ended - ended_before, len(self._exchanges))
            if not self._is_paused and self._read_pacing.pause(self._go_on_reading):
                self._is_paused = True
                self._transport.pause_reading()

    def _go_on_reading(self) -> None:
        self._is_paused = False
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._break(exc if isinstance(exc, OSError) else self._failure)

    def pause_writing(self) -> None:
        self._is_congested = True

    def resume_writing(self) -> None:
        self._is_congested = False
        self._on_room()

    # -- received frames ---------------------------------------------------------------------------------------------

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if self._open_block is not None and kind != _CONTINUATION:
            raise ValueError("a header block is interrupted")
        if kind == _DATA:
            self._take_data(flags, stream, payload)
        elif kind == _HEADERS:
            block = _without_padding(payload) if flags & _PADDED else payload
            self._take_block(flags, stream, bool(flags & _END_STREAM), block[5:] if flags & _PRIORITY else block)
        elif kind == _WINDOW_UPDATE:
            self._take_window(stream, payload)
        elif kind == _SETTINGS:
            self._take_settings(flags, stream, payload)
        elif kind == _PING:
            self._take_ping(flags, payload)
        elif kind == _RESET:
            self._take_reset(stream, payload)
        elif kind == _GO_AWAY:
            self._take_go_away(payload)
        elif kind == _CONTINUATION:
            self._take_continuation(flags, stream, payload)
        elif kind == _PUSH:
            raise ValueError("the server pushes a response without a request")

    def _take_data(self, flags: int, stream: int, payload: bytes) -> None:
        self._receive_window -= len(payload)
        if self._receive_window < 0:
            raise ValueError("the server sends more than there is room for")
        exchange = self._exchange(stream)
        if exchange is None:
            self._give_room(len(payload))
            return
        if not exchange.status:
            raise ValueError("the body of an answer comes before its head")
        exchange.received += len(payload)
        exchange.parts.append(_without_padding(payload) if flags & _PADDED else payload)
        if flags & _END_STREAM:
            self._finish(stream, exchange)
        elif exchange.received >= MAX_ANSWER_BYTES:
            self._give_up(stream, InvalidAnswer(f"the answer has more than {MAX_ANSWER_BYTES} bytes"))

    def _take_continuation(self, flags: int, stream: int, payload: bytes) -> None:
        if self._open_block is None or self._open_block[0] != stream:
            raise ValueError("a header block continues that has not begun")
        _, ends_answer, begun = self._open_block
        self._open_block = None
        self._take_block(flags, stream, ends_answer, bytes(begun) + payload)

    def _take_block(self, flags: int, stream: int, ends_answer: bool, block: bytes) -> None:
        if len(block) > _MAX_HEADER_BLOCK_BYTES:
            raise ValueError("the head of the answer does not end")
        if not flags & _END_HEADERS:
            self._open_block = (stream, ends_answer, bytearray(block))
            return
        exchange = self._exchange(stream)
        if exchange is None:
            return
        if not exchange.status:
            self._take_head(exchange, block, ends_answer)
        elif not ends_answer:
            raise ValueError("an answer has two heads")
        if ends_answer:
            self._finish(stream, exchange)

    def _take_head(self, exchange: _Exchange, block: bytes, ends_answer: bool) -> None:
        status = read_status(block)
        if status >= _FIRST_FINAL_STATUS:
            exchange.status, exchange.block = status, block
            return
        exchange.interim_answers += 1
        if ends_answer or exchange.interim_answers > _MAX_INTERIM_ANSWERS:
            raise ValueError("interim answers without end")

    def _take_settings(self, flags: int, stream: int, payload: bytes) -> None:
        if stream or len(payload) % _SETTING.size or (flags & _ACK and payload):
            raise ValueError("settings that cannot be read")
        if flags & _ACK:
            return
        for name, value in _SETTING.iter_unpack(payload):
            if name == _MAX_CONCURRENT_STREAMS:
                self._most_streams = min(value, MAX_STREAMS)
            elif name == _INITIAL_WINDOW_SIZE:
                if value > _MAX_STREAM_ID:
                    raise ValueError("a window is larger than allowed")
                self._stream_window = value
        self._answer(_frame(_SETTINGS, _ACK, 0, b""))
        self._on_room()

    def _take_ping(self, flags: int, payload: bytes) -> None:
        if len(payload) != 8:
            raise ValueError("a ping that cannot be read")
        if not flags & _ACK:
            self._answer(_frame(_PING, _ACK, 0, payload))

    def _take_window(self, stream: int, payload: bytes) -> None:
        """Ignore windows of single streams: a body is sent only if it fits the initial window."""
        room = _read_number(payload)
        if stream:
            return
        if not room or self._send_window + room > _MAX_STREAM_ID:
            raise ValueError("a window that cannot be")
        self._send_window += room
        self._on_room()

    def _take_reset(self, stream: int, payload: bytes) -> None:
        code = _read_number(payload)
        if self._exchange(stream) is None:
            return
        was_refused = code == _REFUSED_STREAM
        failure = (
            NotSent("the server refused it") if was_refused else ConnectionResetError(f"reset by the server ({code})")
        )
        self._end(stream, failure)

    def _take_go_away(self, payload: bytes) -> None:
        """Handle GOAWAY: requests after the last stream that it names were not processed."""
        last = _read_number(payload[:4])
        self._is_retired = True
        for stream in [stream for stream in self._exchanges if stream > last]:
            self._end(stream, NotSent("the server closes the connection"))
        self._close_when_done()
        self._on_room()

    def _exchange(self, stream: int) -> _Exchange | None:
        """Return the request of the stream; None if ended. Raise ValueError if unknown."""
        exchange = self._exchanges.get(stream)
        if exchange is None and not (stream & 1 and stream < self._next_stream):
            raise ValueError("an answer without a request")
        return exchange

    # -- the end of a request ----------------------------------------------------------------------------------------

    def _finish(self, stream: int, exchange: _Exchange) -> None:
        if not exchange.status:
            raise ValueError("an answer ends before its head")
        parts = exchange.parts
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        self._end(stream, Http2Answer(exchange.status, exchange.block, body))

    def _give_up(self, stream: int, failure: OSError | None = None) -> None:
        """Cancel a request."""
        if stream in self._exchanges:
            self._send(_frame(_RESET, 0, stream, _number(_CANCEL)))
            self._end(stream, failure or self._failure)

    def _end(self, stream: int, outcome: Http2Answer | OSError) -> None:
        exchange = self._exchanges.pop(stream)
        self._ended += 1
        self._give_room(exchange.received)
        self.used = monotonic()
        exchange.on_end(outcome)
        if self._is_retired:
            self._close_when_done()
        self._on_room()

    def _give_room(self, size: int) -> None:
        self._credit += size
        if self._credit >= _CREDIT_BYTES:
            self._send(_frame(_WINDOW_UPDATE, 0, 0, _number(self._credit)))
            self._receive_window += self._credit
            self._credit = 0

    def _close_when_done(self) -> None:
        if not self._exchanges and self._transport is not None:
            self._break(self._failure)

    def _break(self, failure: OSError) -> None:
        """Close the connection and fail pending requests."""
        self._is_retired = True
        transport, self._transport = self._transport, None
        if self._timer is not None:
            self._timer.cancel()
        if transport is not None:
            transport.abort()
        for stream in list(self._exchanges):
            self._end(stream, failure)
        self._on_room()

    # -- time --------------------------------------------------------------------------------------------------------

    def _set_timer(self, end: float) -> None:
        """Set the one timer of all requests: most of them end long before their deadline."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_end = end
        self._timer = self._loop.call_later(max(0.0, end - monotonic()), self._time_out)

    def _time_out(self) -> None:
        self._timer = None
        now = monotonic()
        late = [(stream, exchange) for stream, exchange in self._exchanges.items() if exchange.end <= now]
        for stream, exchange in late:
            # Nothing was received since the request was made: the server may be gone.
            self._is_retired |= exchange.heard_before == self._heard
            self._give_up(stream, TimeoutError("no answer in time"))
        if self._exchanges:
            self._set_timer(min(exchange.end for exchange in self._exchanges.values()))

    # -- sent frames -------------------------------------------------------------------------------------------------

    def _send_request(self, stream: int, block: bytes, body: bytes | None, end: float) -> None:
        self._unsent_requests.append((stream, len(self._unsent), len(body or b"")))
        self._unsent_until = min(self._unsent_until, end)
        if body is None:
            self._send(_frame(_HEADERS, _END_HEADERS | _END_STREAM, stream, block))
            return
        size, head = len(body), len(block)
        self._send_window -= size
        # Two frames in one expression: this is the hot path, two requests per pod.
        self._send(
            _FRAME.pack(head >> 8, head & 0xFF, _HEADERS, _END_HEADERS, stream)
            + block
            + _FRAME.pack(size >> 8, size & 0xFF, _DATA, _END_STREAM, stream)
            + body
        )

    def _answer(self, frame: bytes) -> None:
        """Reply to a control frame. Raise ValueError if the server does not read, to bound
        memory."""
        if self._is_congested:
            raise ValueError("the server does not read")
        self._send(frame)

    def _send(self, frame: bytes) -> None:
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(frame)

    def _flush(self) -> None:
        if self._unsent_until <= monotonic():
            self._take_back_late_requests()
        unsent, self._unsent = self._unsent, []
        self._unsent_requests.clear()
        self._unsent_until = math.inf
        if unsent and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(unsent))

    def _take_back_late_requests(self) -> None:
        """Drop requests whose deadline passed before they were written (the process was stopped, or
        the loop was busy): the lease may be lost by now. HTTP/2 allows gaps in stream numbers."""
        now = monotonic()
        requests, self._unsent_requests = self._unsent_requests, []
        for stream, place, size in requests:
            exchange = self._exchanges.get(stream)
            if exchange is not None and exchange.end <= now:
                self._unsent[place] = b""
                self._send_window += size
                self._end(stream, NotSent("its time was over before it could be sent"))


def _settle(answer: asyncio.Future[Http2Answer], outcome: Http2Answer | OSError) -> None:
    if answer.done():
        return
    if isinstance(outcome, Http2Answer):
        answer.set_result(outcome)
    else:
        answer.set_exception(outcome)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    size = len(payload)
    return _FRAME.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _read_number(payload: bytes) -> int:
    if len(payload) != 4:
        raise ValueError("a frame that cannot be read")
    return int.from_bytes(payload, "big") & _MAX_STREAM_ID


def _without_padding(payload: bytes) -> bytes:
    if not payload or payload[0] >= len(payload):
        raise ValueError("a frame has more padding than bytes")
    return payload[1 : len(payload) - payload[0]]
