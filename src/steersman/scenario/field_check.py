# SPDX-License-Identifier: Apache-2.0
"""The fields of a document against the structs that it is to become: unknown ones with what was probably meant, missing ones.

`loading` asks before it decodes: msgspec names a wrong field, but neither its path nor a better name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from steersman.errors import InputError
from steersman.scenario.parameters import similar


def check_fields(document: Any, kind: type) -> None:
    """Raises `InputError` for the first field that is unknown, missing, or not among the values that are possible."""
    _check(document, inspect.type_info(kind), "")


def _check(value: Any, kind: inspect.Type, path: str) -> None:
    if isinstance(kind, inspect.Metadata):
        _check(value, kind.type, path)
    elif isinstance(kind, inspect.UnionType):
        for choice in kind.types:
            if _is_meant(value, choice):
                _check(value, choice, path)
    elif isinstance(kind, inspect.StructType) and isinstance(value, dict):
        _check_struct(value, kind, path)
    elif isinstance(kind, inspect.ListType) and isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, kind.item_type, f"{path}[{index}]")
    elif isinstance(kind, inspect.LiteralType) and isinstance(value, str) and value not in kind.values:
        known = [str(choice) for choice in kind.values]
        raise InputError("is not one of the possible values", field=path, value=value, hint=similar(value, known))


def _is_meant(value: Any, choice: inspect.Type) -> bool:
    if isinstance(choice, inspect.Metadata):
        return _is_meant(value, choice.type)
    if isinstance(choice, inspect.StructType):
        return isinstance(value, dict)
    return isinstance(choice, inspect.ListType) and isinstance(value, list)


def _check_struct(value: dict[Any, Any], kind: inspect.StructType, path: str) -> None:
    known = {field.encode_name: field for field in kind.fields}
    for name, inner in value.items():
        where = f"{path}.{name}" if path else str(name)
        if name not in known:
            raise InputError("is not a field here", field=where, value=inner, hint=similar(str(name), list(known)))
        if inner is not None:
            _check(inner, known[name].type, where)
    missing = list(_missing(value, kind))
    if missing:
        hint = f"write {', '.join(missing)}"
        raise InputError(f"lacks {', '.join(missing)}", field=path or None, value=value or None, hint=hint)


def _missing(value: dict[Any, Any], kind: inspect.StructType) -> Iterator[str]:
    return (field.encode_name for field in kind.fields if field.required and value.get(field.encode_name) is None)
