# SPDX-License-Identifier: Apache-2.0
"""Values of expressions: Python's own where possible, else small frozen classes.

| CEL | Python |
|---|---|
| bool, int, double, string, bytes, null | `bool`, `int`, `float`, `str`, `bytes`, `None` |
| uint | `Uint` |
| list, map | `list`, `dict`; neither is mutated once built |
| timestamp, duration, type, optional | `Timestamp`, `CelDuration`, `TypeValue`, `Optional` |

In Python, unlike CEL, `bool` is an `int`: code here checks `type(value)`, never `isinstance(value,
int)`, and map keys `true` and `false` are stored as `BoolKey`, which equals no number.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, TypeAlias

Value: TypeAlias = object
"""Value of an expression; its type is determined by its class."""

NANOS: Final = 1_000_000_000
"""Nanoseconds per second."""


class Uint(int):
    """Unsigned 64-bit integer."""

    __slots__ = ()


class BoolKey(enum.Enum):
    """`true` or `false` as a map key."""

    TRUE = True
    FALSE = False


class GrowingList(list[Value]):
    """List built by a comprehension; `+` extends only these in place."""

    __slots__ = ()


class GrowingMap(dict[Value, Value]):
    """Map built by a comprehension; only these are mutated."""

    __slots__ = ()


class TextMap(dict[Value, Value]):
    """Map of a device, which is queried only with strings."""

    __slots__ = ()


class DefaultMap(dict[Value, Value]):
    """Map that returns an empty map for unknown keys, although `in` is false for them."""

    __slots__ = ()

    def __missing__(self, key: Value) -> Value:
        return _EMPTY_MAP


_EMPTY_MAP: Final[dict[Value, Value]] = {}


@dataclass(frozen=True, slots=True)
class CelDuration:
    """Duration."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Timestamp:
    """Point in time, with its original zone."""

    #: Nanoseconds since the epoch.
    nanos: int
    #: Seconds east of UTC, for formatting only.
    offset: int = 0

    @property
    def seconds(self) -> int:
        """Whole seconds since the epoch, rounded down."""
        return self.nanos // NANOS


@dataclass(frozen=True, slots=True)
class TypeValue:
    """Type as a value, such as `type(1)` and `int`."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """Optional value; `NONE` is empty."""

    value: Value
    has_value: bool = True


NONE: Final = Optional(None, has_value=False)

_TYPE_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    GrowingList: "list",
    dict: "map",
    GrowingMap: "map",
    DefaultMap: "map",
    TextMap: "map",
    CelDuration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    TypeValue: "type",
    Optional: "optional_type",
}
_GO_NAMES: Final[dict[type, str]] = {
    bool: "types.Bool",
    int: "types.Int",
    Uint: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    list: "*types.baseList",
    GrowingList: "*types.mutableList",
    dict: "*types.baseMap",
    GrowingMap: "*types.mutableMap",
    DefaultMap: "cel.mapper",
    TextMap: "*types.baseMap",
    CelDuration: "types.Duration",
    Timestamp: "types.Timestamp",
    TypeValue: "*types.Type",
    Optional: "*types.Optional",
}


_UNHASHABLE: Final[set[type]] = {bytes}


def register(class_: type, type_name: str, go_name: str, *, hashable: bool = True) -> None:
    """Register a class of values: its CEL type name, and the Go type name in messages.

    Looking up an unhashable value in a map or among constants ends the evaluation.
    """
    _TYPE_NAMES[class_] = type_name
    _GO_NAMES[class_] = go_name
    if not hashable:
        _UNHASHABLE.add(class_)


def is_hashable(value: Value) -> bool:
    """Return whether upstream can hash the value."""
    return type(value) not in _UNHASHABLE


def type_name(value: Value) -> str:
    """Return the run-time type name of a value."""
    return _TYPE_NAMES[type(value)]


def go_name(value: Value) -> str:
    """Return upstream's Go type of a value, which some messages show."""
    return _GO_NAMES[type(value)]


def to_key(value: Value) -> Value:
    """Convert a value to a `dict` key."""
    return BoolKey(value) if type(value) is bool else value


def from_key(key: Value) -> Value:
    """Convert a `dict` key back to its value."""
    return key.value if type(key) is BoolKey else key
