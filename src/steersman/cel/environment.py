# SPDX-License-Identifier: Apache-2.0
"""Names that an expression may use: the `device` variable with its fields, types, and all functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from steersman.cel import types
from steersman.cel.declarations import Function, merged
from steersman.cel.library import (
    authorization,
    devices,
    formats,
    lists,
    network,
    optionals,
    quantities,
    regexes,
    semver,
    standard,
    strings,
    urls,
)
from steersman.cel.types import Type, TypeKind

DEVICE: Final = "device"

FUNCTIONS: Final[Mapping[str, Function]] = merged(
    (
        standard.FUNCTIONS,
        urls.FUNCTIONS,
        regexes.FUNCTIONS,
        lists.FUNCTIONS,
        authorization.FUNCTIONS,
        quantities.FUNCTIONS,
        optionals.FUNCTIONS,
        strings.FUNCTIONS,
        network.FUNCTIONS,
        formats.FUNCTIONS,
        semver.FUNCTIONS,
        devices.FUNCTIONS,
    )
)
"""By name; the order of libraries is the order in which overloads are tried."""

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
"""The types that their names stand for."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The names that the checker looks up: variables, types and functions."""

    #: Variables and types, as the types that their names have.
    idents: Mapping[str, Type]
    #: Fields of objects, by the name of the object's type.
    fields: Mapping[str, Mapping[str, Type]]
    #: Whether an expression whose type is only known at run time may be a selector.
    accepts_dyn: bool


def device_environment(*, list_attributes: bool) -> Environment:
    """The environment of selectors; attributes that may be lists are of type `dyn`, others of type `any`."""
    attribute = types.DYN if list_attributes else types.ANY
    device = {
        "driver": types.STRING,
        "allowMultipleAllocations": types.BOOL,
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, attribute)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
    }
    idents = {name: types.type_of(type_) for name, type_ in TYPES.items()}
    return Environment({**idents, DEVICE: _DEVICE_TYPE}, {_DEVICE_TYPE.name: device}, list_attributes)
