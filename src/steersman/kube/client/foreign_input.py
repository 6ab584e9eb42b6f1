# SPDX-License-Identifier: Apache-2.0
"""Untrusted input, read within limits: files, lines of watches, JSON, refusals of API servers.

    bytes, bounded (`read_file`, `LineAssembler`, `http.answers`)
      ├─► `decode_foreign` ─► typed, or `UnreadableAnswer`
      └─► `error_from_status` ─► `ApiError`

Objects in lists and watches are decoded by `list_watch`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from steersman.api import Int32, codec
from steersman.base import InputError
from steersman.kube.client.errors import ApiError, UnreadableAnswer

T = TypeVar("T")

MAX_SECRET_BYTES: Final = 1 << 20
"""Maximum bytes of a token, a certificate or a key."""
MAX_KUBECONFIG_BYTES: Final = 16 << 20
"""Maximum bytes of a kubeconfig; files with thousands of clusters are shorter."""
MAX_LINE_BYTES: Final = 32 << 20
"""Limit of a line of a watch, which is one object, in bytes. An API server stores at most 1.5 MiB
by default; escapes in JSON can make it six times as long."""
MAX_PAUSE_SECONDS: Final = 300.0
"""Limit of the pause that a server may ask for, in seconds."""

UNREADABLE = "{what} cannot be read: {reason}"
TOO_DEEP = "it is nested too deeply"
_SHOWN_BODY: Final = 200
_MAX_MESSAGE_LENGTH: Final = 32 << 10
"""Limit of a refusal's message, which is written to conditions and logs, as in Kubernetes."""
_INTERNAL: Final = 500
_FIRST_REFUSAL, _LAST_REFUSAL = 300, 599


# -- files -------------------------------------------------------------------------------------------------------------


def read_file(path: Path, longest: int) -> bytes:
    """Read a file, which may be a device without an end.

    Raise OSError if that fails, ValueError if it is longer than `longest` or its name is invalid.
    """
    with path.open("rb") as file:
        content = file.read(longest + 1)
    if len(content) > longest:
        raise ValueError(f"{path} has more than {longest} bytes")
    return content


# -- lines of a watch --------------------------------------------------------------------------------------------------


class LineTooLong(OSError):
    """A line is longer than its limit."""


class LineAssembler:
    """Splits bytes into lines. Pieces of an incomplete line are joined once."""

    def __init__(self, longest: int = MAX_LINE_BYTES) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add bytes and return the complete lines without line ends, except empty ones."""
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
        """Whether a line is incomplete."""
        return any(self._pieces)


# -- JSON --------------------------------------------------------------------------------------------------------------


def decode_foreign(data: bytes | msgspec.Raw, cls: type[T], what: str) -> T:
    """Decode JSON to a type; `null` is the same as a missing field. `what` names the data in the
    error, which shows no value, because it may be a secret."""
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
    """Return the error of a refusal, or of an ERROR event of a watch. `code` is used if the body
    has none, `retry_after` is the header of that name.

    A body that is not a Status, such as the error page of a proxy, becomes the message.
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
    message = (status.message or "")[:_MAX_MESSAGE_LENGTH]
    return ApiError(_refusal(status.code) or code, status.reason or "", message, _bounded(wait))


def _seconds(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header; dates are ignored."""
    return float(header) if header and header.strip().isdecimal() else None


def _bounded(seconds: float | None) -> float | None:
    """Limit the pause requested by a server."""
    return None if seconds is None else min(max(0.0, seconds), MAX_PAUSE_SECONDS)


def _refusal(code: int | None) -> int | None:
    """Return the code of a Status if it is that of a refusal; None to use the HTTP status."""
    return code if code is not None and _FIRST_REFUSAL <= code <= _LAST_REFUSAL else None
