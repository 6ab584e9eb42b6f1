# SPDX-License-Identifier: Apache-2.0
"""`access.AccessReviews` by a real API server: TokenReview and SubjectAccessReview."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from steersman.kube.client.foreign_input import decode_foreign
from steersman.kube.client.requests import Request, Transport
from steersman.kube.serving.access import Access, User

TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

_ReviewT = TypeVar("_ReviewT", bound=msgspec.Struct)


class ApiReviews:
    """`AccessReviews` on transports, whose exceptions pass through."""

    def __init__(self, tokens: Transport, access: Transport | None = None) -> None:
        self._tokens = tokens
        self._access = access or tokens

    async def review_token(self, token: str) -> User | None:
        status = (await _post(self._tokens, TOKEN_REVIEWS, _token_review(token), _TokenReview)).status
        if not status.authenticated:
            return None
        user = status.user
        extra = tuple(sorted((name, tuple(values)) for name, values in (user.extra or {}).items()))
        return User(user.username, user.uid, tuple(user.groups or ()), extra)

    async def review_access(self, user: User, verb: str, path: str) -> Access:
        document = _access_review(user, verb, path)
        status = (await _post(self._access, ACCESS_REVIEWS, document, _AccessReview)).status
        return Access(status.allowed and not status.denied, status.reason)


async def _post(transport: Transport, path: str, document: dict[str, object], kind: type[_ReviewT]) -> _ReviewT:
    answer = await transport.request(Request("POST", path, body=msgspec.json.encode(document)))
    return decode_foreign(answer.body, kind, f"the answer to POST {path}")


class _UserInfo(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class _TokenReviewStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _UserInfo = _UserInfo()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenReviewStatus = _TokenReviewStatus()


class _AccessReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    denied: bool = False
    reason: str = ""


class _AccessReview(msgspec.Struct, frozen=True):
    status: _AccessReviewStatus = _AccessReviewStatus()


def _token_review(token: str) -> dict[str, object]:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}


def _access_review(user: User, verb: str, path: str) -> dict[str, object]:
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": user.name,
            "uid": user.uid,
            "groups": user.groups,
            "extra": dict(user.extra),
            "nonResourceAttributes": {"path": path, "verb": verb},
        },
    }
