# SPDX-License-Identifier: Apache-2.0
"""Paths of collections, objects and subresources on an API server."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from steersman import api

_PLAIN: Final = re.compile("[A-Za-z0-9_.~-]*")
"""Names that need no quoting: all that an API server admits."""
_COLLECTION: Final = re.compile(r"/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/[^/]+)?/[^/]+")


def collection(kind: type[api.Object], namespace: str = "") -> str:
    """Return the path of all objects of a kind, or of those in a namespace."""
    root = "apis" if "/" in kind.API_VERSION else "api"
    inside = f"/namespaces/{_quoted(namespace)}" if namespace else ""
    return f"/{root}/{kind.API_VERSION}{inside}/{kind.PLURAL}"


def item(kind: type[api.Object], name: str, namespace: str = "", subresource: str = "") -> str:
    """Return the path of an object or of its subresource."""
    path = f"{collection(kind, namespace)}/{_quoted(name)}"
    return f"{path}/{subresource}" if subresource else path


def object_path(obj: api.Object, subresource: str = "") -> str:
    """Return the path of this object or of its subresource."""
    return item(type(obj), obj.metadata.name, obj.metadata.namespace if obj.NAMESPACED else "", subresource)


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote(name, safe="")


def is_collection(path: str) -> bool:
    """Return whether a path is that of a collection."""
    return _COLLECTION.fullmatch(path) is not None
