# SPDX-License-Identifier: Apache-2.0
"""Lists of a resource's objects at one version of the store, whole or in chunks.

A continue token holds the version and the last key. Older versions are reconstructed by undoing
later commits in the store's history; if the history is too short, the response is 410 and the
client relists.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Final

import msgspec

from steersman.api import Object, key
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.selection import Selection
from steersman.cluster.apiserver.statuses import RequestRefused, bad_request, invalid_options
from steersman.cluster.store import Document, Expired, Store

TOKEN_VERSION: Final = "meta.k8s.io/v1"
_BAD_TOKEN: Final = "invalid continue token: continue key is not valid"
CONTINUE_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_MATCHES: Final = ("Exact", "NotOlderThan")
_MAX_VERSION: Final = 20


class _Token(msgspec.Struct, frozen=True):
    """Position in a list: store version `rv` (-1: current) and last returned key `start`."""

    v: str
    rv: int
    start: str


class Chunk(msgspec.Struct, frozen=True):
    """Documents in their stored version, and the list metadata."""

    documents: list[Document]
    metadata: Document


def list_chunk(store: Store, resource: Resource, selection: Selection, query: Mapping[str, str]) -> Chunk:
    """Return the requested objects. Raises `RequestRefused` or `StatusError`."""
    assert resource.stored_as is not None, "only what is stored can be listed"
    if "sendInitialEvents" in query:
        why = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"
        raise invalid_options("ListOptions", [why])
    parsed_integer(query.get("timeoutSeconds", ""))
    limit, version, start = _limit(query), list_version(store, query), ""
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
    """Return all objects of a kind by key, at a version of the store. Raises `Expired`."""
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


def list_version(store: Store, query: Mapping[str, str]) -> int:
    """Return the version to list, from `resourceVersion` and `resourceVersionMatch`."""
    requested, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if match:
        _check_match(query, requested, match)
    if requested in ("", "0"):
        return store.version
    version = parsed_version(requested)
    if version > store.version:
        store.commits_since(version)  # raises the error for future versions
    is_exact = match == "Exact" or (not match and bool(_limit(query)))
    return version if is_exact else store.version


def parsed_version(text: str) -> int:
    if not text.isdecimal() or len(text) > _MAX_VERSION:
        why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f"invalid resource version: {why}")
    return int(text)


def _check_match(query: Mapping[str, str], requested: str, match: str) -> None:
    why = ""
    if query.get("continue"):
        why = "resourceVersionMatch is forbidden when continue is provided"
    elif not requested:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif match == "Exact" and requested == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    if why:
        raise invalid_options("ListOptions", [f"resourceVersionMatch: Forbidden: {why}"])
    if match not in _MATCHES:
        supported = ", ".join(f'"{name}"' for name in (*_MATCHES, ""))
        problem = f'resourceVersionMatch: Unsupported value: "{match}": supported values: {supported}'
        raise invalid_options("ListOptions", [problem])


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
    """Error 410: the version of earlier chunks has expired. `rest` continues at the current one."""

    def __init__(self, rest: str) -> None:
        super().__init__(410, "Expired", CONTINUE_EXPIRED)
        self.rest = rest


def _limit(query: Mapping[str, str]) -> int:
    return max(0, parsed_integer(query.get("limit", "")))


def parsed_integer(text: str) -> int:
    """Parse an integer query parameter, 0 if empty. Raises 400 with Go's message."""
    if text and (not text.removeprefix("-").isdecimal() or len(text) > _MAX_VERSION):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text or 0)


def _encoded(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decoded(text: str) -> _Token:
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise bad_request(_BAD_TOKEN) from error
    if token.v != TOKEN_VERSION:
        raise bad_request(f"{_BAD_TOKEN}: server does not recognize this encoded version {token.v}")
    return token
