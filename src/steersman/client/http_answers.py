# SPDX-License-Identifier: Apache-2.0
"""Answers in HTTP/1.1, put together as bytes arrive. Without I/O; `keep_alive` reads.

A server may be broken or hostile: everything that it can make long has a limit, and what is not HTTP/1.1 to the letter is a
ValueError. An answer that says two things about its length is refused, because two readers could understand it differently.
Bodies are never decompressed: nobody asks for compression.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

LONGEST_BODY: Final = 64 << 20
"""Bytes of an answer that holds one object. An API server stores objects of some megabytes at most."""
LONGEST_LIST: Final = 1 << 30
"""Bytes of a page of a list: two thousand objects, or all of them where the server has lost its place."""
_HEAD_END: Final = b"\r\n\r\n"
_LONGEST_HEAD: Final = 128 << 10
_LONGEST_CHUNK_LINE: Final = 4 << 10
_LONGEST_TRAILER: Final = 64 << 10
_MOST_INTERIM_ANSWERS: Final = 16
_WITHOUT_BODY: Final = (204, 304)
_FIRST_FINAL_STATUS: Final = 200
_STATUS_LINE: Final = re.compile(r"(HTTP/1\.[0-9]) ([1-9][0-9]{2})(?: |$)")
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?", re.DOTALL)
_LENGTH: Final = re.compile(r"[0-9]{1,19}")
_SINGLE_HEADERS: Final = ("content-length", "transfer-encoding")


class BadAnswer(OSError):
    """The server's answer is not HTTP/1.1."""


class HttpAnswer(msgspec.Struct, frozen=True):
    """Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class AnswerParser:
    """One answer after the other, of one connection."""

    def __init__(self) -> None:
        #: Of the next body; who sends the request says how much it may bring.
        self.longest_body = LONGEST_BODY
        self._interim_answers = 0
        self._begin()

    def _begin(self) -> None:
        self._head = bytearray()
        self._status = 0
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []
        #: Bytes of the body that are to come; None: until the end of the connection.
        self._left: int | None = 0
        self._received = 0
        self._chunks: ChunkedBody | None = None
        self.keeps_alive = True

    def feed(self, data: bytes) -> HttpAnswer | None:
        """The answer, when this completes it. ValueError for what is none."""
        while not self._status:
            rest = self._rest_behind_head(data)
            if rest is None:
                return None
            data = rest
            if self._status < _FIRST_FINAL_STATUS:
                self._pass_over_interim_answer()
        return self._take(data)

    @property
    def status(self) -> int:
        """The status of the answer that is under way; 0 until its head has come."""
        return self._status

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer that is under way."""
        return self._headers

    def drain(self) -> bytes:
        """The body as far as it has come; it will not be part of the answer. For answers that go on: no more than a chunk of
        them is ever kept here, and `longest_body` bounds that."""
        if self._chunks is not None:
            content = bytes(self._chunks.content)
            self._chunks.content.clear()
            return content
        parts, self._parts, self._received = self._parts, [], 0
        return b"".join(parts)

    def end(self) -> HttpAnswer | None:
        """The connection has ended: so has an answer without a length."""
        return self._complete() if self._status and self._left is None and self._chunks is None else None

    # -- head --------------------------------------------------------------------------------------------------------

    def _rest_behind_head(self, data: bytes) -> bytes | None:
        """Takes the head; the bytes that follow it, None if it has not ended."""
        known = len(self._head)
        if known:
            self._head += data
            end = self._head.find(_HEAD_END, max(0, known - len(_HEAD_END) + 1))
            data = bytes(self._head) if end >= 0 else b""
        else:
            end = data.find(_HEAD_END)
        if (end if end >= 0 else len(self._head) or len(data)) > _LONGEST_HEAD:
            raise ValueError("the head of the answer does not end")
        if end < 0:
            if not known:
                self._head += data
            return None
        self._read_head(data[:end])
        return data[end + len(_HEAD_END) :]

    def _pass_over_interim_answer(self) -> None:
        self._interim_answers += 1
        if self._interim_answers > _MOST_INTERIM_ANSWERS:
            raise ValueError("interim answers without end")
        self._begin()

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        start = _STATUS_LINE.match(first)
        if start is None:
            raise ValueError(f"not an answer in HTTP/1.1: {first[:80]!r}")
        self._status = int(start[2])
        headers = self._headers
        for line in lines:
            name, colon, value = line.partition(":")
            name, value = name.lower(), value.strip()
            if not colon or name in headers:
                _require_header(line, name, headers.get(name, value), value)
            headers[name] = value
        self.keeps_alive = start[1] == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        self._expect_body(headers)

    def _expect_body(self, headers: dict[str, str]) -> None:
        length, encoding = headers.get("content-length"), headers.get("transfer-encoding")
        if self._status in _WITHOUT_BODY or self._status < _FIRST_FINAL_STATUS:
            self._left = 0
        elif encoding is not None:
            if encoding.lower() != "chunked":
                raise ValueError(f"Transfer-Encoding is {encoding[:80]!r}")
            if length is not None:
                raise ValueError("the answer has a Content-Length and comes in chunks")
            self._chunks = ChunkedBody(self.longest_body)
        elif length is not None:
            if not _LENGTH.fullmatch(length):
                raise ValueError(f"Content-Length is {length[:80]!r}")
            self._left = int(length)
            _require_room(self._left, self.longest_body)
        else:
            self._left = None
            self.keeps_alive = False

    # -- body --------------------------------------------------------------------------------------------------------

    def _take(self, data: bytes) -> HttpAnswer | None:
        if self._chunks is not None:
            if not self._chunks.feed(data):
                return None
            self._parts = [bytes(self._chunks.content)]
            return self._complete()
        if data:
            self._parts.append(data)
        if self._left is None:
            self._received += len(data)
            _require_room(self._received, self.longest_body)
            return None
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("the answer is longer than it says")
        return self._complete() if self._left == 0 else None

    def _complete(self) -> HttpAnswer:
        parts = self._parts
        answer = HttpAnswer(self._status, self._headers, parts[0] if len(parts) == 1 else b"".join(parts))
        keeps_alive = self.keeps_alive
        self._begin()
        self._interim_answers = 0
        self.keeps_alive = keeps_alive
        return answer


class ChunkedBody:
    """A body in pieces, each with its length before it."""

    def __init__(self, longest: int = LONGEST_BODY) -> None:
        #: In one piece: a list of millions of single bytes would take fifty times the memory.
        self.content = bytearray()
        self._longest = longest
        #: The beginning of a line whose end has not come.
        self._rest = b""
        #: Content of the current piece that is to come.
        self._left = 0
        #: Whether the line end behind a piece is to come.
        self._owes_line_end = False
        #: Bytes of lines behind the last piece; None before it has come.
        self._trailer: int | None = None

    def feed(self, data: bytes) -> bool:
        """Whether it is complete. ValueError when it is malformed."""
        data = self._rest + data if self._rest else data
        position = 0
        while position < len(data):
            if self._left:
                position = self._piece(data, position)
                continue
            end = data.find(b"\r\n", position)
            if end < 0:
                break
            if self._is_last(data[position:end]):
                if end + 2 < len(data):
                    raise ValueError("the answer is longer than it says")
                return True
            position = end + 2
        self._rest = data[position:]
        if len(self._rest) > _LONGEST_CHUNK_LINE:
            raise ValueError("a line between the pieces of the answer does not end")
        return False

    def _is_last(self, line: bytes) -> bool:
        """Takes a line: that which ends a piece, the length of the next one, or one behind the last."""
        if self._trailer is not None:
            self._trailer += len(line)
            if self._trailer > _LONGEST_TRAILER:
                raise ValueError("the trailer of the answer does not end")
            return not line
        if self._owes_line_end:
            if line:
                raise ValueError("a piece of the answer is longer than it says")
            self._owes_line_end = False
            return False
        self._begin_piece(line)
        return False

    def _begin_piece(self, line: bytes) -> None:
        size = _CHUNK_SIZE.fullmatch(line) if len(line) <= _LONGEST_CHUNK_LINE else None
        if size is None:
            raise ValueError(f"not the length of a piece: {line[:80]!r}")
        self._left = int(size[1], 16)
        _require_room(len(self.content) + self._left, self._longest)
        if self._left:
            self._owes_line_end = True
        else:
            self._trailer = 0

    def _piece(self, data: bytes, position: int) -> int:
        taken = data[position : position + self._left]
        self.content += taken
        self._left -= len(taken)
        return position + len(taken)


def _require_header(line: str, name: str, first: str, second: str) -> None:
    """Refuses a line without a colon, and a header that comes twice and may not; of most headers the last counts."""
    if ":" not in line:
        raise ValueError(f"not a header: {line[:80]!r}")
    if name in _SINGLE_HEADERS and first != second:
        raise ValueError(f"{name} is given twice")


def _require_room(size: int, longest: int) -> None:
    if size > longest:
        raise ValueError(f"the answer has more than {longest} bytes")
