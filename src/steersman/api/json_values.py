# SPDX-License-Identifier: Apache-2.0
"""Access to parts of objects in JSON form, and comparison of such values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]
"""An object, or a part of one, in JSON form. Treat it as frozen: it may be shared."""


def group_kind(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return the API group and the kind of an object: `("apps", "Deployment")`, `("", "Pod")`."""
    return str(document.get("apiVersion") or "").rpartition("/")[0], str(document.get("kind") or "")


def part(document: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """Return the object at the path, {} if there is none."""
    value: Any = document
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def elements(document: Mapping[str, Any], *path: str) -> list[Any]:
    """Return the list at the path, [] if there is none."""
    value = part(document, *path[:-1]).get(path[-1])
    return value if isinstance(value, list) else []


def is_same(left: Any, right: Any) -> bool:
    """Return whether two values are equal as JSON: unlike in Python, `true` is not `1`."""
    if type(left) is bool or type(right) is bool:
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    return bool(left == right)
