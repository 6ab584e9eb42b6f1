# SPDX-License-Identifier: Apache-2.0
"""Unknown fields of all objects that are read: refused, or gathered into a few lines.

Made by whoever reads objects from users (`manifests`, `sim.sources`). A dump repeats what it gets wrong in every object, so
that a field is told once, with the first object that has it and how many others do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from steersman.api import codec
from steersman.api.documents import Found, SourcePlace
from steersman.api.schemas import schema_of
from steersman.api.unknown_fields import UnknownField, quick_verdict, unknown_fields
from steersman.errors import InputError

Validation: TypeAlias = Literal["strict", "warn", "ignore"]
"""What happens to unknown fields: they are errors, they are told, or nobody looks for them."""
VALIDATIONS: Final[tuple[Validation, ...]] = get_args(Validation)

UNKNOWN: Final = "is not a field of this kind"
MOST_LINES: Final = 20
_MOST_WALKS: Final = 200
"""So many objects of a kind with unknown fields are walked, the others only counted: thousands of them have the same ones."""


class FieldCheck:
    """Looks at objects one after the other and keeps what to say about their fields."""

    def __init__(self, validation: Validation) -> None:
        if validation not in VALIDATIONS:
            raise InputError("is not a way to validate", value=validation, hint=f"use one of {', '.join(VALIDATIONS)}")
        self._validation = validation
        #: By kind and path: the line about the first object, and how many objects have the field.
        self._found: dict[tuple[str, str], tuple[InputError, int]] = {}
        self._walks: dict[str, int] = {}
        self._unwalked: dict[str, int] = {}

    def check(self, found: Found, api_version: str, describe: Callable[[], str]) -> None:
        """Raises `InputError` for an unknown field if these are refused. `api_version` is that of the kind if the object says
        none; `describe` gives the name of the object."""
        if self._validation == "ignore":
            return
        kind, version = found.header.kind or "", found.header.api_version or api_version
        if isinstance(found.data, dict):
            self._check_document(found.data, version, kind, found.place, describe)
            return
        verdict = quick_verdict(found.data, version, kind)
        if verdict != "known" and not (verdict == "unknown" and self._is_walked_enough(kind)):
            self._check_json(found.data, version, kind, found.place, describe)

    def check_document(self, document: Any, object_name: str) -> None:
        """Checks an object that was given as a dict, as `check` does one that was given as text."""
        if self._validation == "ignore" or not isinstance(document, dict):
            return
        version, kind = document.get("apiVersion"), document.get("kind")
        if isinstance(version, str) and isinstance(kind, str):
            self._check_document(document, version, kind, None, lambda: object_name)

    def lines(self) -> Iterator[str]:
        """One for each field and kind, the most frequent first; no more than `MOST_LINES`."""
        told = sorted(self._found.items(), key=lambda item: -item[1][1])
        for (kind, _), (error, count) in told[:MOST_LINES]:
            others = f" (and {count - 1:,} other {kind} objects)" if count > 1 else ""
            yield f"{error}{others}"
        if len(told) > MOST_LINES:
            yield f"{len(told) - MOST_LINES:,} more fields are unknown"
        for kind, count in self._unwalked.items():
            yield f"{count:,} more {kind} objects have unknown fields"

    def _is_walked_enough(self, kind: str) -> bool:
        self._walks[kind] = self._walks.get(kind, 0) + 1
        is_enough = self._validation == "warn" and self._walks[kind] > _MOST_WALKS
        if is_enough:
            self._unwalked[kind] = self._unwalked.get(kind, 0) + 1
        return is_enough

    def _check_json(
        self, data: bytes | msgspec.Raw, version: str, kind: str, place: SourcePlace, describe: Callable[[], str]
    ) -> None:
        if schema_of(version, kind) is None:
            return
        try:
            document = codec.plain(data)
        except InputError:
            return  # whoever decodes the object says what is wrong with it
        self._check_document(document, version, kind, place, describe)

    def _check_document(
        self, document: Any, version: str, kind: str, place: SourcePlace | None, describe: Callable[[], str]
    ) -> None:
        schema = schema_of(version, kind)
        if schema is None:
            return
        for field in unknown_fields(document, schema):
            self._note(field, kind, place, describe)

    def _note(self, field: UnknownField, kind: str, place: SourcePlace | None, describe: Callable[[], str]) -> None:
        known = self._found.get((kind, field.path))
        if known is not None:
            self._found[kind, field.path] = (known[0], known[1] + 1)
            return
        error = InputError(UNKNOWN, field=field.path, hint=field.hint, object=describe())
        if place is not None:
            error = error.located(**place._asdict())
        if self._validation == "strict":
            raise error
        self._found[kind, field.path] = (error, 1)
