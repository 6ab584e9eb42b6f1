"""What can go wrong between the client and an API server: it refuses, or there is no answer.

Raised by `transport`; `retry`, the reflectors and the dispatcher decide by what these errors say of themselves.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.errors import SteersmanError

EXPIRED_REASONS: Final = ("Expired", "Gone")
LONGEST_WAIT: Final = 3600
"""Seconds. A server that asks for more patience is asked again nevertheless."""
_SHOWN_BODY: Final = 200
_UNAUTHORISED, _NOT_FOUND, _CONFLICT, _GONE, _TOO_MANY = 401, 404, 409, 410, 429
_INTERNAL: Final = 500


class ClientError(SteersmanError):
    """Base of both."""


class ConnectionFailed(ClientError):
    """No answer, or only a part of one."""

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        #: Whether the server may have acted on the request nevertheless.
        self.may_have_arrived = may_have_arrived


class UnreadableLine(ConnectionFailed):
    """A line of a watch that is no event: what it was about can be found out by a new list only."""


class ApiError(ClientError):
    """The server's refusal, as its `Status` tells it."""

    def __init__(self, code: int, reason: str = "", message: str = "", retry_after: float | None = None) -> None:
        super().__init__(message or f"the server answered with code {code}")
        self.code = code
        self.reason = reason
        self.message = str(self)
        #: Seconds after which the server wants to be asked again; None: it does not say.
        self.retry_after = retry_after

    @property
    def is_unauthorised(self) -> bool:
        return self.code == _UNAUTHORISED

    @property
    def is_not_found(self) -> bool:
        return self.code == _NOT_FOUND

    @property
    def is_conflict(self) -> bool:
        """The object is not what the writer took it for."""
        return self.code == _CONFLICT and self.reason != "AlreadyExists"

    @property
    def already_exists(self) -> bool:
        return self.code == _CONFLICT and self.reason == "AlreadyExists"

    @property
    def is_expired(self) -> bool:
        """A resource version, or the continuation of a list, is too old."""
        return self.code == _GONE or self.reason in EXPIRED_REASONS

    @property
    def is_overload(self) -> bool:
        """The server did not look at the request; it may be sent again whatever it was."""
        return self.code == _TOO_MANY or (self.code >= _INTERNAL and self.retry_after is not None)

    @property
    def is_server_fault(self) -> bool:
        return self.code >= _INTERNAL


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int | None = None


class _Status(msgspec.Struct, rename="camel"):
    """The parts of a Kubernetes Status that matter here."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


def from_status(body: bytes | msgspec.Raw, *, code: int = _INTERNAL, retry_after: str | None = None) -> ApiError:
    """The error that an answer, or an ERROR event of a watch, stands for; `code` counts when the body has none,
    `retry_after` is the header of that name.

    A body that is no Status (a proxy in between has written it) is shown as it is.
    """
    try:
        status = msgspec.json.decode(body, type=_Status)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = bytes(body)[:_SHOWN_BODY].decode("utf-8", "replace").strip()
        status = _Status(message=text or None)
    details = status.details or _Details()
    wait = _seconds(retry_after)
    if wait is None and details.retry_after_seconds:
        wait = float(max(0, min(details.retry_after_seconds, LONGEST_WAIT)))
    return ApiError(status.code or code, status.reason or "", status.message or "", wait)


def _seconds(header: str | None) -> float | None:
    """A time of day in the header, which API servers do not send, is as good as none."""
    return min(float(header), float(LONGEST_WAIT)) if header and header.strip().isdecimal() else None
