# SPDX-License-Identifier: Apache-2.0
"""Reviews at an API server, as it is asked and as it answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from steersman.kube.client.requests import NO_QUERY, Query, Request, Response
from steersman.kube.serving import Access, ApiReviews, User


class Recording:
    """A transport that gives one answer, and keeps what it was asked."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer
        self.asked: list[tuple[str, str, Any]] = []

    async def request(self, request: Request, /) -> Response:
        self.asked.append((request.method, request.path, json.loads(request.body or b"null")))
        return Response(201, json.dumps(self._answer).encode())

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        raise AssertionError("reviews are no streams")
        yield b""


def test_a_known_token_has_a_user() -> None:
    user = {"username": "system:serviceaccount:m:p", "uid": "7", "groups": ["a", "b"], "extra": {"k": ["v"]}}
    transport = Recording({"kind": "TokenReview", "status": {"authenticated": True, "user": user}})
    found = asyncio.run(ApiReviews(transport).review_token("secret"))
    assert found == User("system:serviceaccount:m:p", "7", ("a", "b"), (("k", ("v",)),))
    (asked,) = transport.asked
    assert asked[:2] == ("POST", "/apis/authentication.k8s.io/v1/tokenreviews")
    assert asked[2] == {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "secret"}}


def test_an_unknown_token_has_none() -> None:
    transport = Recording({"status": {"user": {}, "error": "invalid bearer token"}})
    assert asyncio.run(ApiReviews(transport).review_token("stolen")) is None


def test_access_is_requested_the_whole_user_and_the_path() -> None:
    transport = Recording({"status": {"allowed": True, "reason": "RBAC: allowed"}})
    user = User("p", "7", ("a",), (("k", ("v",)),))
    assert asyncio.run(ApiReviews(transport).review_access(user, "get", "/metrics")) == Access(True, "RBAC: allowed")
    (asked,) = transport.asked
    assert asked[:2] == ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews")
    assert asked[2]["spec"] == {
        "user": "p",
        "uid": "7",
        "groups": ["a"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


def test_a_denial_outweighs_a_permission() -> None:
    transport = Recording({"status": {"allowed": True, "denied": True, "reason": "no"}})
    assert asyncio.run(ApiReviews(transport).review_access(User("p"), "get", "/metrics")) == Access(False, "no")
