# SPDX-License-Identifier: Apache-2.0
"""Encoder of Kubernetes' protobuf encoding, byte for byte equal to kube-apiserver's.

The counterpart of `protobuf`, with the same table. The rules are those of Go's generated `Marshal`:
fields in ascending order of number, maps sorted by key, lists unpacked; plain values are written
even if zero; pointers, lists, maps and bytes only if set. An encoder is compiled once per message.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, Final, TypeAlias

import msgspec

from steersman.api import timestamps
from steersman.base import SteersmanError
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
    field_types,
    message_of,
)
from steersman.cluster.store import Document

Encode: TypeAlias = Callable[[Any], bytes]
"""Encodes a value: a message without its length, or a field with its tag."""

_NO_CONTENT_TYPE: Final = b"\x1a\x00\x22\x00"
_ZERO_TIME: Final = "0001-01-01T00:00:00"
_WIRE_TYPES: Final = {"i": 0, "b": 0, "d": 1}
_ZEROS: Final[Mapping[str, Any]] = {"s": "", "i": 0, "b": False, "d": 0.0}


class NotEncodable(SteersmanError):
    """The document does not fit the message of its kind."""


def encoded_object(document: Document) -> bytes:
    """Encode an object, list or Status in the envelope that names its version and kind."""
    api_version, kind = document.get("apiVersion", ""), document["kind"]
    message = message_of(api_version, kind)
    if message is None:
        raise NotEncodable(f"{api_version} {kind} has no protobuf encoding")
    try:
        raw = _encoder(message)(document)
    except (AttributeError, TypeError, ValueError) as error:
        raise NotEncodable(f"{api_version} {kind} does not fit its protobuf message: {error}") from error
    type_meta = b"\x0a" + _text(api_version) + b"\x12" + _text(kind)
    return b"".join((MAGIC, b"\x0a", _sized(type_meta), b"\x12", _varint(len(raw)), raw, _NO_CONTENT_TYPE))


def encoded_frame(what: str, document: Document) -> bytes:
    """Encode a watch event as a length-delimited frame."""
    event = b"\x0a" + _text(what) + b"\x12" + _sized(b"\x0a" + _sized(encoded_object(document)))
    return struct.pack(">I", len(event)) + event


# -- messages --------------------------------------------------------------------------------------


class _MessageEncoder:
    """Encoder of one message, compiled at first use because messages can be recursive."""

    def __init__(self, message: str) -> None:
        self._message = message

    @cached_property
    def _fields(self) -> list[tuple[str, Encode, bytes]]:
        """Name, encoder and encoding of an absent value of each field."""
        return [(field.name, encode, _absent(field, encode)) for field, encode in self._encoders()]

    def _encoders(self) -> list[tuple[FieldType, Encode]]:
        return [(field, _field_encoder(field)) for field in field_types(self._message).values()]

    def __call__(self, document: Document) -> bytes:
        parts = []
        for name, encode, absent in self._fields:
            value = document.get(name) if name else document
            if value is not None:
                parts.append(encode(value))
            elif absent:
                parts.append(absent)
        return b"".join(parts)


@cache
def _encoder(message: str) -> Encode:
    """Return the encoder of a message."""
    return _SPECIAL.get(message) or _MessageEncoder(message)


def _absent(field: FieldType, encode: Encode) -> bytes:
    """Return the encoding of an absent field: empty, or that of the zero value."""
    is_omitted = field.is_pointer or field.is_list or field.is_map or field.type == "y" or field.type in STRING_LISTS
    return b"" if is_omitted or not field.name else encode(_zero(field.type))


def _zero(kind: str) -> Any:
    return _ZEROS.get(kind, _SPECIAL_ZEROS.get(kind, {}))


def _field_encoder(field: FieldType) -> Encode:
    value, wire = _value_encoder(field.type), _WIRE_TYPES.get(field.type, 2)
    if field.is_map:
        entry_tag = _varint(2 << 3 | wire)
        return _map_encoder(_varint(field.number << 3 | 2), entry_tag, value)
    tag = _varint(field.number << 3 | wire)
    if field.is_list:
        zero = _zero(field.type)
        return lambda found: b"".join([tag + value(zero if one is None else one) for one in found])
    return lambda found: tag + value(found)


def _map_encoder(tag: bytes, entry_tag: bytes, encode: Encode) -> Encode:
    def entry(key: str, value: Any) -> bytes:
        return tag + _sized(b"\x0a" + _text(key) + (b"" if value is None else entry_tag + encode(value)))

    return lambda found: b"".join([entry(key, found[key]) for key in sorted(found)])


def _value_encoder(kind: str) -> Encode:
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar
    encode = _encoder(kind)
    return lambda value: _sized(encode(value))


# -- scalars ---------------------------------------------------------------------------------------


def _varint(number: int) -> bytes:
    if 0 <= number < 0x80:
        return _SMALL[number]
    number &= 0xFFFF_FFFF_FFFF_FFFF
    octets = bytearray()
    while number >= 0x80:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)


_SMALL: Final = tuple(bytes([number]) for number in range(0x80))


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _text(value: str) -> bytes:
    data = value.encode()
    return _varint(len(data)) + data


def _base64(value: str) -> bytes:
    return _sized(base64.b64decode(value))


_SCALARS: Final[Mapping[str, Encode]] = {
    "s": _text,
    "i": _varint,
    "b": lambda value: b"\x01" if value else b"\x00",
    "y": _base64,
    "d": lambda value: struct.pack("<d", value),
}


# -- messages with a form of their own in JSON -----------------------------------------------------


def _time(value: str) -> bytes:
    return _timestamp(int(timestamps.parse(value) // 1), 0) if value and not value.startswith(_ZERO_TIME) else b""


def _micro_time(value: str) -> bytes:
    if not value or value.startswith(_ZERO_TIME):
        return b""
    seconds, micros = divmod(round(timestamps.parse(value) * 1_000_000), 1_000_000)
    return _timestamp(seconds, micros * 1000)


def _timestamp(seconds: int, nanos: int) -> bytes:
    return b"\x08" + _varint(seconds) + b"\x10" + _varint(nanos)


def _quantity(value: str | float) -> bytes:
    return b"\x0a" + _text(str(value))


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00\x1a" + _text(value)
    return b"\x08\x00\x10" + _varint(value) + b"\x1a\x00"


def _raw_json(value: Any) -> bytes:
    return b"" if value is _NO_JSON else b"\x0a" + _sized(msgspec.json.encode(value))


def _string_list(value: list[str]) -> bytes:
    return b"".join([b"\x0a" + _text(one) for one in value])


def _schema_or_list(value: Any) -> bytes:
    encode = _encoder(SCHEMA)
    if isinstance(value, list):
        return b"".join([b"\x12" + _sized(encode(one)) for one in value])
    return b"\x0a" + _sized(encode(value))


def _schema_or_bool(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"\x08\x01" if value else b"\x08\x00"
    return b"\x08\x01\x12" + _sized(_encoder(SCHEMA)(value))


def _schema_or_strings(value: Any) -> bytes:
    if isinstance(value, list):
        return b"".join([b"\x12" + _text(one) for one in value])
    return b"\x0a" + _sized(_encoder(SCHEMA)(value))


_NO_JSON: Final = object()
_SPECIAL_ZEROS: Final[Mapping[str, Any]] = {
    f"{META}.Time": "",
    f"{META}.MicroTime": "",
    QUANTITY: "0",
    INT_OR_STRING: 0,
    **dict.fromkeys(RAW_JSON, _NO_JSON),
}
_SPECIAL: Final[Mapping[str, Encode]] = {
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
