# SPDX-License-Identifier: Apache-2.0
"""Refusals as Kubernetes words them: `Status` objects for clients that read JSON. Used by `server`."""

from __future__ import annotations

import json
from typing import Any, Final

from steersman.serving.access import Forbidden

UNAUTHORIZED: Final = "Unauthorized"
TOO_MANY_REVIEWS: Final = "too many requests that the API server would have to be asked about, please try again later"
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def unauthorized() -> dict[str, Any]:
    return _status(401, UNAUTHORIZED, UNAUTHORIZED)


def forbidden(refusal: Forbidden) -> dict[str, Any]:
    return _status(403, "Forbidden", f"forbidden: {_who_cannot_what(refusal)}", details={})


def too_many_requests(retry_after: int) -> dict[str, Any]:
    details = {"retryAfterSeconds": retry_after}
    return _status(429, "TooManyRequests", TOO_MANY_REVIEWS, details=details)


def internal_error(path: str, cause: str) -> str:
    """Plain text, as upstream answers when it could not ask."""
    return f"Internal Server Error: {json.dumps(path)}: {cause}\n".translate(_ESCAPES)


def _who_cannot_what(refusal: Forbidden) -> str:
    user, path = json.dumps(refusal.user.name, ensure_ascii=False), json.dumps(refusal.path, ensure_ascii=False)
    message = f"User {user} cannot {refusal.verb} path {path}".translate(_ESCAPES)
    return f"{message}: {refusal.reason}" if refusal.reason else message


def _status(code: int, reason: str, message: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **more,
        "code": code,
    }
