# SPDX-License-Identifier: Apache-2.0
"""Removal of values of a wrong type, so that validation rules can rely on types.

Decoding (`api.strict_decoding`, `api.codec`) reports wrong types. Rules see an absent field, or a
zero value in a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.api.json_values import Document
from steersman.api.schemas import FieldSchema, schema_of

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_ZERO_VALUES: Final[Mapping[str, Any]] = {
    "object": {},
    "array": [],
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
}


def well_typed(document: Mapping[str, Any]) -> Document | None:
    """Return the object without values of a wrong type, or None if its kind is unknown."""
    schema = schema_of(str(document.get("apiVersion") or ""), str(document.get("kind") or ""))
    return None if schema is None else {"metadata": {}, **_with_right_fields(document, schema)}


def _with_right_fields(value: Mapping[str, Any], schema: FieldSchema) -> Document:
    """Return the object without fields that are null, unknown or of a wrong type."""
    found = {}
    for name, member in value.items():
        child = schema.child(name) if isinstance(name, str) else None
        if child is not None and member is not None and _has_type(member, child):
            found[name] = _converted(member, child)
    return found


def _converted(value: Any, schema: FieldSchema) -> Any:
    if schema.preserves_unknown_fields:
        return value
    if isinstance(value, dict):
        return _with_right_fields(value, schema)
    if isinstance(value, list) and schema.elements is not None:
        return [_element(element, schema.elements) for element in value]
    return value


def _element(value: Any, schema: FieldSchema) -> Any:
    """Return a list element, or a zero value if its type is wrong, to preserve indexes."""
    if _has_type(value, schema):
        return _converted(value, schema)
    return next((_ZERO_VALUES[name] for name in _ZERO_VALUES if name in schema.types), None)


def _has_type(value: Any, schema: FieldSchema) -> bool:
    types = schema.types
    if not types:
        return True
    if isinstance(value, bool):
        return "boolean" in types
    return any(isinstance(value, _TYPES[name]) for name in types if name != "boolean")
