# SPDX-License-Identifier: Apache-2.0
"""Errors of requests to an API server: refusals, failed connections, unreadable answers.

Raised by `transport` and `foreign_input`; `retrying`, reflectors and dispatcher decide by their
attributes.
"""

from __future__ import annotations

from typing import Final

from steersman.base import SteersmanError

EXPIRED_REASONS: Final = ("Expired", "Gone")
_UNAUTHORISED, _FORBIDDEN, _NOT_FOUND, _CONFLICT, _GONE, _TOO_MANY = 401, 403, 404, 409, 410, 429
_INTERNAL: Final = 500


class ClientError(SteersmanError):
    """Base of all errors of requests to an API server."""


class ConnectionFailed(ClientError):
    """No complete answer was received."""

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        #: Whether the server may have handled the request.
        self.may_have_arrived = may_have_arrived


class UnreadableLine(ConnectionFailed):
    """A line of a watch that is not an event; a new list is needed to find the change."""


class UnreadableAnswer(ClientError):
    """The server granted the request, but its answer is malformed."""


class ApiError(ClientError):
    """The server refused a request; code, reason and message are those of its `Status`."""

    def __init__(self, code: int, reason: str = "", message: str = "", retry_after: float | None = None) -> None:
        super().__init__(message or f"the server answered with code {code}")
        self.code = code
        self.reason = reason
        self.message = str(self)
        #: Pause that the server asks for, in seconds; None if not given.
        self.retry_after = retry_after

    @property
    def is_unauthorised(self) -> bool:
        return self.code == _UNAUTHORISED

    @property
    def is_forbidden(self) -> bool:
        return self.code == _FORBIDDEN

    @property
    def is_not_found(self) -> bool:
        return self.code == _NOT_FOUND

    @property
    def is_conflict(self) -> bool:
        """Whether the object has changed since it was read."""
        return self.code == _CONFLICT and self.reason != "AlreadyExists"

    @property
    def already_exists(self) -> bool:
        return self.code == _CONFLICT and self.reason == "AlreadyExists"

    @property
    def is_expired(self) -> bool:
        """Whether a resource version or a list's continuation has expired."""
        return self.code == _GONE or self.reason in EXPIRED_REASONS

    @property
    def is_overload(self) -> bool:
        """Whether the server did not handle the request, so that any request may be retried."""
        return self.code == _TOO_MANY or (self.code >= _INTERNAL and self.retry_after is not None)

    @property
    def is_server_fault(self) -> bool:
        return self.code >= _INTERNAL
