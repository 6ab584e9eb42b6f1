# SPDX-License-Identifier: Apache-2.0
"""Users and permissions: every user with a token has all permissions.

Handles access and token reviews (`kubectl auth can-i`, `kubectl auth whoami`), and issues service
account tokens, which have the same permissions as the kubeconfig's token.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from steersman.api import schema_of, timestamps
from steersman.cluster.apiserver.invalid_objects import decoded
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.statuses import bad_request, invalid
from steersman.cluster.store import Document, Store

ADMIN: Final = "kubernetes-admin"
MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
DEFAULT_SECONDS: Final = 3600
SHORTEST_SECONDS: Final = 600
MAX_TOKENS: Final = 10_000
ALLOWED: Final = "every user with a token has all permissions in this cluster"


class TokenUser(msgspec.Struct, frozen=True):
    """User of a token; `until` is its expiry on the cluster's wall clock, if any."""

    name: str
    groups: tuple[str, ...] = (AUTHENTICATED,)
    uid: str = ""
    until: float | None = None

    def document(self) -> Document:
        user: Document = {"username": self.name, "groups": list(self.groups)}
        return {**user, "uid": self.uid} if self.uid else user


class Tokens:
    """Valid tokens of the administrator and of service accounts."""

    def __init__(self, store: Store, admin_token: str) -> None:
        self._store = store
        self._admin_token = admin_token
        self._admin = TokenUser(ADMIN, (MASTERS, AUTHENTICATED))
        self._issued: OrderedDict[str, TokenUser] = OrderedDict()

    def user(self, token: str) -> TokenUser | None:
        if hmac.compare_digest(token.encode(errors="surrogateescape"), self._admin_token.encode()):
            return self._admin
        found = self._issued.get(token)
        if found is None or (found.until is not None and found.until < self._store.clock.now()):
            return None
        return found

    def issue(self, namespace: str, name: str, uid: str, request: Document) -> Document:
        """Return the response to a `TokenRequest`. Only the last `MAX_TOKENS` are valid."""
        resource = Resource("authentication.k8s.io/v1", "", "TokenRequest")
        spec = dict(_decoded(resource, request).get("spec") or {})
        seconds = spec.get("expirationSeconds") or DEFAULT_SECONDS
        if not SHORTEST_SECONDS <= seconds <= 1 << 32:
            bound = "less than 10 minutes" if seconds < SHORTEST_SECONDS else "larger than 2^32 seconds"
            why = f"Invalid value: {seconds}: may not specify a duration {bound}"
            raise invalid(resource, "", [f"spec.expirationSeconds: {why}"])
        until = self._store.clock.now() + seconds
        token = secrets.token_urlsafe(48)
        user = f"system:serviceaccount:{namespace}:{name}"
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
        self._issued[token] = TokenUser(user, groups, uid, until)
        while len(self._issued) > MAX_TOKENS:
            self._issued.popitem(last=False)
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": name, "namespace": namespace, "creationTimestamp": self._store.timestamp()},
            "spec": {**spec, "expirationSeconds": seconds},
            "status": {"token": token, "expirationTimestamp": timestamps.render(until)},
        }


def review(resource: Resource, document: Document, user: TokenUser, tokens: Tokens) -> Document:
    """Return the review with its status. Raises 400 and 422."""
    kind, document = resource.kind, _decoded(resource, document)
    spec = document.get("spec") or {}
    if kind.endswith("AccessReview") and ("resourceAttributes" in spec) is ("nonResourceAttributes" in spec):
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        unnamed = msgspec.structs.replace(resource, kind="")
        raise invalid(unnamed, "", [f"spec.resourceAttributes: Invalid value: null: {why}"])
    if kind == "TokenReview":
        return {**document, "status": _token_status(document, tokens)}
    if kind == "SelfSubjectReview":
        return {**document, "status": {"userInfo": user.document()}}
    if kind == "SelfSubjectRulesReview":
        return {**document, "status": _every_rule()}
    return {**document, "status": {"allowed": True, "reason": ALLOWED}}


def _decoded(resource: Resource, document: Document) -> Document:
    """Return the document with kind and metadata, without unknown fields. Raise 400 on errors."""
    header = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}
    schema = schema_of(resource.api_version, resource.kind)
    assert schema is not None, "all reviews have a schema"
    return decoded(header | document, schema, "Ignore").document


def _token_status(document: Document, tokens: Tokens) -> Document:
    token = (document.get("spec") or {}).get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    found = tokens.user(token)
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
