# SPDX-License-Identifier: Apache-2.0
"""Documents of built-in kinds as Kubernetes' Go structs read and write them.

In Go, a plain field that is 0, "" or false is indistinguishable from an absent one, and JSON tags
determine how it is written. `go_fields.json` lists the exceptional fields by OpenAPI definition,
with a mark before the name:

    *  a pointer to a plain value: 0, "" and false are kept
    ~  a pointer that is written as null if absent
    +  always written: null for an absent list, map or time, `{}` with its own fields for a struct
    -  a struct that is omitted if empty

Without a mark, empty plain values, lists and maps are omitted, and structs are pointers.
`scripts/go_fields.py` generates the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from steersman.api import quantity
from steersman.api.json_values import Document
from steersman.api.schemas import FieldSchema
from steersman.base import InputError

QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_TABLE: Final = "go_fields.json"
_ALWAYS, _NULL, _POINTER, _UNLESS_ZERO = "+", "~", "*", "-"
_PLAIN_ZEROS: Final = {"string": "", "integer": 0, "number": 0, "boolean": False}
_JSON_ZEROS: Final[Mapping[str, Any]] = {"object": {}, "array": [], **_PLAIN_ZEROS}
_STRUCT_ZEROS: Final = {QUANTITY: "0", "io.k8s.apimachinery.pkg.util.intstr.IntOrString": 0}


def as_go_reads(value: Any, schema: FieldSchema | None) -> Any:
    """Return the value as Go decodes it: null fields and zeros of plain fields are absent, null in
    a map of strings is "", quantities are canonical. Unknown fields and values without a schema are
    kept."""
    if schema is None or schema.preserves_unknown_fields:
        return value
    if isinstance(value, list):
        return [_element(element, schema.elements) for element in value]
    if not isinstance(value, dict):
        return _canonical_amount(value) if schema.definition == QUANTITY else value
    if schema.values is not None and (schema.values.types == {"string"} or schema.values.definition == QUANTITY):
        zero = _STRUCT_ZEROS.get(schema.values.definition, "")
        return {name: zero if member is None else as_go_reads(member, schema.values) for name, member in value.items()}
    marks, read = _marks(schema.definition), {}
    for name, member in value.items():
        child = schema.child(name)
        if child is None or (member is not None and not (name not in marks and _is_plain_zero(member, child))):
            read[name] = as_go_reads(member, child)
    return read


def _element(value: Any, schema: FieldSchema | None) -> Any:
    """Return a list element; Go reads null as the zero value of its type."""
    if value is not None or schema is None:
        return as_go_reads(value, schema)
    return next((zero for kind, zero in _JSON_ZEROS.items() if kind in schema.types), None)


def as_go_writes(document: Document, schema: FieldSchema) -> Document:
    """Return the document as Go encodes it: marks determine whether empty fields are omitted."""
    marks, written = _marks(schema.definition), dict[str, Any]()
    for name, member in document.items():
        child = schema.child(name)
        value = member if child is None else _written(member, child)
        if child is None or not _is_omitted(value, child, marks.get(name, "")):
            written[name] = value
    for name, mark in marks.items():
        child = schema.child(name)
        if child is not None and written.get(name) in (None, [], {}) and mark in (_ALWAYS, _NULL):
            written[name] = None if mark == _NULL else _zero(child)
    return written


def _written(value: Any, schema: FieldSchema) -> Any:
    if isinstance(value, list):
        elements = schema.elements
        return value if elements is None else [_written(element, elements) for element in value]
    if not isinstance(value, dict) or schema.preserves_unknown_fields:
        return value
    if schema.values is not None:
        return {name: _written(member, schema.values) for name, member in value.items()}
    return as_go_writes(value, schema)


def _is_omitted(value: Any, schema: FieldSchema, mark: str) -> bool:
    if mark == _UNLESS_ZERO:
        return not value
    if mark:
        return False
    return value == [] or (value == {} and schema.values is not None) or _is_plain_zero(value, schema)


def _is_plain_zero(value: Any, schema: FieldSchema) -> bool:
    """Return whether the value is the zero of its own type; wrong types are rejected later."""
    if schema.definition or isinstance(value, (dict, list)):
        return False
    zeros = (_PLAIN_ZEROS[kind] for kind in schema.types if kind in _PLAIN_ZEROS)
    return any(value == zero and isinstance(value, bool) == isinstance(zero, bool) for zero in zeros)


def _zero(schema: FieldSchema) -> Any:
    if schema.definition in _STRUCT_ZEROS:
        return _STRUCT_ZEROS[schema.definition]
    if schema.names:
        return as_go_writes({}, schema)
    if schema.definition:
        return None
    return next((_PLAIN_ZEROS[kind] for kind in schema.types if kind in _PLAIN_ZEROS), None)


def _canonical_amount(value: Any) -> Any:
    """Return a quantity in canonical form: 1 is "1", 1024Mi is 1Gi. Invalid values are unchanged,
    for validation to reject."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return value
    try:
        return quantity.canonical(quantity.parse(value))
    except InputError:
        return value


@cache
def _marks(definition: str) -> Mapping[str, str]:
    return {field[1:]: field[0] for field in _table().get(definition, "").split()}


@cache
def _table() -> Mapping[str, str]:
    return msgspec.json.decode(files("steersman.api").joinpath(_TABLE).read_bytes(), type=dict[str, str])
