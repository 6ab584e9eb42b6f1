# SPDX-License-Identifier: Apache-2.0
"""Conversion of documents of Steersman's own kinds to structs, with suggestions for unknown fields.

`text_files` reads the documents. Fields are checked before decoding, because msgspec reports
neither the path of an unknown field nor a suggestion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from steersman.api import codec
from steersman.api.meta import Object
from steersman.base import InputError

S = TypeVar("S", bound=msgspec.Struct)

_SEQUENCES = inspect.ListType | inspect.VarTupleType


def convert_document(document: Any, kind: type[S]) -> S:
    """Convert a document to a struct.

    Raises `InputError` for the first field that is unknown, missing, or not one of the possible
    values.
    """
    _check(document, inspect.type_info(kind), "")
    return codec.convert(document, kind)


def similar(name: str, known: Sequence[str]) -> str:
    """Return a hint with the most similar known name, or with all of them."""
    close = get_close_matches(name, known, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return f"there are {', '.join(known)}" if known else "there are none"


def _check(value: Any, kind: inspect.Type, path: str) -> None:
    if isinstance(kind, inspect.Metadata):
        _check(value, kind.type, path)
    elif isinstance(kind, inspect.UnionType):
        for choice in kind.types:
            if _is_meant(value, choice):
                _check(value, choice, path)
    elif isinstance(kind, inspect.StructType) and isinstance(value, dict):
        if not issubclass(kind.cls, Object):  # API objects ignore fields that are not read
            _check_struct(value, kind, path)
    elif isinstance(kind, inspect.DictType) and isinstance(value, dict):
        for name, item in value.items():
            _check(item, kind.value_type, f"{path}.{name}")
    elif isinstance(kind, _SEQUENCES) and isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, kind.item_type, f"{path}[{index}]")
    elif isinstance(kind, inspect.LiteralType) and isinstance(value, str) and value not in kind.values:
        known = [str(choice) for choice in kind.values]
        raise InputError("is not one of the possible values", field=path, value=value, hint=similar(value, known))


def _is_meant(value: Any, choice: inspect.Type) -> bool:
    if isinstance(choice, inspect.Metadata):
        return _is_meant(value, choice.type)
    if isinstance(choice, inspect.StructType | inspect.DictType):
        return isinstance(value, dict)
    return isinstance(choice, _SEQUENCES) and isinstance(value, list)


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
