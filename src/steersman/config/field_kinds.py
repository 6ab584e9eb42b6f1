# SPDX-License-Identifier: Apache-2.0
"""The kinds of values a configuration field may have: how each is decoded strictly, and how it is printed.

`schema` composes them to tables, one per v1 type. Decoding follows kube-scheduler's JSON decoder: null means
"not given", an integer must be written as an integer, a field that is not in the table is reported with its path.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, Never, Protocol, cast

import msgspec

from steersman.config.configuration import API_VERSION
from steersman.config.document_tree import JsonObject, JsonValue, Number, PlainValue
from steersman.config.durations import Duration, DurationError
from steersman.config.errors import DecodeAbort, DecodeKind, DecodeLog, DocumentPlace, type_problem


class _Absent:
    """The value of a field that is not given, or null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


class _UnwrittenList(tuple[Never, ...]):
    """An empty list that nobody wrote: equal to `()` for every reader, but printed as null."""

    __slots__ = ()


UNWRITTEN_LIST: Final = _UnwrittenList()


class FieldKind(Protocol):
    """One kind of value."""

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        """The value for the typed configuration, or `ABSENT`; problems go to the log."""

    def zero(self) -> object:
        """The value that stands for a null in a list."""

    def encode(self, value: object) -> PlainValue:
        """The value as it is printed."""


class TextField(msgspec.Struct, frozen=True):
    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        if isinstance(value, str):
            return value
        return _reject(value, place, log, "a string in quotes" if isinstance(value, bool | Number) else "a string")

    def zero(self) -> object:
        return ""

    def encode(self, value: object) -> PlainValue:
        return str(value)


class Boolean(msgspec.Struct, frozen=True):
    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        if isinstance(value, bool):
            return value
        return _reject(value, place, log, "true or false")

    def zero(self) -> object:
        return False

    def encode(self, value: object) -> PlainValue:
        return bool(value)


_INTEGER: Final = re.compile(r"-?[0-9]{1,20}")
"""Of no more digits than 64 bits have: JSON has no leading zeros."""


class Integer(msgspec.Struct, frozen=True):
    smallest: int
    largest: int

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        if isinstance(value, Number) and _INTEGER.fullmatch(value.literal):
            number = int(value.literal)
            if self.smallest <= number <= self.largest:
                return number
        return _reject(value, place, log, f"an integer from {self.smallest} to {self.largest}")

    def zero(self) -> object:
        return 0

    def encode(self, value: object) -> PlainValue:
        assert isinstance(value, int)
        return value


class Float32(msgspec.Struct, frozen=True):
    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        if isinstance(value, Number):
            number = _shortest_float32(float(value.literal))
            if not math.isinf(number):
                return number
        return _reject(value, place, log, "a number")

    def zero(self) -> object:
        return 0.0

    def encode(self, value: object) -> PlainValue:
        assert isinstance(value, float | int)
        return int(value) if float(value).is_integer() else float(value)


class DurationText(msgspec.Struct, frozen=True):
    """A Go duration. Errors end decoding at once, as they do upstream, where the type decodes itself."""

    nullable: bool = False

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        if value is None and self.nullable:
            return ABSENT
        if value is not None and not isinstance(value, str):
            raise type_problem(place, 'a duration in text such as "10s"', value)
        try:
            return Duration.parse(value or "")
        except DurationError as error:
            raise DecodeAbort(DecodeKind.VALUE, f"{place.path}: {error}", place.field) from None

    def zero(self) -> object:
        return Duration(0)

    def encode(self, value: object) -> PlainValue:
        return str(value)


_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BYTE: Final = Integer(0, 255)


class Base64(msgspec.Struct, frozen=True):
    """Bytes in base64 text; a list of byte values is accepted too."""

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        if isinstance(value, tuple):
            items = [_BYTE.decode(item, place.item(index), log) for index, item in enumerate(value)]
            return bytes(item if isinstance(item, int) else 0 for item in items)
        if not isinstance(value, str):
            return _reject(value, place, log, "base64 text")
        text = value.replace("\r", "").replace("\n", "")
        if not _BASE64.fullmatch(text):
            log.bad_value(place, "illegal base64 data")
            return ABSENT
        return base64.b64decode(text)

    def zero(self) -> object:
        return b""

    def encode(self, value: object) -> PlainValue:
        assert isinstance(value, bytes)
        return base64.b64encode(value).decode("ascii")


class Raw(msgspec.Struct, frozen=True):
    """Any value, kept as it is."""

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        return ABSENT if value is None else value

    def zero(self) -> object:
        return None

    def encode(self, value: object) -> PlainValue:
        return cast(PlainValue, value)


class ListOf(msgspec.Struct, frozen=True):
    item: FieldKind

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        if not isinstance(value, tuple):
            return _reject(value, place, log, "a list")
        return tuple(self._item(item, place.item(index), log) for index, item in enumerate(value))

    def _item(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        decoded = self.item.decode(value, place, log)
        return self.item.zero() if decoded is ABSENT else decoded

    def zero(self) -> object:
        return ()

    def encode(self, value: object) -> PlainValue:
        assert isinstance(value, tuple)
        return None if value is UNWRITTEN_LIST else [self.item.encode(item) for item in value]


class MapOf(msgspec.Struct, frozen=True):
    """String keys to values of one kind."""

    item: FieldKind

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        if not isinstance(value, JsonObject):
            return _reject(value, place, log, "a mapping")
        decoded: dict[str, object] = {}
        for key, item in value.pairs:
            if key in decoded:
                log.duplicate(place.entry(key))
            entry = self.item.decode(item, place.entry(key), log)
            decoded[key] = self.item.zero() if entry is ABSENT else entry
        return decoded

    def zero(self) -> object:
        return {}

    def encode(self, value: object) -> PlainValue:
        assert isinstance(value, dict)
        return {key: self.item.encode(item) for key, item in value.items()}


class Printed(Enum):
    """When a field appears in a printed document."""

    ALWAYS = "always"
    UNLESS_EMPTY = "unless empty"
    UNLESS_NONE = "unless none"


class Field(msgspec.Struct, frozen=True):
    """One field of an object: its name in the document is the key in `ObjectOf.fields`."""

    attribute: str
    kind: FieldKind
    printed: Printed = Printed.UNLESS_EMPTY
    embedded: str = ""
    """Name of the Go struct whose fields are written inline, part of the field's name in type errors."""
    zero_is_absent: bool = False
    """An explicit zero value means the same as no value: the default."""
    absent: object = ABSENT
    """Value when not given, if that is not the default of the typed configuration."""


class ObjectOf(msgspec.Struct, frozen=True):
    """A mapping with known fields, made into an object by `make`."""

    make: Callable[..., object]
    fields: Mapping[str, Field]
    header: Mapping[str, str] = {}
    """`apiVersion` and `kind` that are printed with the object, for types that have them."""

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        if not isinstance(value, JsonObject):
            return _reject(value, place, log, "a mapping")
        given: dict[str, object] = {}
        seen: set[str] = set()
        for key, item in value.pairs:
            if key not in self.fields and key not in self.header:
                log.unknown(place.member(key), key, self.fields)
                continue
            if key in seen:
                log.duplicate(place.member(key))
            seen.add(key)
            if key in self.fields:
                self._member(key, item, place, log, given)
        return self.of(given)

    def _member(
        self, key: str, item: JsonValue, place: DocumentPlace, log: DecodeLog, given: dict[str, object]
    ) -> None:
        member = self.fields[key]
        decoded = member.kind.decode(item, place.member(key, member.embedded), log)
        if decoded is not ABSENT and not (member.zero_is_absent and not decoded):
            given[member.attribute] = decoded

    def of(self, given: Mapping[str, object]) -> object:
        """The object in which only these attributes were given."""
        fixed = {member.attribute: member.absent for member in self.fields.values() if member.absent is not ABSENT}
        return self.make(**{**fixed, **given})

    def zero(self) -> object:
        return self.of({})

    def encode(self, value: object) -> PlainValue:
        printed: dict[str, PlainValue] = dict(self.header)
        for key, member in self.fields.items():
            content = getattr(value, member.attribute)
            if _is_printed(member.printed, content):
                printed[key] = None if content is None else member.kind.encode(content)
        return printed


def _is_printed(when: Printed, content: object) -> bool:
    if when is Printed.UNLESS_EMPTY:
        return content is not None and content not in _EMPTY
    return when is Printed.ALWAYS or content is not None


_EMPTY: Final[tuple[object, ...]] = (False, 0, "", b"", (), {})
"""Empty in Go's sense: an object never is."""


def _reject(value: JsonValue, place: DocumentPlace, log: DecodeLog, expected: str) -> _Absent:
    if value is not None:
        log.mismatch(place, expected, value)
    return ABSENT


def _shortest_float32(value: float) -> float:
    """The float that prints as the shortest decimal which still is `value` rounded to 32 bits; `inf` when too large."""
    rounded = _as_float32(value)
    if math.isinf(rounded) or rounded == 0:
        return rounded
    for digits in range(1, 10):
        candidate = float(f"{rounded:.{digits}g}")
        if _as_float32(candidate) == rounded:
            return candidate
    return rounded


def _as_float32(value: float) -> float:
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(rounded)


# -- the simple kinds, and shorthands for fields of the tables ---------------------------------------------------------

TEXT: Final = TextField()
BOOL: Final = Boolean()
INT32: Final = Integer(-(2**31), 2**31 - 1)
INT64: Final = Integer(-(2**63), 2**63 - 1)
DURATION: Final = DurationText()
TEXTS: Final = ListOf(TEXT)


def header(kind: str) -> dict[str, str]:
    """The fields that a printed object of this kind begins with."""
    return {"apiVersion": API_VERSION, "kind": kind}


def always(attribute: str, kind: FieldKind) -> Field:
    """A field that is printed even when empty."""
    return Field(attribute, kind, printed=Printed.ALWAYS)


def zero_is_default(attribute: str, kind: FieldKind) -> Field:
    """A field whose explicit zero value stands for the default."""
    return Field(attribute, kind, printed=Printed.ALWAYS, zero_is_absent=True)
