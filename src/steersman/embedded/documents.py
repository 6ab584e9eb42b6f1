# SPDX-License-Identifier: Apache-2.0
"""Documents: objects as the JSON that clients of an API server write and read, with every field.

A struct holds the fields that Steersman reads. A `Store` that keeps documents holds, beside each struct, the whole document:
what a client sent, changed wherever a writer in this process changed the struct (`carried`). Documents are never changed in
place, so that versions of an object share whatever is equal in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from steersman.api import Object, codec

Document: TypeAlias = dict[str, Any]
"""An object, or a part of one, as JSON has it. To be treated as frozen: others may share it."""

ITEM_KEYS: Final = ("name", "type", "uid", "key", "container_port", "topology_key", "ip")
"""Attributes that tell the items of a list apart, the first that the items have."""


def document_of(obj: Object) -> Document:
    """All that the struct says, with `apiVersion` and `kind`."""
    return {"apiVersion": obj.API_VERSION, "kind": obj.KIND, **_builtins(obj)}


def carried(document: Document, old: msgspec.Struct, new: msgspec.Struct) -> Document:
    """The document, which says what `old` says and more, changed where `new` differs; the rest of it is shared."""
    if old is new:
        return document
    changed = dict(document)
    for field in _fields(type(new)):
        before, after = getattr(old, field.attribute), getattr(new, field.attribute)
        if before is after or before == after:
            continue
        if after == field.default:
            changed.pop(field.name, None)
        else:
            changed[field.name] = _carried_value(document.get(field.name), before, after)
    return changed


def _carried_value(value: Any, old: Any, new: Any) -> Any:
    if isinstance(new, msgspec.Struct) and type(old) is type(new):
        return carried(value if isinstance(value, dict) else {}, old, new)
    if isinstance(new, (tuple, list)) and isinstance(old, (tuple, list)) and isinstance(value, list):
        return _carried_items(value, old, new) if len(value) == len(old) else _builtins(new)
    return _builtins(new)


def _carried_items(values: list[Any], old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """The items of a list; one that has been there before, under its key, keeps what its struct does not hold."""
    known = {_item_key(item): (item, value) for item, value in zip(old, values, strict=True)}
    result = []
    for item in new:
        before = known.get(_item_key(item))
        result.append(_builtins(item) if before is None else _carried_value(before[1], before[0], item))
    return result


def _item_key(item: Any) -> object:
    if not isinstance(item, msgspec.Struct):
        return repr(item)
    for attribute in ITEM_KEYS:
        found = getattr(item, attribute, None)
        if found is not None:
            return (attribute, found)
    return repr(item)


class _Field(NamedTuple):
    attribute: str
    name: str
    default: Any


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[_Field, ...]:
    fields = msgspec.structs.fields(kind)
    return tuple(_Field(field.name, field.encode_name, _default(field)) for field in fields)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _builtins(value: Any) -> Any:
    """Plain dicts and lists; by way of JSON, which leaves out what is as by default."""
    return msgspec.json.decode(msgspec.json.encode(value))


def typed(document: Document, kind: type[Object]) -> Object:
    """The struct of a document; raises `InputError` that names the field."""
    return codec.convert(document, kind)
