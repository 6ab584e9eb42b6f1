# SPDX-License-Identifier: Apache-2.0
"""Refusals carry what a Kubernetes Status carries."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.base.errors import SteersmanError
from steersman.cluster.store import (
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    StatusError,
    Timeout,
    TooManyRequests,
)


@pytest.mark.parametrize(
    ("error", "code", "reason", "message"),
    [
        (NotFound(api.Pod, "default/web"), 404, "NotFound", 'pods "web" not found'),
        (
            NotFound(api.PriorityClass, "high"),
            404,
            "NotFound",
            'priorityclasses.scheduling.k8s.io "high" not found',
        ),
        (AlreadyExists(api.Node, "n1"), 409, "AlreadyExists", 'nodes "n1" already exists'),
        (
            Conflict(api.Pod, "default/web"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on pods "web": the object has been modified; please apply your changes to '
            "the latest version and try again",
        ),
        (Expired(3, 7), 410, "Expired", "too old resource version: 3 (7)"),
        (Invalid(api.Pod, "default/web", "spec: bad"), 422, "Invalid", 'Pod "web" is invalid: spec: bad'),
        (Forbidden(api.Pod, "web", "no"), 403, "Forbidden", 'pods "web" is forbidden: no'),
        (TooManyRequests("later"), 429, "TooManyRequests", "later"),
        (Timeout(9, 7), 504, "Timeout", "Timeout: Too large resource version: 9, current: 7"),
        (StatusError("broken"), 500, "InternalError", "broken"),
    ],
)
def test_a_refusal_has_code_reason_and_message(error: StatusError, code: int, reason: str, message: str) -> None:
    assert (error.code, error.reason, str(error)) == (code, reason, message)
    assert isinstance(error, SteersmanError)
