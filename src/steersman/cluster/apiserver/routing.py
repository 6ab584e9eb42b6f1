# SPDX-License-Identifier: Apache-2.0
"""Parsing of request paths into resource, object and subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

import msgspec

from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.resources import Resource, Subresource
from steersman.cluster.apiserver.statuses import method_not_allowed, path_not_found

_NAMESPACES: Final = "namespaces"
_OF_NAMESPACE_ITSELF: Final = ("status", "finalize")


class RequestTarget(msgspec.Struct, frozen=True):
    """Target of a request: an object, or a collection without `name`. `namespace` may be None."""

    resource: Resource
    namespace: str | None = None
    name: str = ""
    subresource: Subresource | None = None
    #: Remainder of the path after the subresource, such as the path of a proxy request.
    rest: str = ""

    @property
    def key(self) -> str:
        """Key of the object in the store."""
        return f"{self.namespace}/{self.name}" if self.resource.namespaced else self.name


def target(catalog: Catalog, path: str) -> RequestTarget:
    """Parse a path such as `/api/v1/namespaces/default/pods/web-0/status`. Raises 404."""
    api_version, parts = _version_and_parts(path)
    # Old clients watch below /watch, followed by the usual path.
    if parts and parts[0] == "watch":
        parts = parts[1:]
    namespace: str | None = None
    if len(parts) >= 3 and parts[0] == _NAMESPACES and parts[2] not in _OF_NAMESPACE_ITSELF:
        namespace, parts = parts[1], parts[2:]
    if not parts:
        raise path_not_found()
    resource = catalog.find(api_version, parts[0])
    if resource is None or (namespace is not None and not resource.namespaced):
        raise path_not_found()
    name, sub = (parts[1] if len(parts) > 1 else ""), (parts[2] if len(parts) > 2 else "")
    if name and resource.namespaced and namespace is None:
        raise path_not_found()
    return RequestTarget(resource, namespace, name, _subresource(resource, sub), "/".join(parts[3:]))


def _version_and_parts(path: str) -> tuple[str, list[str]]:
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) > 2:
        return parts[1], parts[2:]
    if parts[0] == "apis" and len(parts) > 3:
        return f"{parts[1]}/{parts[2]}", parts[3:]
    raise path_not_found()


def _subresource(resource: Resource, name: str) -> Subresource | None:
    if not name:
        return None
    found = resource.subresource(name)
    if found is None:
        raise path_not_found()
    return found


_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}


def verb(method: str, target: RequestTarget, query: Mapping[str, str], path: str) -> str:
    """Return the verb, such as `watch`. Raise 405 if the resource does not support it."""
    found = _verb(method, target, query, path)
    offered = target.subresource.verbs if target.subresource is not None else target.resource.verbs
    if found not in offered:
        raise method_not_allowed()
    return found


def _verb(method: str, target: RequestTarget, query: Mapping[str, str], path: str) -> str:
    if method == "GET":
        is_watch = query.get("watch", "").lower() in ("true", "1") or "/watch/" in path
        if target.subresource is not None:
            return "get"
        if is_watch:
            return "watch"
        return "get" if target.name else "list"
    if method == "DELETE":
        return "delete" if target.name else "deletecollection"
    found = _VERBS.get(method, "")
    if (found == "create") is bool(target.name) and target.subresource is None:
        return ""
    return found
