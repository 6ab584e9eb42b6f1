# SPDX-License-Identifier: Apache-2.0
"""Errors of a configuration document: the failed stage and problems, in kube-scheduler's words.

`documents` raises what `field_kinds` has written to a `DecodeLog`; `validation` and `plugins`
create a `FieldError` per field; `effective_configuration` has one text. All become a `ConfigError`:
the command line prints its `lines`, conformance compares its `errors`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Final

import msgspec

from steersman.api import Duration, label_syntax, quote
from steersman.base import InputError
from steersman.config.document_tree import JsonObject, JsonValue, Number

_MAX_STRICT_ERRORS: Final = 100
_MAX_SHOWN_LENGTH: Final = 200


class ConfigStage(StrEnum):
    DECODE = "decode"
    VALIDATE = "validate"
    BUILD = "build"


class ConfigProblem(msgspec.Struct, frozen=True):
    """One problem. `text` is kube-scheduler's where users see it; known parts are separate."""

    text: str
    type: str = ""
    field: str = ""
    bad_value: object = None
    detail: str = ""
    hint: str = ""

    @classmethod
    def from_field_error(cls, error: FieldError) -> ConfigProblem:
        return cls(error.text, error.type, error.field, error.bad_value, error.detail)

    @property
    def line(self) -> str:
        text = " ".join(self.text.split())
        return f"{text}; {self.hint}" if self.hint else text


class ConfigError(InputError):
    """An invalid configuration. `str()` is one line; `lines` has one line per problem."""

    def __init__(
        self,
        stage: ConfigStage,
        problems: Iterable[ConfigProblem],
        *,
        kind: DecodeKind | None = None,
        file: str | None = None,
    ) -> None:
        self.stage = stage
        #: Class of a decode error; `None` for the other stages.
        self.kind = kind
        self.errors: Sequence[ConfigProblem] = tuple(problems)
        super().__init__(_summary(self.errors), file=file)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy by stage and problems, because the message of the exception is not enough."""
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
    """Return the errors without repeated texts."""
    return list({error.text: error for error in reversed(list(errors))}.values())[::-1]


def joined(errors: Iterable[FieldError]) -> str:
    """Return all errors in one text, in brackets if there are several."""
    texts = list(dict.fromkeys(error.text for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def child(path: str, name: str) -> str:
    """Return the path of a field below `path`, which may be empty."""
    return f"{path}.{name}" if path else name


def label_key_errors(path: str, name: str) -> list[FieldError]:
    """Return the errors of `name` as the key of a label."""
    return [invalid(path, name, problem) for problem in label_syntax.key_errors(name)]


def similar_name(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the most similar name, or ""."""
    from difflib import get_close_matches  # slow to import, and only needed for errors

    close = get_close_matches(name, known, n=1)
    return f"did you mean {quote(close[0])}?" if close else ""


def shown(value: object) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Duration):
        return quote(str(value))
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# -- decoding errors ---------------------------------------------------------------------------------------------------


class DecodeKind(StrEnum):
    """The reason why a document cannot be decoded."""

    MISSING_KIND = "missingKind"
    MISSING_VERSION = "missingVersion"
    NOT_REGISTERED = "notRegistered"
    WRONG_KIND = "wrongKind"
    STRICT = "strict"
    TYPE = "type"
    VALUE = "value"
    MALFORMED = "malformed"


class DocumentPlace(msgspec.Struct, frozen=True):
    """A position in the document: `path` has list indices, `field` is kube-scheduler's name."""

    path: str = ""
    field: str = ""

    def member(self, name: str, embedded: str = "") -> DocumentPlace:
        """Return the place of field `name`; `embedded` is its Go struct if inlined."""
        spelled = f"{embedded}.{name}" if embedded else name
        return DocumentPlace(child(self.path, name), child(self.field, spelled))

    def entry(self, key: str) -> DocumentPlace:
        return DocumentPlace(child(self.path, key), self.field)

    def item(self, index: int) -> DocumentPlace:
        return DocumentPlace(f"{self.path}[{index}]", self.field)


class DecodeAbort(Exception):
    """A problem that ends decoding: at once, or at the end if it was logged."""

    def __init__(self, kind: DecodeKind, text: str, field: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.field = field


class StrictProblem(msgspec.Struct, frozen=True):
    """An unknown or repeated field, in kube-scheduler's words, and a suggestion."""

    text: str
    hint: str = ""


class DecodeLog(msgspec.Struct):
    """The problems of one object that decoding has found so far.

    A wrong type is logged and decoding continues (only the first is reported, in preference to
    strict problems); an invalid duration ends decoding at once.
    """

    strict: list[StrictProblem] = []
    first_mismatch: DecodeAbort | None = None

    def unknown(self, place: DocumentPlace, name: str, known: Iterable[str]) -> None:
        self._strict(StrictProblem(f"unknown field {quote(place.path)}", similar_name(name, known)))

    def duplicate(self, place: DocumentPlace) -> None:
        self._strict(StrictProblem(f"duplicate field {quote(place.path)}"))

    def _strict(self, problem: StrictProblem) -> None:
        if problem not in self.strict and len(self.strict) < _MAX_STRICT_ERRORS:
            self.strict.append(problem)

    def mismatch(self, place: DocumentPlace, expected: str, value: JsonValue) -> None:
        """Log that `value` has the wrong type or is out of range."""
        self._remember(type_problem(place, expected, value))

    def bad_value(self, place: DocumentPlace, text: str) -> None:
        """Log a value of the right type with invalid content."""
        self._remember(DecodeAbort(DecodeKind.VALUE, f"{place.path}: {text}", place.field))

    def _remember(self, problem: DecodeAbort) -> None:
        self.first_mismatch = self.first_mismatch or problem

    def raise_first(self) -> None:
        if self.first_mismatch is not None:
            raise self.first_mismatch


def type_problem(place: DocumentPlace, expected: str, value: JsonValue) -> DecodeAbort:
    return DecodeAbort(DecodeKind.TYPE, f"{place.path}: must be {expected}, not {described(value)}", place.field)


def described(value: JsonValue) -> str:
    """Return a description of the value: `the string "abc"`, `a list`."""
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
    """Shorten a text; users find the full value by its field."""
    return text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[: _MAX_SHOWN_LENGTH - 1]}…"
