# SPDX-License-Identifier: Apache-2.0
"""Documents of built-in kinds as a kube-apiserver decodes them: values of the wrong type, and fields that the kind has not.

`decoded` is the first thing that happens to a document from a client. What it says of unknown fields depends on
`fieldValidation` of the request; values of the wrong type are always refused, in the words of Go's JSON decoder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from steersman.api import quantity
from steersman.api.schemas import FieldSchema
from steersman.api.unknown_fields import unknown_fields
from steersman.apiserver.schema_validation import json_type
from steersman.embedded.documents import Document
from steersman.embedded.errors import TOO_DEEP, BadRequest
from steersman.errors import InputError

FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]

QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_GO_VALUES: Final = {"integer": "number", "boolean": "bool"}
"""Go's names for the types of JSON values, where they differ."""


class Decoded(NamedTuple):
    """The document as it is to be stored, without nulls and unknown fields, and what to warn the client of."""

    document: Document
    warnings: tuple[str, ...]


def decoded(document: Document, schema: FieldSchema, validation: FieldValidation = "Warn") -> Decoded:
    """Raises `BadRequest`."""
    try:
        return _decoded(document, schema, validation)
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None


def _decoded(document: Document, schema: FieldSchema, validation: FieldValidation) -> Decoded:
    plain: Document = _as_go_reads(document, schema)
    problem = next(_type_problems(plain, schema, "", ""), None)
    if problem is not None:
        raise BadRequest(unhandled(document, problem))
    unknown = [field.path for field in unknown_fields(plain, schema)]
    texts = tuple(f'unknown field "{path}"' for path in unknown)
    if texts and validation == "Strict":
        raise BadRequest(unhandled(document, f"strict decoding error: {', '.join(texts)}"))
    kept = _known(plain, schema) if unknown else plain
    return Decoded(kept, texts if validation == "Warn" else ())


def _as_go_reads(value: Any, schema: FieldSchema | None) -> Any:
    """The value as Go reads it: a null field is absent, a null value of a map of strings is "", a quantity is in its shortest
    form. What is kept raw stays as it is."""
    if schema is None or schema.preserves_unknown_fields:
        return value
    if isinstance(value, list):
        return [_as_go_reads(element, schema.elements) for element in value]
    if not isinstance(value, dict):
        return _canonical_amount(value) if schema.definition == QUANTITY else value
    if schema.values is not None and schema.values.types == {"string"}:
        return {name: "" if member is None else member for name, member in value.items()}
    return {name: _as_go_reads(member, schema.child(name)) for name, member in value.items() if member is not None}


def _canonical_amount(value: Any) -> Any:
    """A quantity as it is stored: 1 is "1", 1024Mi is 1Gi. What is none stays, and is refused by others."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return value
    try:
        return quantity.canonical(quantity.parse(value))
    except InputError:
        return value


def unhandled(document: Document, why: str) -> str:
    """The message of a refusal to decode."""
    kind, version = document.get("kind", ""), str(document.get("apiVersion", "")).rpartition("/")[2]
    return f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'


def _known(value: Any, schema: FieldSchema | None) -> Any:
    """The value without fields that the schema does not have."""
    if schema is None or schema.preserves_unknown_fields:
        return value
    if isinstance(value, list):
        return [_known(element, schema.elements) for element in value]
    if not isinstance(value, dict):
        return value
    return {name: _known(member, child) for name, member in value.items() if (child := schema.child(name)) is not None}


def _type_problems(value: Any, schema: FieldSchema, path: str, struct: str) -> Iterator[str]:
    """Fields of a wrong type, in the order of the document. `struct` is the Go type that has the field."""
    if schema.preserves_unknown_fields:
        return
    found = json_type(value)
    if schema.types and not _fits(found, schema.types):
        yield (
            f"json: cannot unmarshal {_GO_VALUES.get(found, found)} into Go "
            f"{f'struct field {struct}.{path}' if path else 'value'} of type {_go_type(schema)}"
        )
    elif isinstance(value, dict):
        own = _go_name(schema.definition) or struct
        for name, member in value.items():
            child = schema.child(name)
            if child is not None:
                where = f"{path}.{name}" if path and name in schema.names else path or name
                yield from _type_problems(member, child, where, own)
    elif isinstance(value, list) and schema.elements is not None:
        for element in value:
            yield from _type_problems(element, schema.elements, path, struct)


def _fits(found: str, wanted: frozenset[str]) -> bool:
    return found in wanted or (found == "integer" and "number" in wanted) or (found == "number" and "integer" in wanted)


def _go_type(schema: FieldSchema) -> str:
    if schema.definition:
        return f"{schema.definition.split('.')[-2]}.{_go_name(schema.definition)}"
    if schema.elements is not None:
        return f"[]{_go_type(schema.elements)}"
    if schema.values is not None:
        return f"map[string]{_go_type(schema.values)}"
    kind = next(iter(sorted(schema.types)), "string")
    if kind == "integer":
        return str(schema.node.get("format", "int64"))
    return {"boolean": "bool", "number": "float64"}.get(kind, kind)


def _go_name(definition: str) -> str:
    return definition.rpartition(".")[2]
