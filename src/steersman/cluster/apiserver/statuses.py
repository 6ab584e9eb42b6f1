# SPDX-License-Identifier: Apache-2.0
"""Errors as `Status` objects: code, reason, message, and details for programs.

`RequestRefused` may be raised anywhere below the HTTP server. `status_document` converts it, a
`StatusError` of the embedded cluster, or an `InputError` about a field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from steersman.base import InputError, SteersmanError
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.store import Document, StatusError, TooManyRequests
from steersman.cluster.store.errors import Timeout
from steersman.cluster.store.eviction import WOULD_VIOLATE

BAD_REQUEST: Final = "BadRequest"
NOT_FOUND: Final = "NotFound"
PATH_NOT_FOUND: Final = "the server could not find the requested resource"
META_GROUP: Final = "meta.k8s.io"
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
    """The request is rejected. `details` are those of a `Status`."""

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
    """Return the error 501 for a part of the API that this cluster cannot provide."""
    return RequestRefused(501, "NotImplemented", f"{what} is not possible in this cluster: {why}", {})


def invalid_options(kind: str, errors: Iterable[str]) -> RequestRefused:
    """Return the error 422 for invalid query options of a `kind` such as `CreateOptions`."""
    return invalid(Resource(f"{META_GROUP}/v1", "", kind), "", errors)


def invalid(resource: Resource, name: str, errors: Iterable[str]) -> RequestRefused:
    """Return the error 422 for an invalid object; each error is `field: Invalid value: …`."""
    causes = [_cause(error) for error in errors]
    texts = [f"{cause['field']}: {cause['message']}" if cause["field"] else cause["message"] for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    subject = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = {"name": name, "group": resource.group, "kind": resource.kind, "causes": causes}
    return RequestRefused(422, "Invalid", f'{subject} "{name}" is invalid: {text}', _without_empty(details))


def status_document(error: Exception) -> Document:
    """Return the `Status` of an error. Unexpected exceptions become an opaque 500."""
    if isinstance(error, RequestRefused):
        return failure(error.code, error.reason, error.message, error.details)
    if isinstance(error, StatusError):
        return failure(error.code, error.reason, error.message, _details_of(error))
    if isinstance(error, InputError):
        return failure(400, BAD_REQUEST, str(error))
    return failure(500, "InternalError", "Internal error occurred; the log of the sandbox has it")


def failure(code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> Document:
    document: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    document |= {"message": message, "reason": reason} if reason else {"message": message}
    if details is not None:
        document["details"] = details
    return {**document, "code": code}


def success(details: Mapping[str, Any]) -> Document:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _details_of(error: StatusError) -> Document | None:
    """Return the subject and causes of an error; None without these, as upstream."""
    details: Document = {} if error.subject is None else msgspec.to_builtins(error.subject)
    if error.reason == "Invalid" and error.subject is not None and not error.causes:
        details["causes"] = [_cause(error.message.partition(" is invalid: ")[2])]
    if error.causes:
        details["causes"] = [msgspec.to_builtins(cause) for cause in error.causes]
    if isinstance(error, Timeout):
        details["retryAfterSeconds"] = 1
    if isinstance(error, TooManyRequests):
        details |= {"retryAfterSeconds": error.retry_seconds} if error.retry_seconds else {}
        if error.message.startswith(WOULD_VIOLATE):
            message = error.message.removeprefix(WOULD_VIOLATE).strip()
            details["causes"] = [{"reason": "DisruptionBudget", "message": message}]
    return details or None


def _cause(error: str) -> Document:
    """Parse a cause such as `spec.replicas: Invalid value: -1: must be …`."""
    field, colon, message = error.partition(": ")
    if not colon or " " in field:
        return {"reason": "FieldValueInvalid", "message": error, "field": ""}
    reason = next(
        (reason for start, reason in _CAUSE_REASONS.items() if message.startswith(start)), "FieldValueInvalid"
    )
    return {"reason": reason, "message": message, "field": field}


def _without_empty(details: Document) -> Document:
    return {name: value for name, value in details.items() if value not in ("", [])}
