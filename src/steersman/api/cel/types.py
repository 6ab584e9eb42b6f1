# SPDX-License-Identifier: Apache-2.0
"""Static types of the checker, and their formatting in messages."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class TypeKind(enum.Enum):
    """Kind of a type; types of one kind differ by name and parameters."""

    ANY = enum.auto()
    BOOL = enum.auto()
    BYTES = enum.auto()
    DOUBLE = enum.auto()
    DURATION = enum.auto()
    DYN = enum.auto()
    ERROR = enum.auto()
    INT = enum.auto()
    LIST = enum.auto()
    MAP = enum.auto()
    NULL = enum.auto()
    OPAQUE = enum.auto()
    STRING = enum.auto()
    STRUCT = enum.auto()
    TIMESTAMP = enum.auto()
    TYPE = enum.auto()
    TYPE_PARAM = enum.auto()
    UINT = enum.auto()


@dataclass(frozen=True, slots=True)
class Type:
    """A type: `list(int)` is kind LIST, name "list", params (INT,)."""

    kind: TypeKind
    #: Run-time name of the type, without parameters.
    name: str
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        """Return the type as upstream prints it outside the checker: well-known types in full."""
        if self.kind is TypeKind.TYPE_PARAM:
            return f"<{self.name}>"
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name


ANY: Final = Type(TypeKind.ANY, "google.protobuf.Any")
BOOL: Final = Type(TypeKind.BOOL, "bool")
BYTES: Final = Type(TypeKind.BYTES, "bytes")
DOUBLE: Final = Type(TypeKind.DOUBLE, "double")
DURATION: Final = Type(TypeKind.DURATION, "google.protobuf.Duration")
DYN: Final = Type(TypeKind.DYN, "dyn")
ERROR: Final = Type(TypeKind.ERROR, "error")
INT: Final = Type(TypeKind.INT, "int")
NULL: Final = Type(TypeKind.NULL, "null_type")
STRING: Final = Type(TypeKind.STRING, "string")
TIMESTAMP: Final = Type(TypeKind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE: Final = Type(TypeKind.TYPE, "type")
UINT: Final = Type(TypeKind.UINT, "uint")

CIDR: Final = Type(TypeKind.OPAQUE, "net.CIDR")
FORMAT: Final = Type(TypeKind.STRUCT, "kubernetes.NamedFormat")
IP: Final = Type(TypeKind.OPAQUE, "net.IP")
QUANTITY: Final = Type(TypeKind.STRUCT, "kubernetes.Quantity")
SEMVER: Final = Type(TypeKind.STRUCT, "kubernetes.Semver")
URL: Final = Type(TypeKind.STRUCT, "kubernetes.URL")

OPTIONAL_NAME: Final = "optional_type"

_SHORT_NAMES: Final = {
    TypeKind.ANY: "any", TypeKind.DURATION: "duration", TypeKind.ERROR: "!error!", TypeKind.NULL: "null",
    TypeKind.TIMESTAMP: "timestamp",
}  # fmt: skip


def list_of(element: Type) -> Type:
    """Return `list(element)`."""
    return Type(TypeKind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return `map(key, value)`."""
    return Type(TypeKind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    """Return `optional_type(value)`."""
    return Type(TypeKind.OPAQUE, OPTIONAL_NAME, (value,))


def type_of(instance: Type) -> Type:
    """Return `type(instance)`, the type of a type."""
    return Type(TypeKind.TYPE, "type", (instance,))


def type_param(name: str) -> Type:
    """Return a type variable."""
    return Type(TypeKind.TYPE_PARAM, name)


def is_dyn(type_: Type) -> bool:
    """Return whether the type is known only at run time."""
    return type_.kind is TypeKind.DYN or type_.kind is TypeKind.ANY


def is_dyn_or_error(type_: Type) -> bool:
    """Return whether the checker accepts the type for any other."""
    return is_dyn(type_) or type_.kind is TypeKind.ERROR


def unwrap_optional(type_: Type) -> tuple[Type, bool]:
    """Return the value type of an optional, and whether the type is an optional."""
    if type_.kind is TypeKind.OPAQUE and type_.name == OPTIONAL_NAME:
        return type_.params[0], True
    return type_, False


def shown(type_: Type) -> str:
    """Format the type as in the checker's messages."""
    if type_.kind in _SHORT_NAMES:
        return _SHORT_NAMES[type_.kind]
    return f"{type_.name}({', '.join(map(shown, type_.params))})" if type_.params else type_.name
