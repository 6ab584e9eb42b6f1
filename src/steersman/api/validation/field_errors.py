# SPDX-License-Identifier: Apache-2.0
"""Errors about fields of an object, with upstream's field path, reason and message."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, Self

import msgspec

_MAX_VALUE_LENGTH: Final = 1024


class FieldError(msgspec.Struct, frozen=True):
    """A field and what is wrong with it; `reason` is the reason of a cause in a Status."""

    reason: str
    field: str
    #: Without the field: `Required value`, `Invalid value: "x": must be …`.
    body: str

    @classmethod
    def invalid(cls, field: str, value: Any, detail: str) -> Self:
        return cls("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {detail}")

    @classmethod
    def wrong_type(cls, field: str, value: Any, detail: str) -> Self:
        return cls("FieldValueTypeInvalid", field, f"Invalid value: {shown(value)}: {detail}")

    @classmethod
    def required(cls, field: str, detail: str = "") -> Self:
        return cls("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")

    @classmethod
    def not_supported(cls, field: str, value: Any, supported: Iterable[Any]) -> Self:
        known = ", ".join(json.dumps(choice) for choice in supported)
        return cls("FieldValueNotSupported", field, f"Unsupported value: {shown(value)}: supported values: {known}")

    @classmethod
    def forbidden(cls, field: str, detail: str) -> Self:
        return cls("FieldValueForbidden", field, f"Forbidden: {detail}")

    @classmethod
    def duplicate(cls, field: str, value: Any) -> Self:
        return cls("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")

    @classmethod
    def not_found(cls, field: str, value: Any) -> Self:
        return cls("FieldValueNotFound", field, f"Not found: {shown(value)}")

    @classmethod
    def too_long(cls, field: str, limit: int) -> Self:
        return cls("FieldValueTooLong", field, f"Too long: may not be more than {limit} bytes")

    @classmethod
    def too_many(cls, field: str, count: int, limit: int) -> Self:
        items = "item" if limit == 1 else "items"
        return cls("FieldValueTooMany", field, f"Too many: {count}: must have at most {limit} {items}")

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def shown(value: Any) -> str:
    """Format a value as upstream's messages do: JSON, truncated if it is long."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if len(text) <= _MAX_VALUE_LENGTH else text[: _MAX_VALUE_LENGTH - 3] + "..."
