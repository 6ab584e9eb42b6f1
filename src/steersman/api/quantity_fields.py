# SPDX-License-Identifier: Apache-2.0
"""Paths of the quantities in an object, derived from field types, and the first invalid one.

A quantity stays text until its first use in a calculation (`quantity`). Readers of objects check
quantities here, so that invalid ones are reported as errors of the object.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from steersman.api import quantity
from steersman.api.meta import Object, Quantity
from steersman.base import InputError

Steps = tuple[str | int, ...]
"""Wire names, map keys and list indexes that lead to a value."""

_QUANTITY: Final = frozenset(get_args(Quantity))


class QuantityAt(NamedTuple):
    """Quantity and its path."""

    steps: Steps
    value: Quantity


def check_readable(obj: Object) -> None:
    """Raise `InputError` with the field for the first invalid quantity."""
    for steps, value in quantities_in(obj):
        try:
            quantity.parse(value)
        except InputError as error:
            raise error.located(field=field_path(steps)) from error


def quantities_in(part: msgspec.Struct) -> Iterator[QuantityAt]:
    """Yield all quantities of an object, in field order."""
    return _below(part, type(part), ())


def field_path(steps: Steps) -> str:
    """Format a path: `spec.containers[0].resources.requests.cpu`."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return "".join(parts).removeprefix(".")


def _below(value: Any, hint: Any, steps: Steps) -> Iterator[QuantityAt]:
    if value is None:
        return
    if _is_quantity(hint):
        yield QuantityAt(steps, value)
    elif isinstance(value, msgspec.Struct):
        for attribute, name, inner in _fields_with_quantities(type(value)):
            yield from _below(getattr(value, attribute), inner, (*steps, name))
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _below(entry, get_args(hint)[1], (*steps, key))
    else:
        for index, element in enumerate(value):
            yield from _below(element, get_args(hint)[0], (*steps, index))


@cache
def _fields_with_quantities(cls: type[msgspec.Struct]) -> tuple[tuple[str, str, Any], ...]:
    """Return attribute, wire name and type of fields that are or contain quantities."""
    hints = get_type_hints(cls)
    wire_names = {field.name: field.encode_name for field in msgspec.structs.fields(cls)}
    types = {attribute: _without_none(hints[attribute]) for attribute in wire_names}
    return tuple((name, wire_names[name], hint) for name, hint in types.items() if _has_quantities(hint))


def _has_quantities(hint: Any) -> bool:
    if _is_quantity(hint):
        return True
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return bool(_fields_with_quantities(hint))
    return get_origin(hint) in (dict, tuple) and any(_has_quantities(inner) for inner in get_args(hint))


def _is_quantity(hint: Any) -> bool:
    return get_origin(hint) in (UnionType, Union) and frozenset(get_args(hint)) == _QUANTITY


def _without_none(hint: Any) -> Any:
    """Return the non-None type of an optional field."""
    if get_origin(hint) not in (UnionType, Union):
        return hint
    left = tuple(inner for inner in get_args(hint) if inner is not type(None))
    return left[0] if len(left) == 1 else Union[left]  # noqa: UP007 - made at run time
