# SPDX-License-Identifier: Apache-2.0
"""Users and what they may do: everybody who has a token may do everything.

Answers the reviews by which clients ask (`kubectl auth can-i`, `kubectl auth whoami`), and gives tokens to service
accounts, which work here like the one in the kubeconfig.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from steersman.api import timestamps
from steersman.apiserver.statuses import bad_request
from steersman.embedded import Document, Store

ADMIN: Final = "kubernetes-admin"
MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
DEFAULT_SECONDS: Final = 3600
MOST_TOKENS: Final = 10_000


class TokenUser(msgspec.Struct, frozen=True):
    """Who a token belongs to; `until` on the wall clock of the cluster, None: for ever."""

    name: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    uid: str = ""
    until: float | None = None

    def document(self) -> Document:
        user: Document = {"username": self.name, "groups": list(self.groups)}
        return {**user, "uid": self.uid} if self.uid else user


class Tokens:
    """The tokens that are valid: that of the administrator, and those that were given to service accounts."""

    def __init__(self, store: Store, admin_token: str) -> None:
        self._store = store
        self._admin_token = admin_token
        self._admin = TokenUser(ADMIN, (MASTERS, AUTHENTICATED))
        self._issued: OrderedDict[str, TokenUser] = OrderedDict()

    def user(self, token: str) -> TokenUser | None:
        if hmac.compare_digest(token.encode(), self._admin_token.encode()):
            return self._admin
        found = self._issued.get(token)
        if found is None or (found.until is not None and found.until < self._store.clock.now()):
            return None
        return found

    def issue(self, namespace: str, name: str, uid: str, request: Document) -> Document:
        """The answer to a `TokenRequest`; the oldest tokens are forgotten when there are too many."""
        spec = dict(request.get("spec") or {})
        seconds = spec.get("expirationSeconds") or DEFAULT_SECONDS
        if not isinstance(seconds, int) or seconds < 600:
            raise bad_request("spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes")
        until = self._store.clock.now() + seconds
        token = secrets.token_urlsafe(48)
        user = f"system:serviceaccount:{namespace}:{name}"
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
        self._issued[token] = TokenUser(user, groups, uid, until)
        while len(self._issued) > MOST_TOKENS:
            self._issued.popitem(last=False)
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": name, "namespace": namespace, "creationTimestamp": self._store.timestamp()},
            "spec": {**spec, "expirationSeconds": seconds},
            "status": {"token": token, "expirationTimestamp": timestamps.render(until)},
        }


def review(kind: str, document: Document, user: TokenUser, tokens: Tokens) -> Document:
    """A review with its status filled in."""
    if kind == "TokenReview":
        return {**document, "status": _token_status(document, tokens)}
    if kind == "SelfSubjectReview":
        return {**document, "status": {"userInfo": user.document()}}
    if kind == "SelfSubjectRulesReview":
        return {**document, "status": _every_rule()}
    return {**document, "status": {"allowed": True, "reason": "everybody with a token may do everything here"}}


def _token_status(document: Document, tokens: Tokens) -> Document:
    found = tokens.user(str((document.get("spec") or {}).get("token", "")))
    if found is None:
        return {"authenticated": False, "error": "the token is not one of this cluster", "user": {}}
    return {"authenticated": True, "user": found.document()}


def _every_rule() -> Document:
    every: Iterable[str] = ["*"]
    return {
        "resourceRules": [{"verbs": every, "apiGroups": every, "resources": every}],
        "nonResourceRules": [{"verbs": every, "nonResourceURLs": every}],
        "incomplete": False,
    }
