# SPDX-License-Identifier: Apache-2.0
"""Documents: objects as complete JSON, as API clients read and write them.

A struct holds the fields that Steersman reads. A `Store` that keeps documents also holds the whole
document of each struct: as sent by the client, updated when a writer in this process changes the
struct (`carried`). Documents are never mutated, so versions of an object share equal parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias, get_args

import msgspec

from steersman.api import FieldSchema, Object, codec, schema_of

Document: TypeAlias = dict[str, Any]
"""An object or a part of one as JSON. Must not be mutated, as it may be shared."""

ITEM_KEYS: Final = ("name", "type", "uid", "key", "container_port", "topology_key", "ip")
"""Attributes that identify list items, in order of preference."""


def document_of(obj: Object) -> Document:
    """Convert a struct to a document, with `apiVersion` and `kind`."""
    return {"apiVersion": obj.API_VERSION, "kind": obj.KIND, **_builtins(obj, _written_zeros(type(obj)))}


def carried(document: Document, old: Object, new: Object) -> Document:
    """Apply the differences of `old` and `new` to a document of `old`; share unchanged parts."""
    return document if old is new else _carried(document, old, new, _written_zeros(type(new)))


def _carried(document: Document, old: msgspec.Struct, new: msgspec.Struct, zeros: _WrittenZeros) -> Document:
    changed = dict(document)
    for field in _fields(type(new)):
        before, after = getattr(old, field.attribute), getattr(new, field.attribute)
        if before is after or before == after:
            continue
        if after == field.default:
            changed.pop(field.name, None)
        else:
            part = zeros.parts.get(field.name, _NO_ZEROS)
            changed[field.name] = _carried_value(document.get(field.name), before, after, part)
    for name, zero in zeros.values.items():
        changed.setdefault(name, zero)
    return changed


def _carried_value(value: Any, old: Any, new: Any, zeros: _WrittenZeros) -> Any:
    if isinstance(new, msgspec.Struct) and type(old) is type(new):
        return _carried(value if isinstance(value, dict) else {}, old, new, zeros)
    if isinstance(new, (tuple, list)) and isinstance(old, (tuple, list)) and isinstance(value, list):
        return _carried_items(value, old, new, zeros) if len(value) == len(old) else _builtins(new, zeros)
    return _builtins(new, zeros)


def _carried_items(values: list[Any], old: Sequence[Any], new: Sequence[Any], zeros: _WrittenZeros) -> list[Any]:
    """Convert list items; those with a known key keep document fields missing in the struct."""
    known = {_item_key(item): (item, value) for item, value in zip(old, values, strict=True)}
    result = []
    for item in new:
        before = known.get(_item_key(item))
        if before is None:
            result.append(_builtins(item, zeros))
        else:
            result.append(_carried_value(before[1], before[0], item, zeros))
    return result


def _item_key(item: Any) -> object:
    if not isinstance(item, msgspec.Struct):
        return repr(item)
    for attribute in ITEM_KEYS:
        found = getattr(item, attribute, None)
        if found is not None:
            return (attribute, found)
    return repr(item)


class _DocumentField(NamedTuple):
    attribute: str
    name: str
    default: Any


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[_DocumentField, ...]:
    fields = msgspec.structs.fields(kind)
    return tuple(_DocumentField(field.name, field.encode_name, _default(field)) for field in fields)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _builtins(value: Any, zeros: _WrittenZeros) -> Any:
    """Convert to plain dicts and lists by way of JSON, which omits defaults."""
    return zeros.filled(msgspec.json.decode(msgspec.json.encode(value)))


# -- zeros that are written ------------------------------------------------------------------------


class _WrittenZeros(NamedTuple):
    """Zero values of a status that Kubernetes writes, mostly because the schema requires them: the
    official Python client rejects a status without them. `parts` are those of nested objects and
    list items."""

    values: Mapping[str, Any]
    parts: Mapping[str, _WrittenZeros]

    def filled(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.filled(item) for item in value] if self.values or self.parts else value
        if not isinstance(value, dict):
            return value
        inside = {name: part.filled(value[name]) for name, part in self.parts.items() if name in value}
        return {**self.values, **value, **inside}


_NO_ZEROS: Final = _WrittenZeros({}, {})
_ZEROS: Final = {"integer": 0, "number": 0, "boolean": False, "string": ""}
_EMPTY_TEXTS: Final = ("message", "reason")
"""Required strings that may be empty, unlike names, types and times."""
_WRITTEN_THOUGH_OPTIONAL: Final = {
    "PodDisruptionBudget": ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
    "StatefulSet": ("availableReplicas",),
}


@cache
def _written_zeros(kind: type[Object]) -> _WrittenZeros:
    """Return the zero values to write for a built-in kind; no status of other kinds is written in
    this process."""
    schema = schema_of(kind.API_VERSION, kind.KIND)
    status = None if schema is None else schema.child("status")
    struct = next((field.type for field in msgspec.structs.fields(kind) if field.name == "status"), None)
    found = _NO_ZEROS if status is None else _zeros_of(struct, status)
    also = dict.fromkeys(_WRITTEN_THOUGH_OPTIONAL.get(kind.KIND, ()), 0)
    found = found._replace(values={**found.values, **also})
    return _WrittenZeros({}, {"status": found}) if found != _NO_ZEROS else _NO_ZEROS


def _zeros_of(annotation: Any, schema: FieldSchema) -> _WrittenZeros:
    struct = _struct_in(annotation)
    if struct is None:
        return _NO_ZEROS
    values, parts = dict[str, Any](), dict[str, _WrittenZeros]()
    for field in msgspec.structs.fields(struct):
        name = field.encode_name
        child = schema.child(name)
        if child is None:
            continue
        zero = _ZEROS.get(next(iter(child.types), "")) if len(child.types) == 1 else None
        if name in schema.required and zero is not None and (zero != "" or name in _EMPTY_TEXTS):
            values[name] = zero
        part = _zeros_of(field.type, child.elements or child)
        if part != _NO_ZEROS:
            parts[name] = part
    return _WrittenZeros(values, parts)


def _struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    """Return the struct in an annotation such as `Status`, an optional or a tuple."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    return next(filter(None, map(_struct_in, get_args(annotation))), None)


def typed(document: Document, kind: type[Object]) -> Object:
    """Convert a document to its struct. Raises `InputError` that names the field."""
    return codec.convert(document, kind)
