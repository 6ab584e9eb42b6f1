# SPDX-License-Identifier: Apache-2.0
"""Names available to expressions: `device` with its fields, types, and all functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from steersman.api.cel import types
from steersman.api.cel.declarations import Function, declared_functions, overload
from steersman.api.cel.library import formats
from steersman.api.cel.types import Type, TypeKind

DEVICE: Final = "device"

FUNCTIONS: Final[Mapping[str, Function]] = {
    **declared_functions(),
    **{name: Function(name, (overload(name, "() -> Format", make),)) for name, make in formats.CONSTANTS.items()},
}
"""Functions by name. Overloads are resolved in the order of libraries."""

_DEVICE_TYPE: Final = Type(TypeKind.STRUCT, "kubernetes.DRADevice")
_A, _B = types.type_param("A"), types.type_param("B")
TYPES: Final = {
    "bool": types.BOOL,
    "bytes": types.BYTES,
    "double": types.DOUBLE,
    "duration": types.DURATION,
    "google.protobuf.Duration": types.DURATION,
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "int": types.INT,
    "list": types.list_of(_A),
    "map": types.map_of(_A, _B),
    "net.CIDR": types.CIDR,
    "net.IP": types.IP,
    "null_type": types.NULL,
    "optional_type": Type(TypeKind.OPAQUE, types.OPTIONAL_NAME),
    "string": types.STRING,
    "timestamp": types.TIMESTAMP,
    "type": types.TYPE,
    "uint": types.UINT,
}
"""Types by name."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Names that the checker resolves: variables and types."""

    #: Types of variables, and of type names.
    idents: Mapping[str, Type]
    #: Type name of an object → fields.
    fields: Mapping[str, Mapping[str, Type]]
    #: Whether a selector may have a type known only at run time.
    accepts_dyn: bool


def device_environment(*, list_attributes: bool) -> Environment:
    """Return the environment of selectors; attributes that may be lists are `dyn`, others `any`."""
    attribute = types.DYN if list_attributes else types.ANY
    device = {
        "driver": types.STRING,
        "allowMultipleAllocations": types.BOOL,
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, attribute)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
    }
    idents = {name: types.type_of(type_) for name, type_ in TYPES.items()}
    return Environment({**idents, DEVICE: _DEVICE_TYPE}, {_DEVICE_TYPE.name: device}, list_attributes)
