"""Errors about single fields, in kube-scheduler's words: `parallelism: Invalid value: 0: should be …`.

Made by `validation` and `args_validation`, collected into a `ConfigError`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from steersman.api.go_text import quote
from steersman.config.durations import Duration


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
