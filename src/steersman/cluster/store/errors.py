# SPDX-License-Identifier: Apache-2.0
"""Errors of the embedded cluster with code, reason and message of a Kubernetes `Status`.

Raised by the store and everything above it, with kube-apiserver's messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

import msgspec

from steersman.api import TOO_DEEP as TOO_DEEP, Object
from steersman.base import SteersmanError

MODIFIED_SINCE: Final = "the object has been modified; please apply your changes to the latest version and try again"


class StatusCause(msgspec.Struct, frozen=True, omit_defaults=True):
    """Entry of `details.causes` of a Status: a field and its error."""

    reason: str
    message: str
    field: str = ""


class StatusSubject(msgspec.Struct, frozen=True, omit_defaults=True):
    """Object in `details` of a Status; `kind`: plural, or kind if invalid."""

    name: str = ""
    group: str = ""
    kind: str = ""


class StatusError(SteersmanError):
    """Base of all errors with the fields of a `Status`."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(self, message: str, causes: Iterable[StatusCause] = (), subject: StatusSubject | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.subject = subject
        #: Causes, one per invalid field. kubectl shows these, if any, instead of the message.
        self.causes = tuple(causes)


class BadRequest(StatusError):
    """The request is malformed."""

    code = 400
    reason = "BadRequest"


class RequestEntityTooLarge(StatusError):
    """The request is larger than the server allows."""

    code = 413
    reason = "RequestEntityTooLarge"


class UnsupportedMediaType(StatusError):
    """The media type of the body is not accepted."""

    code = 415
    reason = "UnsupportedMediaType"

    def __init__(self, accepted: Iterable[str]) -> None:
        types = ", ".join(accepted)
        super().__init__(f"the body of the request was in an unknown format - accepted media types include: {types}")


class Unprocessable(StatusError):
    """The request is valid but cannot be processed; unlike `Invalid` it names no object."""

    code = 422
    reason = "Invalid"


class NotFound(StatusError):
    code = 404
    reason = "NotFound"

    def __init__(self, kind: type[Object], name: str) -> None:
        super().__init__(f'{resource(kind)} "{bare_name(name)}" not found', subject=subject_of(kind, name))


class AlreadyExists(StatusError):
    code = 409
    reason = "AlreadyExists"

    def __init__(self, kind: type[Object], name: str) -> None:
        super().__init__(f'{resource(kind)} "{bare_name(name)}" already exists', subject=subject_of(kind, name))


class Conflict(StatusError):
    """The object differs from what the writer expected."""

    code = 409
    reason = "Conflict"

    def __init__(
        self,
        kind: type[Object],
        name: str,
        why: str = MODIFIED_SINCE,
        subresource: str = "",
        *,
        names_kind: bool = False,
    ) -> None:
        """With `names_kind`, the message has the kind instead of the plural."""
        target = qualified(kind.KIND, kind) if names_kind else resource(kind)
        target = f"{target}/{subresource}" if subresource else target
        message = f'Operation cannot be fulfilled on {target} "{bare_name(name)}": {why}'
        shown = f"{kind.PLURAL}/{subresource}" if subresource else kind.KIND if names_kind else ""
        super().__init__(message, subject=subject_of(kind, name, shown))


class Expired(StatusError):
    """The history does not include the resource version; the watcher must relist."""

    code = 410
    reason = "Expired"

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {requested} ({oldest})")


class Timeout(StatusError):
    """The resource version is in the future."""

    code = 504
    reason = "Timeout"

    def __init__(self, requested: int, current: int) -> None:
        cause = StatusCause("ResourceVersionTooLarge", "Too large resource version")
        super().__init__(f"Timeout: Too large resource version: {requested}, current: {current}", [cause])


class Invalid(StatusError):
    """The object is invalid; `why` names field and rule."""

    code = 422
    reason = "Invalid"

    def __init__(self, kind: type[Object], name: str, why: str, causes: Iterable[StatusCause] = ()) -> None:
        message = f'{qualified(kind.KIND, kind)} "{bare_name(name)}" is invalid: {why}'
        super().__init__(message, causes, subject_of(kind, name, kind.KIND))


class Forbidden(StatusError):
    """Admission rejected the object."""

    code = 403
    reason = "Forbidden"

    def __init__(self, kind: type[Object], name: str, why: str) -> None:
        super().__init__(f'{resource(kind)} "{bare_name(name)}" is forbidden: {why}', subject=subject_of(kind, name))


class NamespaceTerminating(Forbidden):
    """The namespace is terminating, so nothing can be created in it; controllers need not retry."""


class ForbiddenAfterValidation(Forbidden):
    """Validating admission rejected the object; validation errors take precedence."""


class OverLimit(ForbiddenAfterValidation):
    """A quota or limit range of the namespace rejected the object."""


class TooManyRequests(StatusError):
    """The request is rejected now but may succeed later."""

    code = 429
    reason = "TooManyRequests"

    def __init__(self, message: str, retry_seconds: int = 0) -> None:
        super().__init__(message)
        #: Seconds that clients should wait before a retry; 0 if unspecified.
        self.retry_seconds = retry_seconds


def subject_of(kind: type[Object], name: str, shown: str = "") -> StatusSubject:
    """Return the subject of an error; `shown` is its kind if not the plural."""
    return StatusSubject(bare_name(name), kind.API_VERSION.rpartition("/")[0], shown or kind.PLURAL)


def resource(kind: type[Object]) -> str:
    """Return the name of a kind in messages: the plural, qualified by a non-core API group."""
    return qualified(kind.PLURAL, kind)


def qualified(name: str, kind: type[Object]) -> str:
    """Return `name.group`, or the name alone for the core group."""
    group, _, _ = kind.API_VERSION.rpartition("/")
    return f"{name}.{group}" if group else name


def bare_name(key: str) -> str:
    """Return the name part of a key: `web-0` of `default/web-0`."""
    return key.rpartition("/")[2]
