# SPDX-License-Identifier: Apache-2.0
"""Access to parts of JSON values, and their comparison."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

Document: TypeAlias = dict[str, Any]
"""An object or a part of one as JSON. Must not be mutated, as it may be shared."""
TOO_DEEP: Final = "the object is nested too deeply"


def group_kind(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return the API group and the kind of an object: `("apps", "Deployment")`, `("", "Pod")`."""
    return str(document.get("apiVersion") or "").rpartition("/")[0], str(document.get("kind") or "")


def part(document: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """Return the object at the path, or {}."""
    value: Any = document
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def elements(document: Mapping[str, Any], *path: str) -> list[Any]:
    """Return the list at the path, or []."""
    value = part(document, *path[:-1]).get(path[-1])
    return value if isinstance(value, list) else []


def is_same(left: Any, right: Any) -> bool:
    """Return whether two values are equal as JSON, where `true` is not `1`."""
    if type(left) is bool or type(right) is bool:
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    return bool(left == right)


def json_type(value: Any) -> str:
    """Return the JSON schema type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    return {"str": "string", "dict": "object", "list": "array"}.get(type(value).__name__, "string")


class _Members(list[tuple[str, Any]]):
    """Members of a JSON object in order, including repeated ones."""


def repeated_fields(text: str | bytes) -> Iterator[str]:
    """Yield the paths of repeated fields in valid JSON."""
    return (path for path, is_repeated in fields_in_order(text) if is_repeated)


def fields_in_order(text: str | bytes) -> Iterator[tuple[str, bool]]:
    """Yield the path of every field, and whether it is repeated; nothing if none is."""
    has_repeated = False

    def check(members: list[tuple[str, Any]]) -> None:
        nonlocal has_repeated
        has_repeated = has_repeated or len(dict(members)) < len(members)

    try:
        json.loads(text, object_pairs_hook=check)
        if has_repeated:
            yield from _fields_below(json.loads(text, object_pairs_hook=_Members), "")
    except (RecursionError, ValueError):  # too deep, or a number too long for Python: handled elsewhere
        return


def _fields_below(value: Any, path: str) -> Iterator[tuple[str, bool]]:
    seen = set[str]()
    if isinstance(value, _Members):
        for name, member in value:
            where = f"{path}.{name}" if path else name
            yield where, name in seen
            seen.add(name)
            yield from _fields_below(member, where)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _fields_below(element, f"{path}[{index}]")


def create_merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON merge patch from one document to the other."""
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            inner = create_merge_patch(old, value)
            if inner:
                patch[name] = inner
        elif old != value:
            patch[name] = value
    return patch


def merge_patch(document: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386): null removes, objects merge, other values replace."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
