# SPDX-License-Identifier: Apache-2.0
"""Objects in Kubernetes' protobuf encoding → documents: kubectl, kube-scheduler and kube-controller-manager send bodies in it.

Answers are JSON, which those clients accept as well. `protobuf_fields.json` says which number stands for which field:
by message, number → `name type`. A type is one letter for a scalar, or the name of a message; `*` in front is a list,
`%` a map by strings, and `?` behind says that a zero value means the field is absent. A field without a name has its
own fields in its place. The file is made when the package is built (`scripts/protobuf_fields.py`) and read when the first such
body comes; an installation that was built without Go has none, and refuses such bodies with a sentence.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import timestamps
from steersman.apiserver.statuses import RequestRefused, bad_request
from steersman.embedded import Document

MAGIC: Final = b"k8s\x00"
DEEPEST: Final = 100
NOT_PROTOBUF: Final = "the body of the request is not an object in Kubernetes' protobuf encoding"
ENDS_IN_A_NUMBER: Final = "it ends in the middle of a number"
TOO_DEEP: Final = "it is nested too deeply"
OUT_OF_RANGE: Final = "a number in it is out of range"
OTHER_TYPE: Final = "a field has a value of another type than its kind says"
TABLE: Final = "protobuf_fields.json"
NO_TABLE: Final = (
    "this installation of Steersman was built without Go and reads no requests in protobuf; send JSON "
    "(--kube-api-content-type=application/json), or install a wheel that was built with Go"
)
_META: Final = "k8s.io.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS: Final = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"


class _Malformed(Exception):
    """Bytes that are no message; the text says why, in a sentence for clients."""


_SENTENCES: Final[Mapping[type[Exception], str]] = {
    UnicodeDecodeError: "a text in it is not UTF-8",
    struct.error: ENDS_IN_A_NUMBER,
    RecursionError: TOO_DEEP,
    ValueError: OUT_OF_RANGE,
    OverflowError: OUT_OF_RANGE,
    OSError: OUT_OF_RANGE,  # a time beyond what the platform knows
    AttributeError: OTHER_TYPE,
    TypeError: OTHER_TYPE,
}
"""Exceptions that reading a broken message raises, and the sentence for clients; the first that fits is taken."""
_READING_ERRORS: Final = tuple(_SENTENCES)


class _FieldType(NamedTuple):
    name: str
    #: A letter for a scalar, or the name of a message.
    type: str
    is_list: bool
    is_map: bool
    omits_zero: bool


class _Tables(NamedTuple):
    packages: Mapping[str, str]
    messages: Mapping[str, Mapping[str, str]]


def decoded_object(body: bytes) -> Document:
    """The document of a body; raises 400."""
    if not body.startswith(MAGIC):
        raise bad_request(NOT_PROTOBUF)
    try:
        return _unwrapped(body[len(MAGIC) :])
    except _Malformed as error:
        raise bad_request(f"{NOT_PROTOBUF}: {error}") from error
    except msgspec.DecodeError as error:
        raise bad_request(f"{NOT_PROTOBUF}: the JSON in it cannot be read: {error}") from error
    except _READING_ERRORS as error:
        why = next(sentence for kind, sentence in _SENTENCES.items() if isinstance(error, kind))
        raise bad_request(f"{NOT_PROTOBUF}: {why}") from error


def _unwrapped(body: bytes) -> Document:
    """The object inside of the envelope that names its version and kind."""
    parts = {number: value for number, _, value in _fields(body)}
    names = {number: value.decode() for number, _, value in _fields(parts.get(1, b""))}
    api_version, kind = names.get(1, ""), names.get(2, "")
    raw: bytes = parts.get(2, b"")
    if parts.get(4, b"") == b"application/json":
        plain: Document = msgspec.json.decode(raw)
        return plain
    package = _tables().packages.get(api_version, "")
    message = f"{package}.{kind}"
    if message not in _tables().messages:
        message = f"{_META}.{kind}"  # DeleteOptions and the like belong to every group
    if message not in _tables().messages:
        raise _Malformed(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"apiVersion": api_version, "kind": kind, **_message(raw, message, 0)}


@cache
def _tables() -> _Tables:
    """Raises 415 in an installation that was built without the table."""
    try:
        text = files("steersman.apiserver").joinpath(TABLE).read_bytes()
    except FileNotFoundError:
        raise RequestRefused(415, "UnsupportedMediaType", NO_TABLE) from None
    return _Tables(**msgspec.json.decode(text))


@cache
def _field_types(message: str) -> Mapping[int, _FieldType]:
    return {int(number): _field_type(text) for number, text in _tables().messages[message].items()}


def _field_type(text: str) -> _FieldType:
    name, _, kind = text.partition(" ")
    bare = kind.lstrip("*%")
    return _FieldType(name, bare.rstrip("?"), kind.startswith("*"), kind.startswith("%"), kind.endswith("?"))


# -- messages ----------------------------------------------------------------------------------------------------------


def _message(data: bytes, message: str, depth: int) -> Document:
    if depth > DEEPEST:
        raise _Malformed(TOO_DEEP)
    known, document = _field_types(message), dict[str, Any]()
    for number, wire, value in _fields(data):
        field = known.get(number)
        if field is not None:
            _add(document, field, wire, value, depth + 1)
    return document


def _add(document: Document, field: _FieldType, wire: int, value: Any, depth: int) -> None:
    if field.is_map:
        key, entry = _map_entry(value, field.type, depth)
        document.setdefault(field.name, {})[key] = entry
    elif field.is_list:
        document.setdefault(field.name, []).extend(_items(value, wire, field.type, depth))
    else:
        found = _value(value, field.type, depth)
        if not field.name:
            document.update(found)
        elif not (field.omits_zero and found in ("", 0, False, None, {})):
            document[field.name] = found


def _items(value: Any, wire: int, kind: str, depth: int) -> list[Any]:
    """One item; several numbers if they are packed."""
    if kind in ("i", "b") and wire == 2:
        numbers, position = [], 0
        while position < len(value):
            number, position = _varint(value, position)
            numbers.append(_value(number, kind, depth))
        return numbers
    return [_value(value, kind, depth)]


def _map_entry(data: bytes, kind: str, depth: int) -> tuple[str, Any]:
    key, entry = "", _value(0 if kind in ("i", "b") else b"", kind, depth)
    for number, _, value in _fields(data):
        if number == 1:
            key = value.decode()
        elif number == 2:
            entry = _value(value, kind, depth)
    return key, entry


def _value(value: Any, kind: str, depth: int) -> Any:
    if kind == "s":
        return value.decode()
    if kind == "i":
        return value - (1 << 64) if value >= 1 << 63 else value
    if kind == "b":
        return bool(value)
    if kind == "y":
        return base64.b64encode(value).decode()
    if kind == "d":
        return value
    special = _SPECIAL.get(kind)
    return _message(value, kind, depth) if special is None else special(value, depth)


# -- messages with a form of their own in JSON -------------------------------------------------------------------------


def _time(data: bytes, _: int) -> str | None:
    seconds, _nanos = _moment(data)
    return None if not data else timestamps.render(seconds)


def _micro_time(data: bytes, _: int) -> str | None:
    seconds, nanos = _moment(data)
    return None if not data else timestamps.render_micro(seconds + nanos // 1000 / 1e6)


def _moment(data: bytes) -> tuple[int, int]:
    parts = {number: _value(value, "i", 0) for number, _, value in _fields(data)}
    return parts.get(1, 0), parts.get(2, 0)


def _quantity(data: bytes, _: int) -> str:
    return next((value.decode() for number, _, value in _fields(data) if number == 1), "0")


def _int_or_string(data: bytes, _: int) -> int | str:
    parts = {number: value for number, _, value in _fields(data)}
    if parts.get(1, 0) == 1:
        return bytes(parts.get(3, b"")).decode()
    number: int = _value(parts.get(2, 0), "i", 0)
    return number


def _raw_json(data: bytes, _: int) -> Any:
    raw = next((value for number, _, value in _fields(data) if number == 1), b"")
    return msgspec.json.decode(raw) if raw else None


def _string_list(data: bytes, _: int) -> list[str]:
    return [value.decode() for number, _, value in _fields(data) if number == 1]


def _schema_or_list(data: bytes, depth: int) -> Any:
    """A schema, or several of them."""
    schemas = [_message(value, _SCHEMA, depth) for number, _, value in _fields(data) if number == 2]
    one = next((value for number, _, value in _fields(data) if number == 1), None)
    return schemas if one is None else _message(one, _SCHEMA, depth)


def _schema_or_bool(data: bytes, depth: int) -> Any:
    parts = {number: value for number, _, value in _fields(data)}
    return _message(parts[2], _SCHEMA, depth) if 2 in parts else bool(parts.get(1, 0))


def _schema_or_strings(data: bytes, depth: int) -> Any:
    one = next((value for number, _, value in _fields(data) if number == 1), None)
    if one is not None:
        return _message(one, _SCHEMA, depth)
    return [value.decode() for number, _, value in _fields(data) if number == 2]


_SCHEMA: Final = f"{_EXTENSIONS}.JSONSchemaProps"
_SPECIAL: Final[Mapping[str, Callable[[bytes, int], Any]]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.FieldsV1": _raw_json,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": _quantity,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _raw_json,
    "k8s.io.api.authentication.v1.ExtraValue": _string_list,
    "k8s.io.api.authorization.v1.ExtraValue": _string_list,
    "k8s.io.api.certificates.v1.ExtraValue": _string_list,
    f"{_EXTENSIONS}.JSON": _raw_json,
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": _schema_or_list,
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_or_strings,
}


# -- the wire format ---------------------------------------------------------------------------------------------------


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and value of each field: an int, eight bytes as a float, or bytes."""
    position, end = 0, len(data)
    while position < end:
        key, position = _varint(data, position)
        wire = key & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield key >> 3, wire, value
        elif wire == 2:
            length, position = _varint(data, position)
            if length > end - position:
                raise _Malformed("a field is longer than the message")
            yield key >> 3, wire, data[position : position + length]
            position += length
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            yield key >> 3, wire, struct.unpack_from("<d" if wire == 1 else "<f", data, position)[0]
            position += size
        else:
            raise _Malformed(f"wire type {wire} is not used by Kubernetes")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data):
            raise _Malformed(ENDS_IN_A_NUMBER)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise _Malformed("a number is too long")
