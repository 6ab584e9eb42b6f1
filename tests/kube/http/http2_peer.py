# SPDX-License-Identifier: Apache-2.0
"""The other end of an HTTP/2 connection, in memory: what the client writes is split into frames, answers are made by hand."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass, field
from typing import cast

from steersman.kube.http.hpack import encode_field
from steersman.kube.http.http2 import Http2Connection
from steersman.kube.http.read_pacing import ReadPacing

DATA, HEADERS, RESET, SETTINGS, PUSH, PING, GO_AWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 1, 1, 4, 8, 32
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD = struct.Struct(">HBBBI")


@dataclass(frozen=True)
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return HEAD.pack(len(payload) >> 8, len(payload) & 0xFF, kind, flags, stream) + payload


def frames(data: bytes) -> list[Frame]:
    found, at = [], 0
    while at < len(data):
        high, low, kind, flags, stream = HEAD.unpack_from(data, at)
        end = at + HEAD.size + (high << 8 | low)
        found.append(Frame(kind, flags, stream, data[at + HEAD.size : end]))
        at = end
    return found


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def head(status: int, *headers: tuple[str, str]) -> bytes:
    return b"".join(encode_field(name, value) for name, value in ((":status", str(status)), *headers))


def answer(stream: int, body: bytes = b"", status: int = 200, *headers: tuple[str, str]) -> bytes:
    block = head(status, *headers)
    return frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, body)


def settings(**values: int) -> bytes:
    names = {"streams": 3, "window": 4}
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", names[name], value) for name, value in values.items()))


@dataclass
class Wire(asyncio.Transport):
    """Keeps what is written, packet by packet."""

    packets: list[bytes] = field(default_factory=list)
    is_aborted: bool = False
    is_read: bool = True

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.packets.append(bytes(data))

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def taken(self) -> list[Frame]:
        """The frames since the last call."""
        data = b"".join(self.packets).removeprefix(PREFACE)
        self.packets.clear()
        return frames(data)


async def turn() -> None:
    """Lets the loop go round: what is to be sent has been sent, and whoever waits has been told."""
    for _ in range(4):
        await asyncio.sleep(0)


async def connected(*greeting: bytes, read_pacing: ReadPacing | None = None) -> tuple[Http2Connection, Wire]:
    """A connection that has said and heard how both want to speak."""
    connection, wire = Http2Connection(read_pacing=read_pacing), Wire()
    connection.connection_made(cast(asyncio.BaseTransport, wire))
    await turn()
    wire.taken()
    for data in greeting:
        connection.data_received(data)
    await turn()
    wire.taken()
    return connection, wire
