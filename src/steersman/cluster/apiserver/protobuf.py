# SPDX-License-Identifier: Apache-2.0
"""Decoder of Kubernetes' protobuf encoding, in which kubectl, kube-scheduler and
kube-controller-manager send bodies.

`protobuf_encoding` is the reverse; both use `protobuf_table`. Installations built without the table
reject such bodies with an explanation.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman.api import timestamps
from steersman.cluster.apiserver.protobuf_table import (
    EXTENSIONS,
    INT_OR_STRING,
    MAGIC,
    META,
    QUANTITY,
    RAW_JSON,
    SCHEMA,
    STRING_LISTS,
    FieldType,
    check_table,
    field_types,
    message_of,
)
from steersman.cluster.apiserver.statuses import bad_request
from steersman.cluster.store import Document

MAX_DEPTH: Final = 100
NOT_PROTOBUF: Final = "the body of the request is not an object in Kubernetes' protobuf encoding"
ENDS_IN_A_NUMBER: Final = "it ends in the middle of a number"
TOO_DEEP: Final = "it is nested too deeply"
OUT_OF_RANGE: Final = "a number in it is out of range"
OTHER_TYPE: Final = "a field has a value of another type than its kind says"


class _Malformed(Exception):
    """Malformed message; the text is an explanation for clients."""


_SENTENCES: Final[Mapping[type[Exception], str]] = {
    UnicodeDecodeError: "a text in it is not UTF-8",
    struct.error: ENDS_IN_A_NUMBER,
    RecursionError: TOO_DEEP,
    ValueError: OUT_OF_RANGE,
    OverflowError: OUT_OF_RANGE,
    OSError: OUT_OF_RANGE,  # time out of the platform's range
    AttributeError: OTHER_TYPE,
    TypeError: OTHER_TYPE,
}
"""Exceptions raised for malformed messages → explanation for clients; the first match wins."""
_READING_ERRORS: Final = tuple(_SENTENCES)


def decoded_object(body: bytes) -> Document:
    """Decode a body. Raises 400."""
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
    """Decode the object in the envelope that names its version and kind."""
    parts = {number: value for number, _, value in _fields(body)}
    names = {number: value.decode() for number, _, value in _fields(parts.get(1, b""))}
    api_version, kind = names.get(1, ""), names.get(2, "")
    raw: bytes = parts.get(2, b"")
    if parts.get(4, b"") == b"application/json":
        plain: Document = msgspec.json.decode(raw)
        return plain
    check_table()
    message = message_of(api_version, kind)
    if message is None:
        raise _Malformed(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"apiVersion": api_version, "kind": kind, **_message(raw, message, 0)}


# -- messages --------------------------------------------------------------------------------------


def _message(data: bytes, message: str, depth: int) -> Document:
    if depth > MAX_DEPTH:
        raise _Malformed(TOO_DEEP)
    known, document = field_types(message), dict[str, Any]()
    for number, wire, value in _fields(data):
        field = known.get(number)
        if field is not None:
            _add(document, field, wire, value, depth + 1)
    return document


def _add(document: Document, field: FieldType, wire: int, value: Any, depth: int) -> None:
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
    """Decode one item, or several packed numbers."""
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


# -- messages with a form of their own in JSON -----------------------------------------------------


def _time(data: bytes, _: int) -> str | None:
    seconds, _nanos = _moment(data)
    return None if not data else timestamps.render(timestamps.check_range(seconds))


def _micro_time(data: bytes, _: int) -> str | None:
    seconds, nanos = _moment(data)
    return None if not data else timestamps.render_micro(timestamps.check_range(seconds) + nanos // 1000 / 1e6)


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
    """Decode a schema or a list of schemas."""
    schemas = [_message(value, SCHEMA, depth) for number, _, value in _fields(data) if number == 2]
    one = next((value for number, _, value in _fields(data) if number == 1), None)
    return schemas if one is None else _message(one, SCHEMA, depth)


def _schema_or_bool(data: bytes, depth: int) -> Any:
    parts = {number: value for number, _, value in _fields(data)}
    return _message(parts[2], SCHEMA, depth) if 2 in parts else bool(parts.get(1, 0))


def _schema_or_strings(data: bytes, depth: int) -> Any:
    one = next((value for number, _, value in _fields(data) if number == 1), None)
    if one is not None:
        return _message(one, SCHEMA, depth)
    return [value.decode() for number, _, value in _fields(data) if number == 2]


_SPECIAL: Final[Mapping[str, Callable[[bytes, int], Any]]] = {
    f"{META}.Time": _time,
    f"{META}.MicroTime": _micro_time,
    QUANTITY: _quantity,
    INT_OR_STRING: _int_or_string,
    **dict.fromkeys(RAW_JSON, _raw_json),
    **dict.fromkeys(STRING_LISTS, _string_list),
    f"{EXTENSIONS}.JSONSchemaPropsOrArray": _schema_or_list,
    f"{EXTENSIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_or_strings,
}


# -- the wire format -------------------------------------------------------------------------------


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yield number, wire type and value of each field; a value is an int, a float or bytes."""
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
