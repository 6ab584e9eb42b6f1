# SPDX-License-Identifier: Apache-2.0
"""Decoding of built-in kinds as in kube-apiserver: type errors and unknown fields.

The API server decodes all client documents with `decoded`, treating unknown fields according to the
request's `fieldValidation`; readers of files use it as well. Type errors are always raised, with
the messages of Go's JSON decoder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from steersman.api import quantity
from steersman.api.go_values import QUANTITY, as_go_reads
from steersman.api.json_values import TOO_DEEP, Document, json_type
from steersman.api.schemas import FieldSchema
from steersman.api.unknown_fields import find_unknown_fields
from steersman.base import InputError, SteersmanError

FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]

_GO_VALUES: Final = {"integer": "number", "boolean": "bool"}
"""Go's names of JSON types, where they differ."""
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_SCHEMA_OR_FLAG: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool"
_TIME_FRACTIONS: Final = {f"{_META}.Time": "", f"{_META}.MicroTime": ".000000"}
_PLAIN_TYPES: Final = {
    **dict.fromkeys(_TIME_FRACTIONS, "string"),
    f"{_META}.Duration": "string",
    _INT_OR_STRING: "int32",
}
"""Types decoded from a scalar, and the scalar's type name."""
_TIME_STEPS: Final = (
    ("2006", "[0-9]{4}"), ("-", "-"), ("01", "([0-9]{2})"), ("-", "-"), ("02", "([0-9]{2})"), ("T", "T"),
    ("15", "([0-9]{1,2})"), (":", ":"), ("04", "([0-9]{2})"), (":", ":"), ("05", "([0-9]{2})"),
    (".000000", r"\.[0-9]{6}"), ("Z07:00", "Z|[-+][0-9]{2}:[0-9]{2}"),
)  # fmt: skip
_TIME_RANGES: Final = {
    "01": ("month", 1, 12), "02": ("day", 1, 31), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59),
}  # fmt: skip
_UNNAMED: Final = ("", "")


class DecodingError(SteersmanError):
    """Document that an API server cannot decode: 400 Bad Request."""


class Decoded(NamedTuple):
    """Document to store, without nulls and unknown fields, and warnings for the client."""

    document: Document
    warnings: tuple[str, ...]


def decoded(document: Document, schema: FieldSchema, validation: FieldValidation = "Warn") -> Decoded:
    """Decode a document. Raises `DecodingError`."""
    try:
        return _decoded(document, schema, validation)
    except RecursionError:
        raise DecodingError(TOO_DEEP) from None


def _decoded(document: Document, schema: FieldSchema, validation: FieldValidation) -> Decoded:
    plain: Document = as_go_reads(document, schema)
    check_types(document, plain, schema)
    unknown = [field.path for field in find_unknown_fields(plain, schema)]
    texts = tuple(f'unknown field "{path}"' for path in unknown)
    if texts and validation == "Strict":
        raise DecodingError(unhandled(document, f"strict decoding error: {', '.join(texts)}"))
    kept = _known(plain, schema) if unknown else plain
    return Decoded(kept, texts if validation == "Warn" else ())


def check_types(document: Document, value: Any, schema: FieldSchema) -> None:
    """Raise `DecodingError` if the value, or a value inside it, has a wrong type."""
    problem = next(_type_problems(value, schema, "", ""), None)
    if problem is not None:
        raise DecodingError(unhandled(document, problem))


def unhandled(document: Document, why: str) -> str:
    """Return the message of a decoding error."""
    kind, version = document.get("kind", ""), str(document.get("apiVersion", "")).rpartition("/")[2]
    return f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'


def _known(value: Any, schema: FieldSchema | None) -> Any:
    """Remove fields that the schema does not have."""
    if schema is None or schema.preserves_unknown_fields:
        return value
    if isinstance(value, list):
        return [_known(element, schema.elements) for element in value]
    if not isinstance(value, dict):
        return value
    return {name: _known(member, child) for name, member in value.items() if (child := schema.child(name)) is not None}


def _type_problems(value: Any, schema: FieldSchema, path: str, struct: str, go_type: str = "") -> Iterator[str]:
    """Yield the errors of Go's decoder, in document order. `struct` is the Go type that has the
    field, `go_type` the value's type name if it differs from the schema's."""
    problem = _scalar_problem(value, schema)
    if problem is not None:
        yield problem
    elif schema.preserves_unknown_fields:
        return
    elif (found := _misfit(value, schema)) is not None:
        place = f"struct field {struct}.{path}" if path else "value"
        yield f"json: cannot unmarshal {found} into Go {place} of type {go_type or _go_type(schema)}"
    elif isinstance(value, dict):
        named = _go_names(schema.definition)
        own = _go_name(schema.definition) or struct
        for name, member in value.items():
            child = schema.child(name)
            if child is not None:
                embedded, kind = named.get(name, _UNNAMED) if name in schema.names else ("", _value_type(go_type))
                where = ".".join(filter(None, (path, embedded, name))) if name in schema.names else path
                yield from _type_problems(member, child, where, own, kind)
    elif isinstance(value, list) and schema.elements is not None:
        for element in value:
            yield from _type_problems(element, schema.elements, path, struct, go_type.removeprefix("[]"))


def _scalar_problem(value: Any, schema: FieldSchema) -> str | None:
    """Return the error of a type with its own format: quantities, times, bytes, JSON schemas."""
    if schema.definition == QUANTITY:
        return _quantity_problem(value)
    if schema.definition == _SCHEMA_OR_FLAG:
        return None if isinstance(value, (dict, bool)) else "boolean or JSON schema expected"
    if not isinstance(value, str):
        return None
    if schema.definition in _TIME_FRACTIONS:
        return _time_problem(value, _TIME_FRACTIONS[schema.definition])
    return _base64_problem(value) if schema.node.get("format") == "byte" else None


def _misfit(value: Any, schema: FieldSchema) -> str | None:
    """Return Go's name of a JSON value with a wrong type or a number out of range, else None."""
    found = json_type(value)
    if schema.types and not _fits(found, schema.types):
        return _GO_VALUES.get(found, found)
    if found in ("integer", "number") and "integer" in schema.types:
        bound = 2**63 if schema.node.get("format") == "int64" else 2**31
        if isinstance(value, float) or not -bound <= value < bound:
            return f"number {value}"
    return None


def _quantity_problem(value: Any) -> str | None:
    try:
        quantity.parse(value if isinstance(value, (str, int, float)) and not isinstance(value, bool) else "{}")
    except InputError as error:
        return error.message
    return None


def _time_problem(text: str, fraction: str) -> str | None:
    """Return the error of Go's `time.Parse` for an invalid time, with the layout part."""
    layout, rest = f"2006-01-02T15:04:05{fraction}Z07:00", text
    steps = [(part, pattern) for part, pattern in _TIME_STEPS if part != ".000000" or fraction]
    for part, pattern in steps:
        found = re.match(pattern + (r"(\.[0-9]+)?" if part == "05" and not fraction else ""), rest)
        if found is None:
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"'
        if part in _TIME_RANGES:
            what, least, most = _TIME_RANGES[part]
            if not least <= int(found[1]) <= most:
                return f'parsing time "{text}": {what} out of range'
        rest = rest[found.end() :]
    return f'parsing time "{text}": extra text: "{rest}"' if rest else None


def _base64_problem(text: str) -> str | None:
    """Return the error of Go's base64 decoder, with its position; line breaks are skipped."""
    characters = re.sub("[\\r\\n]", "", text)
    digits = len(re.split("[^A-Za-z0-9+/]", characters, maxsplit=1)[0])
    rest, padding = characters[digits:], -digits % 4
    if not rest:
        where = digits - digits % 4 if padding else None
    elif rest[0] != "=" or padding not in (1, 2):
        where = digits
    elif rest == "=" * padding:
        where = None
    else:
        where = digits + (1 if rest[1:2] != "=" and len(rest) > 1 else padding)
    return None if where is None else f"illegal base64 data at input byte {where}"


def _fits(found: str, wanted: frozenset[str]) -> bool:
    return found in wanted or (found == "integer" and "number" in wanted) or (found == "number" and "integer" in wanted)


def _go_type(schema: FieldSchema) -> str:
    if schema.definition in _PLAIN_TYPES:
        return _PLAIN_TYPES[schema.definition]
    if schema.definition:
        return f"{schema.definition.split('.')[-2]}.{_go_name(schema.definition)}"
    if schema.elements is not None:
        return f"[]{_go_type(schema.elements)}"
    if schema.values is not None:
        return f"map[string]{_go_type(schema.values)}"
    kind = next(iter(sorted(schema.types)), "string")
    if kind == "integer":
        return str(schema.node.get("format", "int64"))
    if schema.node.get("format") == "byte":
        return "[]uint8"
    return {"boolean": "bool", "number": "float64"}.get(kind, kind)


def _value_type(go_type: str) -> str:
    """Return the value type of a Go map type; "" for named types such as `v1.ResourceList`, whose
    values have their own decoder."""
    return go_type.partition("]")[2] if go_type.startswith("map[") else ""


@cache
def _go_names(definition: str) -> Mapping[str, tuple[str, str]]:
    """Return embedded structs and field types missing in OpenAPI (`scripts/go_types.py`)."""
    names: dict[str, tuple[str, str]] = {}
    for entry in _go_types().get(definition, "").split():
        name, mark, text = re.split("([=@])", entry, maxsplit=1)
        embedded, kind = names.get(name, _UNNAMED)
        names[name] = (text, kind) if mark == "@" else (embedded, text)
    return names


@cache
def _go_types() -> Mapping[str, str]:
    data = files("steersman.api").joinpath("go_types.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, str])


def _go_name(definition: str) -> str:
    return definition.rpartition(".")[2]
