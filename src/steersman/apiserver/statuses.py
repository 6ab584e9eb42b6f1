# SPDX-License-Identifier: Apache-2.0
"""Refusals as clients of an API server get them: a `Status` object with code, reason, message, and details for programs.

`RequestRefused` is raised anywhere below the HTTP server. `status_document` makes a `Status` of it, or of a `StatusError` of
the embedded cluster, or of an `InputError` about a field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from steersman.apiserver.resources import Resource
from steersman.embedded import Document, StatusError, TooManyRequests
from steersman.embedded.eviction import WOULD_VIOLATE
from steersman.errors import InputError, SteersmanError

BAD_REQUEST: Final = "BadRequest"
NOT_FOUND: Final = "NotFound"
PATH_NOT_FOUND: Final = "the server could not find the requested resource"
RETRY_SECONDS: Final = 10
_CAUSE_REASONS: Final = {
    "Required value": "FieldValueRequired",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Duplicate value": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "Not found": "FieldValueNotFound",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
}


class RequestRefused(SteersmanError):
    """The request is not carried out. `details` as in a `Status`; `warnings` go into headers."""

    def __init__(self, code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details


def bad_request(message: str) -> RequestRefused:
    return RequestRefused(400, BAD_REQUEST, message)


def path_not_found() -> RequestRefused:
    return RequestRefused(404, NOT_FOUND, PATH_NOT_FOUND, {})


def method_not_allowed() -> RequestRefused:
    return RequestRefused(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {}
    )


def not_supported_here(what: str, why: str) -> RequestRefused:
    """A part of the API that needs what this cluster does not have; one sentence says so."""
    return RequestRefused(501, "NotImplemented", f"{what} is not possible in this cluster: {why}", {})


def invalid(resource: Resource, name: str, errors: Iterable[str]) -> RequestRefused:
    """An object that breaks rules; each error is `field: Invalid value: …`."""
    causes = [_cause(error) for error in errors]
    texts = [f"{cause['field']}: {cause['message']}" if cause["field"] else cause["message"] for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    subject = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = {"name": name, "group": resource.group, "kind": resource.kind, "causes": causes}
    return RequestRefused(422, "Invalid", f'{subject} "{name}" is invalid: {text}', _without_empty(details))


def status_document(error: Exception, resource: Resource | None = None, name: str = "") -> Document:
    """The `Status` of a refusal. What is no refusal is an internal error, whose text clients do not see."""
    if isinstance(error, RequestRefused):
        return failure(error.code, error.reason, error.message, error.details)
    if isinstance(error, StatusError):
        return failure(error.code, error.reason, error.message, _details_of(error, resource, name))
    if isinstance(error, InputError):
        return failure(400, BAD_REQUEST, str(error))
    return failure(500, "InternalError", "Internal error occurred; the log of the sandbox has it")


def failure(code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> Document:
    document: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    document |= {"message": message, "reason": reason}
    if details is not None:
        document["details"] = details
    return {**document, "code": code}


def success(details: Mapping[str, Any]) -> Document:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _details_of(error: StatusError, resource: Resource | None, name: str) -> Document:
    if resource is None:
        return {}
    details: Document = {"name": name, "group": resource.group, "kind": resource.plural}
    if error.reason == "Invalid":
        details |= {"kind": resource.kind, "causes": [_cause(error.message.partition(" is invalid: ")[2])]}
    if error.causes:
        details["causes"] = [msgspec.to_builtins(cause) for cause in error.causes]
    if isinstance(error, TooManyRequests):
        details["retryAfterSeconds"] = RETRY_SECONDS
        if error.message.startswith(WOULD_VIOLATE):
            message = error.message.removeprefix(WOULD_VIOLATE).strip()
            details["causes"] = [{"reason": "DisruptionBudget", "message": message}]
    return _without_empty(details)


def _cause(error: str) -> Document:
    """`spec.replicas: Invalid value: -1: must be …` taken apart."""
    field, colon, message = error.partition(": ")
    if not colon or " " in field:
        return {"reason": "FieldValueInvalid", "message": error, "field": ""}
    reason = next(
        (reason for start, reason in _CAUSE_REASONS.items() if message.startswith(start)), "FieldValueInvalid"
    )
    return {"reason": reason, "message": message, "field": field}


def _without_empty(details: Document) -> Document:
    return {name: value for name, value in details.items() if value not in ("", [])}
