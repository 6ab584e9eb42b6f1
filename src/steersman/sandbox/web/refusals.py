# SPDX-License-Identifier: Apache-2.0
"""Answers and refusals of the API: JSON, and Kubernetes `Status` objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from steersman.base import SteersmanError
from steersman.kube.serving import JSON, Answer, Request
from steersman.sandbox.web.answers import InputProblem

T = TypeVar("T")


class WebRefusal(SteersmanError):
    """A refused request; the text is the message of the answer."""

    def __init__(self, code: int, reason: str, message: str, causes: Sequence[InputProblem] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.causes = causes


def not_found(what: str) -> WebRefusal:
    return WebRefusal(404, "NotFound", f"{what} not found")


def bad_request(message: str) -> WebRefusal:
    return WebRefusal(400, "BadRequest", message)


def json_page(page: object, status: int = 200) -> Answer:
    return Answer(status, msgspec.json.encode(page), JSON)


def refused(refusal: WebRefusal, headers: dict[str, str] | None = None) -> Answer:
    document: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": str(refusal),
        "reason": refusal.reason,
        "code": refusal.code,
    }
    if refusal.causes is not None:
        document["details"] = {"causes": refusal.causes}
    return Answer(refusal.code, msgspec.json.encode(document), JSON, headers or {})


def decoded_body(request: Request, kind: type[T]) -> T:
    """Return the decoded body of a request. Raises `WebRefusal`."""
    try:
        return msgspec.json.decode(request.body or b"", type=kind)
    except msgspec.DecodeError as error:
        raise bad_request(f"the body cannot be read: {error}") from error
