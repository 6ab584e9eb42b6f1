# SPDX-License-Identifier: Apache-2.0
"""Unknown fields of documents: misspelt, of the wrong case, or misplaced.

`find_unknown_fields` walks a document. `quick_verdict` quickly finds that there are none: JSON is
decoded to strict structs generated from the schema, at a tenth of the cost. `manifests` reports the
fields; custom resources have no schema and are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from steersman.api.schemas import FieldSchema, schema_of

_CLOSE: Final = 0.7
"""Minimum similarity of a suggested name."""
_UNCHECKED: Final = frozenset({"managedFields"})
"""Generated fields, half of every object in a dump, which are not checked."""
_SEPARATORS: Final = re.compile(r"[-_. ]")
_FORBIDDEN: Final = "unknown field"
"""Part of msgspec's message for an unknown field."""

Verdict: TypeAlias = Literal["known", "unknown", "unsure"]
"""Whether all fields are known, at least one is unknown, or a walk is needed."""


class UnknownField(NamedTuple):
    """Path of an unknown field (`spec.containers[0].resorces`), its name, and known siblings."""

    path: str
    name: str
    known: Iterable[str]

    @property
    def suggestion(self) -> str:
        """Most similar known field, or "". Computed on demand, because comparisons are slow."""
        return closest(self.name, self.known)

    @property
    def hint(self) -> str | None:
        """Hint with the suggested field, or None."""
        return f'did you mean "{found}"?' if (found := self.suggestion) else None


def find_unknown_fields(document: Any, schema: FieldSchema, path: str = "") -> Iterator[UnknownField]:
    """Yield unknown fields in document order; ignore wrong types, which decoding reports."""
    if isinstance(document, dict):
        yield from _in_object(document, schema, path)
    elif isinstance(document, list) and schema.elements is not None:
        for index, element in enumerate(document):
            yield from find_unknown_fields(element, schema.elements, f"{path}[{index}]")


def _in_object(document: Mapping[Any, Any], schema: FieldSchema, path: str) -> Iterator[UnknownField]:
    if schema.preserves_unknown_fields or not (schema.names or schema.values):
        return
    for name, value in document.items():
        where = f"{path}.{name}" if path else str(name)
        child = schema.child(name) if isinstance(name, str) else None
        if child is None:
            yield UnknownField(where, str(name), schema.names)
        elif isinstance(value, (dict, list)) and name not in _UNCHECKED:
            yield from find_unknown_fields(value, child, where)


def closest(name: str, known: Iterable[str]) -> str:
    """Return the most similar known name, or "", preferring other case and separators."""
    from difflib import get_close_matches  # slow import, needed only for errors

    names = list(known)
    plain = _plain(name)
    for candidate in names:
        if _plain(candidate) == plain:
            return candidate
    by_lower = {candidate.lower(): candidate for candidate in names}
    found = get_close_matches(name.lower(), by_lower, 1, _CLOSE)
    return by_lower[found[0]] if found else ""


def quick_verdict(data: bytes | msgspec.Raw, api_version: str, kind: str) -> Verdict:
    """Return the verdict on JSON without walking it."""
    decoder = _strict_decoder(api_version, kind)
    if decoder is None:
        return "unsure"
    try:
        decoder.decode(data)
    except msgspec.ValidationError as error:
        return "unknown" if _FORBIDDEN in str(error) else "unsure"
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "unsure"
    return "known"


@cache
def _strict_decoder(api_version: str, kind: str) -> msgspec.json.Decoder[Any] | None:
    """Return the strict decoder; None for kinds without schema or with a recursive one."""
    schema = schema_of(api_version, kind)
    if schema is None:
        return None
    try:
        return msgspec.json.Decoder(_strict_type(schema, frozenset()))
    except _ContainsItself:
        return None


class _ContainsItself(Exception):
    """Recursive definitions have no struct."""


#: Definition name → struct.
_structs: dict[str, Any] = {}


def _strict_type(schema: FieldSchema, within: frozenset[str]) -> Any:
    """Return the decoded type of JSON that has only known fields; scalars are unchecked."""
    if schema.preserves_unknown_fields:
        return msgspec.Raw
    if schema.names:
        return _strict_struct(schema, within) | None
    inner = schema.values or schema.elements
    if inner is None:
        return Any
    element = _strict_type(inner, within)
    if element in (Any, msgspec.Raw):
        return element
    return (dict[str, element] if schema.values is not None else list[element]) | None  # type: ignore[valid-type]


def _strict_struct(schema: FieldSchema, within: frozenset[str]) -> Any:
    name = schema.definition
    if name in within:
        raise _ContainsItself
    if name not in _structs:
        # Fields are numbered, because names such as "continue" and "$ref" are invalid in Python.
        fields = [
            (f"field_{index}", _field_type(schema, field, within | {name}), None)
            for index, field in enumerate(schema.names)
        ]
        names = {f"field_{index}": field for index, field in enumerate(schema.names)}
        made = msgspec.defstruct("KnownFields", fields, forbid_unknown_fields=True, rename=names, gc=False)
        if not name:
            return made
        _structs[name] = made
    return _structs[name]


def _field_type(schema: FieldSchema, name: str, within: frozenset[str]) -> Any:
    child = schema.child(name)
    return msgspec.Raw if name in _UNCHECKED or child is None else _strict_type(child, within)


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name).lower()
