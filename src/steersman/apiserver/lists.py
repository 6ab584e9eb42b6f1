# SPDX-License-Identifier: Apache-2.0
"""Lists: the objects of a resource as of one version of the store, whole or in chunks.

A chunk ends with a token that names the version and the last key. What was there in an older version is found by undoing the
writes since then in the store's history; when that no longer reaches back, the answer is 410 and the client starts anew.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Final

import msgspec

from steersman.api import Object, key
from steersman.apiserver.resources import Resource
from steersman.apiserver.selection import Selection
from steersman.apiserver.statuses import RequestRefused, bad_request, invalid
from steersman.embedded import Document, Expired, Store

TOKEN_VERSION: Final = "meta.k8s.io/v1"
CONTINUE_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_MATCHES: Final = ("Exact", "NotOlderThan")
_LONGEST_VERSION: Final = 20


class _Token(msgspec.Struct, frozen=True):
    """Where a list goes on: `version` of the store, -1 for the current one, and the last `key` that was shown."""

    v: str
    rv: int
    start: str


class Chunk(msgspec.Struct, frozen=True):
    """Documents in the version in which they are stored, and the metadata of the list."""

    documents: list[Document]
    metadata: Document


def list_chunk(store: Store, resource: Resource, selection: Selection, query: Mapping[str, str]) -> Chunk:
    """The objects that a request asks for; raises `RequestRefused` or `StatusError`."""
    assert resource.stored_as is not None, "only what is stored can be listed"
    limit, version, start = _limit(query), list_version(store, resource, query), ""
    if token := query.get("continue", ""):
        version, start = _continued(store, query, token)
    found = documents_at(store, resource.stored_as, version)
    names = [name for name in sorted(found) if name > start and selection.matches(found[name])]
    shown = names[:limit] if limit else names
    metadata: Document = {"resourceVersion": str(version)}
    if len(shown) < len(names):
        metadata["continue"] = _encoded(_Token(TOKEN_VERSION, version, shown[-1]))
        if not selection.is_filtered:
            metadata["remainingItemCount"] = len(names) - len(shown)
    return Chunk([found[name] for name in shown], metadata)


def documents_at(store: Store, kind: type[Object], version: int) -> Mapping[str, Document]:
    """All objects of a kind by key, as they were in that version; raises `Expired`."""
    current = store.documents(kind)
    if version == store.version:
        return current
    before = dict(current)
    for commit in reversed(store.commits_since(version)):
        if commit.kind is not kind:
            continue
        name = key(commit.new or commit.old)  # type: ignore[arg-type]  # one of them is there
        if commit.old_document is None:
            before.pop(name, None)
        else:
            before[name] = commit.old_document
    return before


def list_version(store: Store, resource: Resource, query: Mapping[str, str]) -> int:
    """The version that a list is about, by `resourceVersion` and `resourceVersionMatch`."""
    asked, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if match:
        _check_match(resource, query, asked, match)
    if asked in ("", "0"):
        return store.version
    version = parsed_version(asked)
    if version > store.version:
        store.commits_since(version)  # says that it lies in the future
    is_exact = match == "Exact" or (not match and bool(_limit(query)))
    return version if is_exact else store.version


def parsed_version(text: str) -> int:
    if not text.isdecimal() or len(text) > _LONGEST_VERSION:
        raise bad_request(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def _check_match(resource: Resource, query: Mapping[str, str], asked: str, match: str) -> None:
    why = ""
    if query.get("continue"):
        why = "resourceVersionMatch is forbidden when continue is provided"
    elif not asked:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif match == "Exact" and asked == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    if why:
        raise invalid(resource, "", [f"resourceVersionMatch: Forbidden: {why}"])
    if match not in _MATCHES:
        supported = ", ".join(f'"{name}"' for name in ("", *_MATCHES))
        raise invalid(
            resource, "", [f'resourceVersionMatch: Unsupported value: "{match}": supported values: {supported}']
        )


def _continued(store: Store, query: Mapping[str, str], text: str) -> tuple[int, str]:
    if query.get("resourceVersion", "") not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    token = _decoded(text)
    if token.rv < 0:
        return store.version, token.start
    try:
        store.commits_since(token.rv)
    except Expired as error:
        rest = _encoded(_Token(TOKEN_VERSION, -1, token.start))
        raise ContinueExpired(rest) from error
    return token.rv, token.start


class ContinueExpired(RequestRefused):
    """The chunks before are of a version that is forgotten; `rest` is a token for the others as they are now."""

    def __init__(self, rest: str) -> None:
        super().__init__(410, "Expired", CONTINUE_EXPIRED)
        self.rest = rest


def _limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", "")
    if not text:
        return 0
    if not text.lstrip("-").isdecimal() or len(text) > _LONGEST_VERSION:
        raise bad_request(f'limit: Invalid value: "{text}": use a number')
    return max(0, int(text))


def _encoded(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decoded(text: str) -> _Token:
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise bad_request("continue key is not valid") from error
    if token.v != TOKEN_VERSION:
        raise bad_request(f"continue key is not valid: server does not recognize this encoded version {token.v!r}")
    return token
