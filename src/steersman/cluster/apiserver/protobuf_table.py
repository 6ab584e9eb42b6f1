# SPDX-License-Identifier: Apache-2.0
"""Fields of Kubernetes' protobuf messages, for `protobuf` and `protobuf_encoding`.

`protobuf_fields.json` maps field numbers to `name type`, by message. A type is a letter for a
scalar (`s` string, `i` integer, `b` boolean, `y` bytes, `d` double) or the name of a message. The
prefix `*` marks a list, `%` a map by strings. The suffix `&` marks a pointer, `?` a value that JSON
omits when zero. A field without a name is inlined. `scripts/protobuf_fields.py` writes the file
when the package is built; an installation built without Go does not have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

import msgspec

from steersman.cluster.apiserver.statuses import RequestRefused

MAGIC: Final = b"k8s\x00"
TABLE: Final = "protobuf_fields.json"
FORMAT: Final = 2
NO_TABLE: Final = (
    "this installation of Steersman was built without Go and reads no requests in protobuf; send JSON "
    "(--kube-api-content-type=application/json), or install a wheel that was built with Go"
)
META: Final = "k8s.io.apimachinery.pkg.apis.meta.v1"
EXTENSIONS: Final = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
SCHEMA: Final = f"{EXTENSIONS}.JSONSchemaProps"
QUANTITY: Final = "k8s.io.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "k8s.io.apimachinery.pkg.util.intstr.IntOrString"
RAW_JSON: Final = (f"{META}.FieldsV1", "k8s.io.apimachinery.pkg.runtime.RawExtension", f"{EXTENSIONS}.JSON")
"""Messages that hold JSON text."""
STRING_LISTS: Final = (
    f"{META}.Verbs",
    "k8s.io.api.authentication.v1.ExtraValue",
    "k8s.io.api.authorization.v1.ExtraValue",
    "k8s.io.api.certificates.v1.ExtraValue",
)
"""Messages that are lists of strings in JSON."""


class FieldType(NamedTuple):
    """A field of a message; `type` is a letter for a scalar, or the name of a message."""

    number: int
    name: str
    type: str
    is_list: bool
    is_map: bool
    omits_zero: bool
    is_pointer: bool


class _Table(msgspec.Struct, frozen=True):
    packages: Mapping[str, str]
    messages: Mapping[str, Mapping[str, str]]
    format: int = 1


@cache
def _table() -> _Table | None:
    """Return the table; None in an installation built without it."""
    try:
        text = files("steersman.cluster.apiserver").joinpath(TABLE).read_bytes()
    except FileNotFoundError:
        return None
    table = msgspec.json.decode(text, type=_Table)
    return table if table.format == FORMAT else None


def has_table() -> bool:
    """Return whether the installation has the table."""
    return _table() is not None


def check_table() -> None:
    """Raise 415 if the installation has no table."""
    if not has_table():
        raise RequestRefused(415, "UnsupportedMediaType", NO_TABLE)


@cache
def message_of(api_version: str, kind: str) -> str | None:
    """Return the message name of a kind; None if the table does not have it."""
    table = _table()
    if table is None:
        return None
    # DeleteOptions, Status and the like belong to every group.
    names = (f"{table.packages.get(api_version, '')}.{kind}", f"{META}.{kind}")
    return next((name for name in names if name in table.messages), None)


@cache
def field_types(message: str) -> Mapping[int, FieldType]:
    """Return the fields of a message by number, in ascending order."""
    table = _table()
    assert table is not None, "the names of messages come from the table"
    found = ((int(number), text) for number, text in table.messages[message].items())
    return {number: _field_type(number, text) for number, text in sorted(found)}


def _field_type(number: int, text: str) -> FieldType:
    name, _, kind = text.partition(" ")
    bare = kind.lstrip("*%").rstrip("?&")
    is_list, is_map = kind.startswith("*"), kind.startswith("%")
    return FieldType(number, name, bare, is_list, is_map, kind.endswith("?"), kind.endswith("&"))
