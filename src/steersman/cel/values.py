# SPDX-License-Identifier: Apache-2.0
"""The values of expressions: Python's own where they fit, and small frozen classes for the rest.

| CEL | here |
|---|---|
| bool, int, double, string, bytes, null | `bool`, `int`, `float`, `str`, `bytes`, `None` |
| uint | `Uint` |
| list, map | `list`, `dict`; both are never changed once made |
| timestamp, duration, type, optional | `Timestamp`, `CelDuration`, `TypeValue`, `Optional` |

`bool` is an `int` in Python and not in CEL: code here asks for `type(value)`, never `isinstance(value, int)`, and the
keys `true` and `false` of a map are stored as `BoolKey`, which no number equals.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, TypeAlias

Value: TypeAlias = object
"""Any value of an expression; what it is only its class tells."""

NANOS: Final = 1_000_000_000
"""Nanoseconds in a second."""


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


class BoolKey(enum.Enum):
    """`true` or `false` as a key in a map."""

    TRUE = True
    FALSE = False


class GrowingList(list[Value]):
    """The list that a comprehension builds: the only one that `+` extends in place."""

    __slots__ = ()


class GrowingMap(dict[Value, Value]):
    """The map that a comprehension builds: the only one that changes."""

    __slots__ = ()


class TextMap(dict[Value, Value]):
    """A map of a device, in which only texts are looked up."""

    __slots__ = ()


class DefaultMap(dict[Value, Value]):
    """A map whose unknown keys lead to an empty map, although `in` does not find them."""

    __slots__ = ()

    def __missing__(self, key: Value) -> Value:
        return _EMPTY_MAP


_EMPTY_MAP: Final[dict[Value, Value]] = {}


@dataclass(frozen=True, slots=True)
class CelDuration:
    """A span of time."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment, with the zone in which it was written."""

    #: Nanoseconds since the epoch.
    nanos: int
    #: Seconds east of UTC; how the moment is written again, and no part of what it is.
    offset: int = 0

    @property
    def seconds(self) -> int:
        """Whole seconds since the epoch, rounded down."""
        return self.nanos // NANOS


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: what `type(1)` and `int` are."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing: `NONE` holds none."""

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
    """Make the values of a class known: the name of their CEL type, and the name of upstream's class in messages.

    Values that are not hashable end an evaluation when they are looked up in a map or among constants.
    """
    _TYPE_NAMES[class_] = type_name
    _GO_NAMES[class_] = go_name
    if not hashable:
        _UNHASHABLE.add(class_)


def is_hashable(value: Value) -> bool:
    """Whether upstream can look the value up."""
    return type(value) not in _UNHASHABLE


def type_name(value: Value) -> str:
    """The name of a value's type at run time."""
    return _TYPE_NAMES[type(value)]


def go_name(value: Value) -> str:
    """Upstream's class of a value; some messages show it."""
    return _GO_NAMES[type(value)]


def to_key(value: Value) -> Value:
    """A value as the key of a `dict`."""
    return BoolKey(value) if type(value) is bool else value


def from_key(key: Value) -> Value:
    """The value that a key of a `dict` stands for."""
    return key.value if type(key) is BoolKey else key
