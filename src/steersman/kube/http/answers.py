# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 responses, assembled from bytes as they arrive. No I/O: `http1` and `streams` read the
sockets.

httptools parses. A server may be broken or hostile, so heads, bodies and trailers have limits here,
and a response that is not HTTP/1.1, or that declares its length in two ways, is a ValueError.
Bodies are never decompressed: no request accepts compression.
"""

from __future__ import annotations

import re
from typing import Final

import httptools
import msgspec

MAX_BODY_BYTES: Final = 64 << 20
"""Bytes of a response with one object. An API server stores objects of some megabytes at most."""
MAX_LIST_BYTES: Final = 1 << 30
"""Maximum bytes of a list page, which has all objects if the continue token has expired."""
_MAX_HEAD_BYTES: Final = 128 << 10
"""Bytes of a head, of a trailer, and of anything else between two pieces of a body."""
_MAX_INTERIM_ANSWERS: Final = 16
_FIRST_INTERIM_STATUS, _FIRST_FINAL_STATUS = 100, 200
_LENGTH: Final = re.compile(r"[0-9]{1,19}")
_VERSIONS: Final = ("1.0", "1.1")


class InvalidAnswer(OSError):
    """The server's response is not HTTP/1.1."""


class HttpAnswer(msgspec.Struct, frozen=True):
    """A complete response. Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class AnswerParser:
    """Parser of the responses on one connection, one at a time."""

    def __init__(self) -> None:
        #: Limit for the next body in bytes, set by the sender of the request.
        self.longest_body = MAX_BODY_BYTES
        #: Whether the connection can be used for another request.
        self.keeps_alive = True
        #: Headers of the current response.
        self.headers: dict[str, str] = {}
        #: Status of the current response; 0 until its head is complete.
        self.status = 0
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._body_bytes = 0
        self._header_bytes = 0
        #: Bytes since the last piece of a body.
        self._framing_bytes = 0
        self._interim_answers = 0
        self._answer: HttpAnswer | None = None

    def feed(self, data: bytes) -> HttpAnswer | None:
        """Parse bytes; return the response if complete. Raise ValueError if malformed."""
        self._framing_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise ValueError("the server switches to another protocol") from None
        except httptools.HttpParserCallbackError as error:
            raise ValueError(str(error.__context__ or error)) from None
        except httptools.HttpParserError as error:
            raise ValueError(f"not an answer in HTTP/1.1: {error}") from None
        answer, self._answer = self._answer, None
        if answer is None and self._framing_bytes > _MAX_HEAD_BYTES:
            raise ValueError("the head of the answer does not end")
        return answer

    def drain(self) -> bytes:
        """Return and remove the body received since the last call, for streams."""
        parts, self._parts, self._body_bytes = self._parts, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def end(self) -> HttpAnswer | None:
        """Handle the end of the connection, which completes a response without a length."""
        if not self.status or "content-length" in self.headers or "transfer-encoding" in self.headers:
            return None
        self.keeps_alive = False
        return self._completed()

    # -- called by httptools -----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._answer is not None:
            raise ValueError("the answer is longer than it says")
        self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > _MAX_HEAD_BYTES:
            raise ValueError("the head of the answer does not end")
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1").strip()

    def on_headers_complete(self) -> None:
        status, headers = self._parser.get_status_code(), self.headers
        if status < _FIRST_INTERIM_STATUS or self._parser.get_http_version() not in _VERSIONS:
            raise ValueError("not an answer in HTTP/1.1")
        if headers.get("transfer-encoding", "chunked").lower() != "chunked":
            raise ValueError(f"Transfer-Encoding is {headers['transfer-encoding'][:80]!r}")
        length = headers.get("content-length", "0")
        if not _LENGTH.fullmatch(length):
            raise ValueError(f"Content-Length is {length[:80]!r}")
        self._require_room(int(length))
        self.keeps_alive = self._parser.should_keep_alive()
        if status >= _FIRST_FINAL_STATUS:
            self.status = status

    def on_body(self, data: bytes) -> None:
        self._framing_bytes = 0
        self._body_bytes += len(data)
        self._require_room(self._body_bytes)
        self._parts.append(data)

    def on_message_complete(self) -> None:
        if self.status:
            self._answer = self._completed()
            return
        self._header_bytes = 0
        self._interim_answers += 1
        if self._interim_answers > _MAX_INTERIM_ANSWERS:
            raise ValueError("interim answers without end")

    def _completed(self) -> HttpAnswer:
        answer = HttpAnswer(self.status, self.headers, self.drain())
        self.status = self._header_bytes = self._framing_bytes = self._interim_answers = 0
        return answer

    def _require_room(self, size: int) -> None:
        if size > self.longest_body:
            raise ValueError(f"the answer has more than {self.longest_body} bytes")
