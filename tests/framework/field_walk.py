# SPDX-License-Identifier: Apache-2.0
"""Objects in which every field is set, and all objects that differ from them in one place: for tests of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

T = TypeVar("T", bound=msgspec.Struct)

replace = msgspec.structs.replace


def filled(struct: type[T]) -> T:
    """With a value other than the default in every field, however deep. Texts can be read as quantities."""
    made: T = _value(inspect.type_info(struct))
    return made


def variations(obj: T) -> Iterator[tuple[str, T]]:
    """By the path of the field: objects that differ from a filled one in the value of one field, and in nothing else."""
    return _of_struct("", inspect.type_info(type(obj)), obj)


def _value(kind: inspect.Type) -> Any:
    match kind:
        case inspect.StructType():
            return kind.cls(**{field.name: _value(field.type) for field in kind.fields})
        case inspect.VarTupleType():
            return (_value(kind.item_type),)
        case inspect.DictType():
            return {"cpu": _value(kind.value_type)}
        case inspect.UnionType():
            return _value(_first(kind))
        case inspect.StrType():
            return "1"
        case inspect.IntType() | inspect.FloatType():
            return 1
        case inspect.BoolType():
            return True
    raise TypeError(f"no value is known for {kind}")


def _of(path: str, kind: inspect.Type, value: Any) -> Iterator[tuple[str, Any]]:
    match kind:
        case inspect.StructType():
            yield from _of_struct(path, kind, value)
        case inspect.VarTupleType():
            yield path, ()
            yield path, value * 2
            yield from _each(_of(path, kind.item_type, value[0]), lambda changed: (changed,))
        case inspect.DictType():
            yield path, {}
            yield path, {"memory": value["cpu"]}
            yield from _each(_of(path, kind.value_type, value["cpu"]), lambda changed: {"cpu": changed})
        case inspect.UnionType():
            if kind.includes_none:
                yield path, None
            yield from _of(path, _first(kind), value)
        case inspect.StrType():
            yield path, "2"
        case inspect.IntType() | inspect.FloatType():
            yield path, 2
        case inspect.BoolType():
            yield path, False


def _of_struct(path: str, kind: inspect.Type, value: Any) -> Iterator[tuple[str, Any]]:
    assert isinstance(kind, inspect.StructType)
    for field in kind.fields:
        beneath = f"{path}.{field.name}" if path else field.name
        for place, changed in _of(beneath, field.type, getattr(value, field.name)):
            yield place, replace(value, **{field.name: changed})


def _each(variants: Iterator[tuple[str, Any]], wrapped: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    return ((place, wrapped(changed)) for place, changed in variants)


def _first(kind: inspect.UnionType) -> inspect.Type:
    return next(choice for choice in kind.types if not isinstance(choice, inspect.NoneType))
