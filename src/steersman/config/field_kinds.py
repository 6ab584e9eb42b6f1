# SPDX-License-Identifier: Apache-2.0
"""The kinds of configuration values: strict decoding and printing of each.

`schema` combines them in tables, one per v1 type. Decoding is kube-scheduler's: null means "not
given", an integer must be written as an integer, an unknown field is reported with its path.
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

from steersman.api import Duration, DurationError
from steersman.config.configuration import API_VERSION
from steersman.config.document_tree import JsonObject, JsonValue, Number, PlainValue
from steersman.config.errors import DecodeAbort, DecodeKind, DecodeLog, DocumentPlace, type_problem


class _Absent:
    """The value of a field that is missing or null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


class _UnwrittenList(tuple[Never, ...]):
    """An empty list for a missing value: equals `()`, but is printed as null."""

    __slots__ = ()


UNWRITTEN_LIST: Final = _UnwrittenList()


class FieldKind(Protocol):
    """One kind of value."""

    def decode(self, value: JsonValue, place: DocumentPlace, log: DecodeLog) -> object:
        """Return the typed value, or `ABSENT`; problems go to the log."""

    def zero(self) -> object:
        """Return the value that replaces a null in a list."""

    def encode(self, value: object) -> PlainValue:
        """Return the value as printed."""


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
"""At most 20 digits, as many as 64 bits need: JSON has no leading zeros."""


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
    """A Go duration. Errors end decoding at once as upstream, where the type decodes itself."""

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
    """Bytes in base64 text; a list of byte values is accepted, too."""

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
    """Any value, unchanged."""

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
    UNLESS_DEFAULT = "unless default"


class Field(msgspec.Struct, frozen=True):
    """One field of an object; its name in documents is the key in `ObjectOf.fields`."""

    attribute: str
    kind: FieldKind
    printed: Printed = Printed.UNLESS_EMPTY
    embedded: str = ""
    """Name of the inlined Go struct that has the field, part of its name in type errors."""
    zero_is_absent: bool = False
    """Whether an explicit zero value means the default, like a missing value."""
    absent: object = ABSENT
    """Value when not given, if that is not the default of the typed configuration."""


class ObjectOf(msgspec.Struct, frozen=True):
    """A mapping with known fields, converted to an object by `make`."""

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
        return self.make_with_defaults(given)

    def _member(
        self, key: str, item: JsonValue, place: DocumentPlace, log: DecodeLog, given: dict[str, object]
    ) -> None:
        member = self.fields[key]
        decoded = member.kind.decode(item, place.member(key, member.embedded), log)
        if decoded is not ABSENT and not (member.zero_is_absent and not decoded):
            given[member.attribute] = decoded

    def make_with_defaults(self, given: Mapping[str, object]) -> object:
        """Return the object with these attributes and the defaults of all others."""
        fixed = {member.attribute: member.absent for member in self.fields.values() if member.absent is not ABSENT}
        return self.make(**{**fixed, **given})

    def zero(self) -> object:
        return self.make_with_defaults({})

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
    if when is Printed.UNLESS_DEFAULT:
        return content != type(content)()
    return when is Printed.ALWAYS or content is not None


_EMPTY: Final[tuple[object, ...]] = (False, 0, "", b"", (), {})
"""Empty values in Go's sense, which objects never are."""


def _reject(value: JsonValue, place: DocumentPlace, log: DecodeLog, expected: str) -> _Absent:
    if value is not None:
        log.mismatch(place, expected, value)
    return ABSENT


def _shortest_float32(value: float) -> float:
    """Return the float with the shortest decimal for `value` in 32 bits, or `inf` if too large."""
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


# -- simple kinds and shorthands for fields ----------------------------------------------------------------------------

TEXT: Final = TextField()
BOOL: Final = Boolean()
INT32: Final = Integer(-(2**31), 2**31 - 1)
INT64: Final = Integer(-(2**63), 2**63 - 1)
DURATION: Final = DurationText()
TEXTS: Final = ListOf(TEXT)


def header(kind: str) -> dict[str, str]:
    """Return the first fields of a printed object of this kind."""
    return {"apiVersion": API_VERSION, "kind": kind}


def always(attribute: str, kind: FieldKind) -> Field:
    """Return a field that is printed even when empty."""
    return Field(attribute, kind, printed=Printed.ALWAYS)


def zero_is_default(attribute: str, kind: FieldKind) -> Field:
    """Return a field whose explicit zero value means the default."""
    return Field(attribute, kind, printed=Printed.ALWAYS, zero_is_absent=True)
