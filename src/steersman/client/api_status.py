# SPDX-License-Identifier: Apache-2.0
"""Refusals as API servers write them: a `Status` in the body of an answer, or in an ERROR event of a watch → `ApiError`."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api.meta import Int32
from steersman.client.errors import ApiError, UnreadableAnswer
from steersman.client.foreign_json import decode_foreign

LONGEST_PAUSE: Final = 300.0
"""Seconds; a server that asks for more is asked again after this long."""
_SHOWN_BODY: Final = 200
_LONGEST_MESSAGE: Final = 32 << 10
"""As long as a message in Kubernetes may be; these go into conditions, events and logs."""
_INTERNAL: Final = 500
_FIRST_REFUSAL, _LAST_REFUSAL = 300, 599


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: Int32 | None = None


class _Status(msgspec.Struct, rename="camel"):
    """The parts of a Kubernetes Status that matter here."""

    code: Int32 | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


def from_status(body: bytes | msgspec.Raw, *, code: int = _INTERNAL, retry_after: str | None = None) -> ApiError:
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
