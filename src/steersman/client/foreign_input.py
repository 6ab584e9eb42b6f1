# SPDX-License-Identifier: Apache-2.0
"""Foreign input, read within limits: files, bodies of answers, lines of watches, JSON, refusals of API servers.

    bytes, bounded (`read_file`, `read_body`, `LineAssembler`; `http_answers` on kept connections)
      ├─► `decode_foreign` ─► typed, or `UnreadableAnswer`
      └─► `error_from_status` ─► `ApiError`

Everything that others can make long has a limit, and whatever is wrong is one error that callers are prepared for. Deadlines
are those of the sessions. Objects in lists and watches are decoded by `list_watch`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from steersman.api import codec
from steersman.api.meta import Int32
from steersman.client.errors import ApiError, UnreadableAnswer
from steersman.errors import InputError

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

LONGEST_SECRET: Final = 1 << 20
"""Bytes of a token, a certificate or a key."""
LONGEST_KUBECONFIG: Final = 16 << 20
"""Bytes of a kubeconfig: those of thousands of clusters are shorter."""
LONGEST_LINE: Final = 32 << 20
"""Bytes of a line of a watch, which is one object. An API server stores 1.5 MiB of one unless it is told otherwise, which JSON
can make sixfold."""
LONGEST_PAUSE: Final = 300.0
"""Seconds; a server that asks for a longer pause is asked again after this long."""
#: Sent along, and obeyed: sessions are made with `auto_decompress=False`, so that some kilobytes cannot become gigabytes.
UNCOMPRESSED = {"Accept-Encoding": "identity"}

UNREADABLE = "{what} cannot be read: {reason}"
TOO_DEEP = "it is nested too deeply"
_SHOWN_BODY: Final = 200
_LONGEST_MESSAGE: Final = 32 << 10
"""Characters of a refusal, as many as a message in Kubernetes may have: they go into conditions, events and logs."""
_INTERNAL: Final = 500
_FIRST_REFUSAL, _LAST_REFUSAL = 300, 599


# -- files -------------------------------------------------------------------------------------------------------------


def read_file(path: Path, longest: int) -> bytes:
    """The content of a file that somebody else fills; one may be a device without an end.

    OSError when it cannot be read; ValueError when it is longer, or cannot be the name of a file.
    """
    with path.open("rb") as file:
        content = file.read(longest + 1)
    if len(content) > longest:
        raise ValueError(f"{path} has more than {longest} bytes")
    return content


# -- bodies of answers -------------------------------------------------------------------------------------------------


class BodyTooLong(OSError):
    """The answer does not end where it should."""


async def read_body(response: aiohttp.ClientResponse, longest: int) -> bytes:
    """The whole body of an answer that comes through aiohttp. BodyTooLong when there is more."""
    body = await read_start(response, longest + 1)
    if len(body) > longest:
        raise BodyTooLong(f"the answer has more than {longest} bytes")
    return body


async def read_start(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The first `most` bytes of the body, or all of it."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) >= most:
            break
    return bytes(body[:most])


# -- lines of a watch --------------------------------------------------------------------------------------------------


class LineTooLong(OSError):
    """A line that does not end."""


class LineAssembler:
    """Chunks of bytes, as a connection delivers them, become lines. A line that has not ended is kept in pieces and joined
    once."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, without their ends; empty ones are left out."""
        first, *rest = chunk.split(b"\n")
        self._pieces.append(first)
        self._size += len(first)
        if self._size > self._longest:
            raise LineTooLong(f"a line has more than {self._longest} bytes")
        if not rest:
            return []
        *complete, begun = rest
        lines = [b"".join(self._pieces), *complete]
        self._pieces, self._size = [begun], len(begun)
        return [line for line in lines if line.strip()]

    @property
    def has_partial_line(self) -> bool:
        """A line has begun and not ended."""
        return any(self._pieces)


# -- JSON --------------------------------------------------------------------------------------------------------------


def decode_foreign(data: bytes | msgspec.Raw, cls: type[T], what: str) -> T:
    """JSON → typed, `null` being as good as nothing. `what` names the data in the error, which never shows a value: it
    may be a secret."""
    try:
        return codec.decode(data, cls)
    except InputError as cause:
        cause.value = None
        raise _unreadable(what, str(cause)) from cause
    except RecursionError as cause:
        raise _unreadable(what, TOO_DEEP) from cause
    except (msgspec.MsgspecError, ValueError, OverflowError) as cause:
        raise _unreadable(what, str(cause)) from cause


def _unreadable(what: str, reason: str) -> UnreadableAnswer:
    return UnreadableAnswer(UNREADABLE.format(what=what, reason=reason))


# -- refusals ----------------------------------------------------------------------------------------------------------


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: Int32 | None = None


class _Status(msgspec.Struct, rename="camel"):
    """The parts of a Kubernetes Status that matter here."""

    code: Int32 | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


def error_from_status(body: bytes | msgspec.Raw, *, code: int = _INTERNAL, retry_after: str | None = None) -> ApiError:
    """The error that an answer, or an ERROR event of a watch, stands for; `code` counts when the body has none,
    `retry_after` is the header of that name.

    A body that is no Status (a proxy in between has written it) is shown as it is.
    """
    try:
        status = decode_foreign(body, _Status, "the server's refusal")
    except UnreadableAnswer:
        text = bytes(body)[:_SHOWN_BODY].decode("utf-8", "replace").strip()
        status = _Status(message=text or None)
    details = status.details or _Details()
    wait = _seconds(retry_after)
    if wait is None and details.retry_after_seconds:
        wait = float(details.retry_after_seconds)
    message = (status.message or "")[:_LONGEST_MESSAGE]
    return ApiError(_refusal(status.code) or code, status.reason or "", message, _bounded(wait))


def _seconds(header: str | None) -> float | None:
    """A time of day in the header, which API servers do not send, is as good as none."""
    return float(header) if header and header.strip().isdecimal() else None


def _bounded(seconds: float | None) -> float | None:
    """A server may ask for patience, not for silence until the end of days."""
    return None if seconds is None else min(max(0.0, seconds), LONGEST_PAUSE)


def _refusal(code: int | None) -> int | None:
    """A code that stands for a refusal; a Status with any other is taken at the word of the HTTP answer."""
    return code if code is not None and _FIRST_REFUSAL <= code <= _LAST_REFUSAL else None
