# SPDX-License-Identifier: Apache-2.0
"""Documents: objects as the JSON that clients of an API server write and read, with every field.

A struct holds the fields that Steersman reads. A `Store` that keeps documents holds, beside each struct, the whole document:
what a client sent, changed wherever a writer in this process changed the struct (`carried`). Documents are never changed in
place, so that versions of an object share whatever is equal in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias, get_args

import msgspec

from steersman.api import Object, codec
from steersman.api.schemas import FieldSchema, schema_of

Document: TypeAlias = dict[str, Any]
"""An object, or a part of one, as JSON has it. To be treated as frozen: others may share it."""

ITEM_KEYS: Final = ("name", "type", "uid", "key", "container_port", "topology_key", "ip")
"""Attributes that tell the items of a list apart, the first that the items have."""


def document_of(obj: Object) -> Document:
    """All that the struct says, with `apiVersion` and `kind`."""
    return {"apiVersion": obj.API_VERSION, "kind": obj.KIND, **_builtins(obj, _written_zeros(type(obj)))}


def carried(document: Document, old: Object, new: Object) -> Document:
    """The document, which says what `old` says and more, changed where `new` differs; the rest of it is shared."""
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
    """The items of a list; one that has been there before, under its key, keeps what its struct does not hold."""
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
    """Plain dicts and lists; by way of JSON, which leaves out what is as by default."""
    return zeros.filled(msgspec.json.decode(msgspec.json.encode(value)))


# -- zeros that are written --------------------------------------------------------------------------------------------


class _WrittenZeros(NamedTuple):
    """Fields of a status that Kubernetes writes although they are 0, "" or false, mostly because their schema requires them:
    the official Python client refuses a status without them. `parts` are those of objects in it, and of items of lists."""

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
"""Required texts that may be empty; names, types and times never are."""
_WRITTEN_THOUGH_OPTIONAL: Final = {
    "PodDisruptionBudget": ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
    "StatefulSet": ("availableReplicas",),
}


@cache
def _written_zeros(kind: type[Object]) -> _WrittenZeros:
    """The zero values that are written for a built-in kind; other kinds have no status that is written in this process."""
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
    """The struct of `Status`, `Status | None` and `tuple[Condition, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    return next(filter(None, map(_struct_in, get_args(annotation))), None)


def typed(document: Document, kind: type[Object]) -> Object:
    """The struct of a document; raises `InputError` that names the field."""
    return codec.convert(document, kind)
