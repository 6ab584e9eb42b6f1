# SPDX-License-Identifier: Apache-2.0
"""The errors of a configuration document: the stage that failed and every problem it found, in kube-scheduler's words.

`documents` raises what `field_kinds` has written into a `DecodeLog`; `validation` and `args_validation` make a `FieldError` per
field; `effective_configuration` has one text. All of them become a `ConfigError`: the command line prints its `lines`,
conformance compares its `errors`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from typing import Any, Final

import msgspec

from steersman.api.go_text import quote
from steersman.config.document_tree import JsonObject, JsonValue, Number
from steersman.config.durations import Duration
from steersman.errors import InputError

_MOST_STRICT_ERRORS: Final = 100
_LONGEST_SHOWN: Final = 200


class ConfigStage(StrEnum):
    DECODE = "decode"
    VALIDATE = "validate"
    BUILD = "build"


class ConfigProblem(msgspec.Struct, frozen=True):
    """One thing that is wrong. `text` is kube-scheduler's where users see it; parts are set where they are known."""

    text: str
    type: str = ""
    field: str = ""
    bad_value: object = None
    detail: str = ""
    hint: str = ""

    @classmethod
    def of(cls, error: FieldError) -> ConfigProblem:
        return cls(error.text, error.type, error.field, error.bad_value, error.detail)

    @property
    def line(self) -> str:
        text = " ".join(self.text.split())
        return f"{text}; {self.hint}" if self.hint else text


class ConfigError(InputError):
    """A configuration cannot be used. `str()` is one line; `lines` has one line per problem."""

    def __init__(
        self,
        stage: ConfigStage,
        problems: Iterable[ConfigProblem],
        *,
        kind: DecodeKind | None = None,
        file: str | None = None,
    ) -> None:
        self.stage = stage
        #: Class of a decode error, `None` for the other stages.
        self.kind = kind
        self.errors: Sequence[ConfigProblem] = tuple(problems)
        super().__init__(_summary(self.errors), file=file)

    def __reduce__(self) -> tuple[Any, ...]:
        """How copies are made: from stage and problems, because the message, which exceptions keep, is not enough."""
        return partial(ConfigError, kind=self.kind, file=self.file), (self.stage, self.errors), self.__dict__

    @property
    def lines(self) -> list[str]:
        """One line per problem, each with the file's name."""
        prefix = f"{self.file}: " if self.file is not None else ""
        return [prefix + problem.line for problem in self.errors]


def _summary(problems: Sequence[ConfigProblem]) -> str:
    if len(problems) == 1:
        return problems[0].line
    return f"{len(problems)} problems: " + " | ".join(problem.line for problem in problems)


# -- errors about single fields ----------------------------------------------------------------------------------------


class ErrorType(StrEnum):
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"


_WORDS = {
    ErrorType.REQUIRED: "Required value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
}


class FieldError(msgspec.Struct, frozen=True):
    type: ErrorType
    field: str
    bad_value: object = ""
    detail: str = ""

    @property
    def text(self) -> str:
        parts = [self.field, _WORDS[self.type]]
        if self.type not in (ErrorType.REQUIRED, ErrorType.FORBIDDEN):
            parts.append(shown(self.bad_value))
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)


def invalid(field: str, value: object, detail: str) -> FieldError:
    return FieldError(ErrorType.INVALID, field, value, detail)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(ErrorType.REQUIRED, field, "", detail)


def duplicate(field: str, value: object) -> FieldError:
    return FieldError(ErrorType.DUPLICATE, field, value)


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(ErrorType.FORBIDDEN, field, "", detail)


def not_supported(field: str, value: str, supported: Iterable[str]) -> FieldError:
    choices = ", ".join(quote(choice) for choice in supported)
    return FieldError(ErrorType.NOT_SUPPORTED, field, value, f"supported values: {choices}")


def unique(errors: Iterable[FieldError]) -> list[FieldError]:
    """The errors without those whose text occurred before."""
    return list({error.text: error for error in reversed(list(errors))}.values())[::-1]


def joined(errors: Iterable[FieldError]) -> str:
    """All errors in one text, in brackets if there are several."""
    texts = list(dict.fromkeys(error.text for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def child(path: str, name: str) -> str:
    """The path of a field below `path`, which may be empty."""
    return f"{path}.{name}" if path else name


def shown(value: object) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Duration):
        return quote(str(value))
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# -- problems of decoding ----------------------------------------------------------------------------------------------


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


class DocumentPlace(msgspec.Struct, frozen=True):
    """A position in the document: once with list indices for people, once without as kube-scheduler names fields."""

    path: str = ""
    field: str = ""

    def member(self, name: str, embedded: str = "") -> DocumentPlace:
        """The field `name`; `embedded` is the Go struct that holds it, if fields of that struct are written inline."""
        spelled = f"{embedded}.{name}" if embedded else name
        return DocumentPlace(_joined(self.path, name), _joined(self.field, spelled))

    def entry(self, key: str) -> DocumentPlace:
        return DocumentPlace(_joined(self.path, key), self.field)

    def item(self, index: int) -> DocumentPlace:
        return DocumentPlace(f"{self.path}[{index}]", self.field)


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


class DecodeAbort(Exception):
    """A problem that ends decoding, at once or, if it was logged, at the end."""

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
    """The problems of one object that decoding has found so far.

    A wrong type is remembered and decoding goes on (the first one is reported, and wins over everything strict); a bad
    duration ends decoding at once.
    """

    strict: list[StrictProblem] = []
    first_mismatch: DecodeAbort | None = None

    def unknown(self, place: DocumentPlace, name: str, known: Iterable[str]) -> None:
        similar = get_close_matches(name, known, n=1)
        hint = f"did you mean {quote(similar[0])}?" if similar else ""
        self._strict(StrictProblem(f"unknown field {quote(place.path)}", hint))

    def duplicate(self, place: DocumentPlace) -> None:
        self._strict(StrictProblem(f"duplicate field {quote(place.path)}"))

    def _strict(self, problem: StrictProblem) -> None:
        if problem not in self.strict and len(self.strict) < _MOST_STRICT_ERRORS:
            self.strict.append(problem)

    def mismatch(self, place: DocumentPlace, expected: str, value: JsonValue) -> None:
        """Logs that `value` has the wrong type or is out of range."""
        self._remember(type_problem(place, expected, value))

    def bad_value(self, place: DocumentPlace, text: str) -> None:
        """Logs a value of the right type whose content means nothing."""
        self._remember(DecodeAbort(DecodeKind.VALUE, f"{place.path}: {text}", place.field))

    def _remember(self, problem: DecodeAbort) -> None:
        self.first_mismatch = self.first_mismatch or problem

    def raise_first(self) -> None:
        if self.first_mismatch is not None:
            raise self.first_mismatch


def type_problem(place: DocumentPlace, expected: str, value: JsonValue) -> DecodeAbort:
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
