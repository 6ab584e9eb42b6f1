# SPDX-License-Identifier: Apache-2.0
"""Fields that a document has and its kind has not: misspelt, of the wrong case, in the wrong place.

`unknown_fields` walks one document. `quick_verdict` is the fast way to learn that there is nothing to be found: JSON is decoded
into structs that are made from the schema and take no other fields, which costs a tenth of the walk.
`manifests` reports what is found; custom resources have no schema and are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from steersman.api.schemas import FieldSchema, schema_of

_CLOSE: Final = 0.7
"""How alike two names are for one to be taken for the other."""
_UNCHECKED: Final = frozenset({"managedFields"})
"""Nobody writes these by hand, and in a dump they are half of every object."""
_SEPARATORS: Final = re.compile(r"[-_. ]")
_FORBIDDEN: Final = "unknown field"
"""In msgspec's words for a field that a struct does not have."""

Verdict: TypeAlias = Literal["known", "unknown", "unsure"]
"""All fields are known; at least one is not; only a walk can tell."""


class UnknownField(NamedTuple):
    """Where it stands, as `spec.containers[0].resorces`, and the field that may have been meant, "" if none comes near."""

    path: str
    suggestion: str

    @property
    def hint(self) -> str | None:
        """The field that may have been meant, as the end of a message."""
        return f'did you mean "{self.suggestion}"?' if self.suggestion else None


def unknown_fields(document: Any, schema: FieldSchema, path: str = "") -> Iterator[UnknownField]:
    """Every unknown field, in the order of the document. What has the wrong type is left to those who decode it."""
    if isinstance(document, dict):
        yield from _in_object(document, schema, path)
    elif isinstance(document, list) and schema.elements is not None:
        for index, element in enumerate(document):
            yield from unknown_fields(element, schema.elements, f"{path}[{index}]")


def _in_object(document: Mapping[Any, Any], schema: FieldSchema, path: str) -> Iterator[UnknownField]:
    if schema.preserves_unknown_fields or not (schema.names or schema.values):
        return
    for name, value in document.items():
        where = f"{path}.{name}" if path else str(name)
        child = schema.child(name) if isinstance(name, str) else None
        if child is None:
            yield UnknownField(where, closest(str(name), schema.names))
        elif isinstance(value, (dict, list)) and name not in _UNCHECKED:
            yield from unknown_fields(value, child, where)


def closest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant: the same but for case and separators, else the most similar one."""
    names = list(known)
    plain = _plain(name)
    for candidate in names:
        if _plain(candidate) == plain:
            return candidate
    by_lower = {candidate.lower(): candidate for candidate in names}
    found = get_close_matches(name.lower(), by_lower, 1, _CLOSE)
    return by_lower[found[0]] if found else ""


def quick_verdict(data: bytes | msgspec.Raw, api_version: str, kind: str) -> Verdict:
    """The verdict on JSON that needs no walk through it."""
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
    """None for kinds without schema, and for those that contain themselves (schemas of CustomResourceDefinitions)."""
    schema = schema_of(api_version, kind)
    if schema is None:
        return None
    try:
        return msgspec.json.Decoder(_strict_type(schema, frozenset()))
    except _ContainsItself:
        return None


class _ContainsItself(Exception):
    """A definition that refers to itself has no struct."""


#: By name of the definition.
_structs: dict[str, Any] = {}


def _strict_type(schema: FieldSchema, within: frozenset[str]) -> Any:
    """The type that JSON of this schema decodes to if it has known fields only; scalars may be anything."""
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
        # Names of fields need not be names in Python ("continue", "$ref"): they are numbered and renamed.
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
