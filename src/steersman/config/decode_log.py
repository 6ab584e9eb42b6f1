"""What the strict decoder has found so far, and where it stands.

`kinds` writes here while it walks a document, `decoding` reads the result. A wrong type is remembered and decoding goes
on (the first one is reported, and wins over everything strict); a bad duration ends decoding at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

import msgspec

from steersman.api.go_text import quote
from steersman.config.json_tree import JsonObject, JsonValue, Number

_MOST_STRICT_ERRORS: Final = 100
_LONGEST_SHOWN: Final = 200


class DecodeKind(StrEnum):
    """Why a document cannot be decoded."""

    MISSING_KIND = "missingKind"
    MISSING_VERSION = "missingVersion"
    NOT_REGISTERED = "notRegistered"
    WRONG_KIND = "wrongKind"
    STRICT = "strict"
    TYPE = "type"
    VALUE = "value"
    MALFORMED = "malformed"


class Place(msgspec.Struct, frozen=True):
    """A position in the document: once with list indices for people, once without as kube-scheduler names fields."""

    path: str = ""
    field: str = ""

    def member(self, name: str, embedded: str = "") -> Place:
        """The field `name`; `embedded` is the Go struct that holds it, if fields of that struct are written inline."""
        spelled = f"{embedded}.{name}" if embedded else name
        return Place(_joined(self.path, name), _joined(self.field, spelled))

    def entry(self, key: str) -> Place:
        return Place(_joined(self.path, key), self.field)

    def item(self, index: int) -> Place:
        return Place(f"{self.path}[{index}]", self.field)


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


class DecodeAbort(Exception):
    """Ends decoding at once."""

    def __init__(self, kind: DecodeKind, text: str, field: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.field = field


class StrictProblem(msgspec.Struct, frozen=True):
    """An unknown or repeated field, in kube-scheduler's words, and what may have been meant."""

    text: str
    hint: str = ""


class DecodeLog(msgspec.Struct):
    """Collects problems of one object."""

    strict: list[StrictProblem] = []
    first_mismatch: DecodeAbort | None = None

    def unknown(self, place: Place, name: str, known: Iterable[str]) -> None:
        similar = get_close_matches(name, known, n=1)
        hint = f"did you mean {quote(similar[0])}?" if similar else ""
        self._strict(StrictProblem(f"unknown field {quote(place.path)}", hint))

    def duplicate(self, place: Place) -> None:
        self._strict(StrictProblem(f"duplicate field {quote(place.path)}"))

    def _strict(self, problem: StrictProblem) -> None:
        if problem not in self.strict and len(self.strict) < _MOST_STRICT_ERRORS:
            self.strict.append(problem)

    def mismatch(self, place: Place, expected: str, value: JsonValue) -> None:
        """`value` has the wrong type or is out of range."""
        self._remember(type_problem(place, expected, value))

    def bad_value(self, place: Place, text: str) -> None:
        """The value has the right type and a content that means nothing; decoding goes on."""
        self._remember(DecodeAbort(DecodeKind.VALUE, f"{place.path}: {text}", place.field))

    def _remember(self, problem: DecodeAbort) -> None:
        self.first_mismatch = self.first_mismatch or problem

    def raise_first(self) -> None:
        if self.first_mismatch is not None:
            raise self.first_mismatch


def type_problem(place: Place, expected: str, value: JsonValue) -> DecodeAbort:
    return DecodeAbort(DecodeKind.TYPE, f"{place.path}: must be {expected}, not {described(value)}", place.field)


def described(value: JsonValue) -> str:
    """The value in words: `the string "abc"`, `a list`."""
    if isinstance(value, JsonObject):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list"
    if isinstance(value, Number):
        return f"the number {_cut(value.literal)}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else f"the string {quote(_cut(value))}"


def _cut(text: str) -> str:
    """The field finds what is longer in the file."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
