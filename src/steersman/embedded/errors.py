# SPDX-License-Identifier: Apache-2.0
"""Refusals of the embedded cluster, in the terms of a Kubernetes `Status`: code, reason and message.

Raised by the store and everything on top of it. Messages are worded as a kube-apiserver words them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

import msgspec

from steersman.api import Object
from steersman.errors import SteersmanError

TOO_DEEP: Final = "the object is nested too deeply"
MODIFIED_SINCE: Final = "the object has been modified; please apply your changes to the latest version and try again"


class StatusCause(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of `details.causes` of a Status: what is wrong with which field."""

    reason: str
    message: str
    field: str = ""


class StatusError(SteersmanError):
    """A refusal of the cluster, as a `Status` tells it; base of all of them."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(self, message: str, causes: Iterable[StatusCause] = ()) -> None:
        super().__init__(message)
        self.message = message
        #: One for each field that is wrong. kubectl shows these instead of the message where there are any.
        self.causes = tuple(causes)


class BadRequest(StatusError):
    """The request cannot be understood."""

    code = 400
    reason = "BadRequest"


class RequestEntityTooLarge(StatusError):
    """The request asks for more than the server does at once."""

    code = 413
    reason = "RequestEntityTooLarge"


class UnsupportedMediaType(StatusError):
    """The body is of a type that is not accepted here."""

    code = 415
    reason = "UnsupportedMediaType"

    def __init__(self, accepted: Iterable[str]) -> None:
        types = ", ".join(accepted)
        super().__init__(f"the body of the request was in an unknown format - accepted media types include: {types}")


class Unprocessable(StatusError):
    """The request is understood and cannot be carried out; unlike `Invalid` it names no object."""

    code = 422
    reason = "Invalid"


class NotFound(StatusError):
    code = 404
    reason = "NotFound"

    def __init__(self, kind: type[Object], name: str) -> None:
        super().__init__(f'{resource(kind)} "{bare_name(name)}" not found')


class AlreadyExists(StatusError):
    code = 409
    reason = "AlreadyExists"

    def __init__(self, kind: type[Object], name: str) -> None:
        super().__init__(f'{resource(kind)} "{bare_name(name)}" already exists')


class Conflict(StatusError):
    """The object is not what the writer took it for."""

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
        """With `names_kind` the message has the kind where others have the plural, as some messages of a server do."""
        target = qualified(kind.KIND, kind) if names_kind else resource(kind)
        target = f"{target}/{subresource}" if subresource else target
        super().__init__(f'Operation cannot be fulfilled on {target} "{bare_name(name)}": {why}')


class Expired(StatusError):
    """History no longer reaches back to the resource version; the watcher must list again."""

    code = 410
    reason = "Expired"

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")


class Timeout(StatusError):
    """The resource version lies in the future."""

    code = 504
    reason = "Timeout"

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"Too large resource version: {asked}, current: {current}")


class Invalid(StatusError):
    """The object breaks a rule of the API; `why` names field and rule."""

    code = 422
    reason = "Invalid"

    def __init__(self, kind: type[Object], name: str, why: str, causes: Iterable[StatusCause] = ()) -> None:
        super().__init__(f'{kind.KIND} "{bare_name(name)}" is invalid: {why}', causes)


class Forbidden(StatusError):
    """Admission says no."""

    code = 403
    reason = "Forbidden"

    def __init__(self, kind: type[Object], name: str, why: str) -> None:
        super().__init__(f'{resource(kind)} "{bare_name(name)}" is forbidden: {why}')


class NamespaceTerminating(Forbidden):
    """Nothing is created in a namespace that is being emptied; controllers need not try again."""


class OverLimit(Forbidden):
    """A quota or a limit range of the namespace says no: the object may be as it should, there is no room for it."""


class TooManyRequests(StatusError):
    """The request is refused now, and may be granted later."""

    code = 429
    reason = "TooManyRequests"


def resource(kind: type[Object]) -> str:
    """The name of a kind in messages: the plural, with the API group unless it is the core one."""
    return qualified(kind.PLURAL, kind)


def qualified(name: str, kind: type[Object]) -> str:
    """`name.group`, or the name alone in the core group."""
    group, _, _ = kind.API_VERSION.rpartition("/")
    return f"{name}.{group}" if group else name


def bare_name(key: str) -> str:
    """`web-0` of `default/web-0`."""
    return key.rpartition("/")[2]
