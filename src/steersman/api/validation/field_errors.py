# SPDX-License-Identifier: Apache-2.0
"""Field errors with upstream's path, reason and message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

import msgspec

_MAX_VALUE_LENGTH: Final = 1024
_MAX_DIFF_LINES: Final = 2000


class FieldError(msgspec.Struct, frozen=True):
    """An error about one field; `reason` is the reason of the cause in a Status."""

    reason: str
    field: str
    #: Message without the field: `Required value`, `Invalid value: "x": must be …`.
    body: str

    @classmethod
    def invalid(cls, field: str, value: Any, detail: str) -> Self:
        body = f"Invalid value: {shown(value)}"
        return cls("FieldValueInvalid", field, f"{body}: {detail}" if detail else body)

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
    def duplicate(cls, field: str, value: Any, detail: str = "") -> Self:
        body = f"Duplicate value: {shown(value)}"
        return cls("FieldValueDuplicate", field, f"{body}: {detail}" if detail else body)

    @classmethod
    def not_found(cls, field: str, value: Any) -> Self:
        return cls("FieldValueNotFound", field, f"Not found: {shown(value)}")

    @classmethod
    def too_long(cls, field: str, limit: int) -> Self:
        return cls("FieldValueTooLong", field, f"Too long: may not be more than {limit} {_plural('byte', limit)}")

    @classmethod
    def too_many(cls, field: str, count: int, limit: int) -> Self:
        return cls("FieldValueTooMany", field, f"Too many: {count}: must have at most {limit} {_plural('item', limit)}")

    @classmethod
    def internal(cls, field: str, detail: str) -> Self:
        return cls("InternalError", field, f"Internal error: {detail}")

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def shown(value: Any) -> str:
    """Return a value as upstream's messages show it: as JSON, truncated if long."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    if isinstance(value, (dict, list)):
        text = text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
    return text if len(text) <= _MAX_VALUE_LENGTH else text[: _MAX_VALUE_LENGTH - 3] + "..."


def go_struct(value: Mapping[str, Any] | None, **fields: Any) -> dict[str, Any] | None:
    """Return an object with Go's field names, and with the given zero values for absent fields."""
    if value is None:
        return None
    return {name: value.get(_json_name(name), zero) for name, zero in fields.items()}


def _json_name(name: str) -> str:
    """Return the JSON name of a Go field: `nodeID` of `NodeID`, `apiGroup` of `APIGroup`."""
    first = re.match("[A-Z]+(?=[A-Z][a-z])|[A-Z]", name)
    return name if first is None else first[0].lower() + name[first.end() :]


def json_diff(old: Any, new: Any) -> str:
    """Return the diff of two values that upstream adds to messages about immutable fields.

    Large values are not compared because the time is quadratic in their size.
    """
    from difflib import unified_diff  # slow to import, needed only for errors

    before, after = (json.dumps(value, indent=1, sort_keys=True, default=str).splitlines() for value in (old, new))
    if len(before) + len(after) > _MAX_DIFF_LINES:
        return ""
    return "\n".join([line for line in unified_diff(before, after, lineterm="") if not line.startswith(("---", "+++"))])
