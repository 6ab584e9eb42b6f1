# SPDX-License-Identifier: Apache-2.0
"""Problems of fields of an object, in the words of a kube-apiserver, and the refusal that they add up to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, Self

import msgspec

from steersman.embedded.errors import StatusCause, StatusError

_LONGEST_VALUE: Final = 1024


class FieldProblem(msgspec.Struct, frozen=True):
    """One field and what is wrong with it; `reason` is that of a cause in a Status."""

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
    def too_long(cls, field: str, most: int) -> Self:
        return cls("FieldValueTooLong", field, f"Too long: may not be more than {most} bytes")

    @classmethod
    def too_many(cls, field: str, count: int, most: int) -> Self:
        items = "item" if most == 1 else "items"
        return cls("FieldValueTooMany", field, f"Too many: {count}: must have at most {most} {items}")

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


class InvalidObject(StatusError):
    """An object with problems: 422, with a cause for each."""

    code = 422
    reason = "Invalid"

    def __init__(self, group_kind: str, name: str, problems: Sequence[FieldProblem]) -> None:
        texts = list(dict.fromkeys(map(str, problems)))
        why = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        causes = [StatusCause(problem.reason, problem.body, problem.field) for problem in problems]
        super().__init__(f'{group_kind} "{name}" is invalid: {why}', causes)
        self.problems = tuple(problems)


def refuse(api_version: str, kind: str, name: str, problems: Iterable[FieldProblem]) -> None:
    """Raises `InvalidObject` if there are problems."""
    found = list(problems)
    if found:
        group = api_version.rpartition("/")[0]
        raise InvalidObject(f"{kind}.{group}" if group else kind, name, found)


def shown(value: Any) -> str:
    """A value as messages write it: JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."
