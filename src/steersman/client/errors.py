# SPDX-License-Identifier: Apache-2.0
"""Errors between the client and an API server: it refuses, there is no answer, or the answer makes no sense.

Raised by `transport` and `foreign_input`; `retrying`, the reflectors and the dispatcher decide by what these errors say of
themselves.
"""

from __future__ import annotations

from typing import Final

from steersman.errors import SteersmanError

EXPIRED_REASONS: Final = ("Expired", "Gone")
_UNAUTHORISED, _NOT_FOUND, _CONFLICT, _GONE, _TOO_MANY = 401, 404, 409, 410, 429
_INTERNAL: Final = 500


class ClientError(SteersmanError):
    """Base of all errors between the client and an API server."""


class ConnectionFailed(ClientError):
    """No answer, or only a part of one."""

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        #: Whether the server may have acted on the request nevertheless.
        self.may_have_arrived = may_have_arrived


class UnreadableLine(ConnectionFailed):
    """A line of a watch that is no event: what it was about can be found out by a new list only."""


class UnreadableAnswer(ClientError):
    """The server granted the request, and its answer is not what it should be."""


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
