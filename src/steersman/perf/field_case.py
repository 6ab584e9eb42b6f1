"""Field names of templates are matched as Go's encoding/json matches them: exactly, or else whatever their case.

`templates` calls this before it decodes a document; a kube-apiserver is stricter, and so is everything else here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from steersman import api


def with_exact_names(data: Any, kind: type[api.Object]) -> Any:
    """The document with the keys spelled as the fields of the kind."""
    return _renamed(data, _type_info(kind))


@cache
def _type_info(kind: type[api.Object]) -> inspect.Type:
    return inspect.type_info(kind)


def _renamed(data: Any, type_: inspect.Type) -> Any:
    for option in type_.types if isinstance(type_, inspect.UnionType) else (type_,):
        if isinstance(data, dict) and isinstance(option, inspect.StructType):
            fields = _fields(option.cls)
            return dict(_field(name, value, fields) for name, value in data.items())
        if isinstance(data, dict) and isinstance(option, inspect.DictType):
            return {name: _renamed(value, option.value_type) for name, value in data.items()}
        if isinstance(data, list) and isinstance(option, (inspect.ListType, inspect.VarTupleType)):
            return [_renamed(element, option.item_type) for element in data]
    return data


def _field(name: str, value: Any, fields: dict[str, tuple[str, inspect.Type]]) -> tuple[str, Any]:
    known = fields.get(name) or fields.get(name.lower())
    return (name, value) if known is None else (known[0], _renamed(value, known[1]))


@cache
def _fields(cls: type[msgspec.Struct]) -> dict[str, tuple[str, inspect.Type]]:
    """By exact name, and by name in lower case."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    entries = [(field.encode_name, field.type) for field in info.fields]
    return {name.lower(): (name, type_) for name, type_ in entries} | {name: (name, type_) for name, type_ in entries}
