# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v2 of all served resources, in JSON and in the protobuf encoding that kubectl requests.

`swagger_document` is built from the OpenAPI v3 documents of all groups and versions (`openapi`).
kubectl reads it for kinds without a v3 path, such as `ConfigMapList`, and for unknown kinds.
`encoded_document` writes gnostic's messages; the numbers below are those of its `OpenAPIv2.proto`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from steersman.base import KUBE_SCHEDULER_VERSION
from steersman.cluster.store.documents import Document

PATH: Final = "/openapi/v2"
PROTOBUF_TYPES: Final = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)
"""Accepted types. Responses use the second, because Go's media type parser rejects the first."""
_V3_REFERENCE: Final = "#/components/schemas/"
_V2_REFERENCE: Final = "#/definitions/"
_KEEPS_UNKNOWN: Final = "x-kubernetes-preserve-unknown-fields"
_KINDS: Final = "x-kubernetes-group-version-kind"
_ONLY_V3: Final = ("nullable", "allOf", "anyOf", "oneOf", "not")


def swagger_document(documents: Iterable[Document]) -> Document:
    """Merge OpenAPI v3 documents into a v2 document."""
    paths, definitions = dict[str, Any](), dict[str, Any]()
    for document in documents:
        for path, operations in document["paths"].items():
            paths[path] = {method: _operation(operation) for method, operation in operations.items()}
        definitions |= {name: _definition(node) for name, node in document["components"]["schemas"].items()}
    info = {"title": "Kubernetes", "version": KUBE_SCHEDULER_VERSION}
    return {"swagger": "2.0", "info": info, "paths": paths, "definitions": definitions}


def _definition(node: Document) -> Any:
    """Convert the schema of a kind. kubectl rejects unknown fields of a kind with properties, so a
    kind that preserves unknown fields gets none."""
    if node.get(_KEEPS_UNKNOWN) and _KINDS in node:
        return {"type": "object", _KINDS: node[_KINDS]}
    return _schema(node)


def _operation(operation: Document) -> Document:
    parameters = [
        {**{name: value for name, value in parameter.items() if name != "schema"}, **parameter["schema"]}
        for parameter in operation.get("parameters") or ()
    ]
    content = (operation.get("requestBody") or {}).get("content") or {}
    if content:
        body = _schema(next(iter(content.values()))["schema"])
        parameters.append({"name": "body", "in": "body", "required": True, "schema": body})
    answer = operation["responses"]["200"]
    schema = _schema(next(iter(answer["content"].values()))["schema"])
    extensions = {name: value for name, value in operation.items() if name.startswith("x-")}
    responses = {"200": {"description": answer["description"], "schema": schema}}
    return {"consumes": list(content), "parameters": parameters, "responses": responses, **extensions}


def _schema(node: Any) -> Any:
    """Convert a schema. As upstream, drop combinations and nullable values."""
    if not isinstance(node, Mapping):
        return node
    reference = node.get("$ref") or next((one.get("$ref") for one in node.get("allOf") or ()), None)
    converted = {name: value for name, value in node.items() if name not in _ONLY_V3}
    if reference:
        converted["$ref"] = _V2_REFERENCE + str(reference).removeprefix(_V3_REFERENCE)
    if node.get("oneOf") and "type" not in node and not node.get("x-kubernetes-int-or-string"):
        converted["type"] = "string"  # quantities, and port numbers or names
    dropped = ("type", "items", "properties") if node.get("nullable") else ()
    if node.get(_KEEPS_UNKNOWN):
        dropped = (*dropped, "items", "properties", *(["type"] if node.get("type") == "object" else []))
    converted = {name: value for name, value in converted.items() if name not in dropped}
    if converted.get("type") == "array" and "items" not in converted:
        del converted["type"]  # kubectl cannot read arrays without an item schema
    if isinstance(converted.get("properties"), Mapping):
        converted["properties"] = {name: _schema(child) for name, child in converted["properties"].items()}
    for name in ("items", "additionalProperties"):
        if name in converted:
            converted[name] = _schema(converted[name])
    return converted


# -- protobuf --------------------------------------------------------------------------------------


def encoded_document(document: Document) -> bytes:
    """Encode a v2 document as gnostic's `openapi.v2.Document`."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = _named(2, document["paths"], _path_item)
    definitions = _named(1, document["definitions"], _encoded_schema)
    return _text(1, document["swagger"]) + _part(2, info) + _part(8, paths) + _part(9, definitions)


def _path_item(operations: Mapping[str, Any]) -> bytes:
    numbers = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
    return b"".join(_part(numbers[method], _encoded_operation(found)) for method, found in operations.items())


def _encoded_operation(operation: Mapping[str, Any]) -> bytes:
    parameters = b"".join(_part(8, _part(1, _parameter(parameter))) for parameter in operation["parameters"])
    responses = _part(9, _named(1, operation["responses"], _response))
    return _texts(7, operation["consumes"]) + parameters + responses + _extensions(13, operation)


def _parameter(parameter: Mapping[str, Any]) -> bytes:
    if parameter["in"] == "body":
        body = _text(2, parameter["name"]) + _text(3, "body") + _number(4, 1)
        return _part(1, body + _part(5, _encoded_schema(parameter["schema"])))
    query = _text(2, parameter["in"]) + _text(4, parameter["name"]) + _text(6, parameter["type"]) + _number(20, 1)
    return _part(2, _part(3, query))


def _response(response: Mapping[str, Any]) -> bytes:
    return _part(1, _text(1, response["description"]) + _part(2, _part(1, _encoded_schema(response["schema"]))))


def _encoded_schema(node: Mapping[str, Any]) -> bytes:
    known = (_SCHEMA_FIELDS[name](value) for name, value in node.items() if name in _SCHEMA_FIELDS)
    return b"".join(known) + _extensions(31, node)


def _extensions(number: int, node: Mapping[str, Any]) -> bytes:
    return _named(number, {name: value for name, value in node.items() if name.startswith("x-")}, _any)


def _named(number: int, members: Mapping[str, Any], encode: Callable[[Any], bytes]) -> bytes:
    return b"".join(_part(number, _text(1, name) + _part(2, encode(value))) for name, value in members.items())


def _any(value: Any) -> bytes:
    """Encode any value as JSON, which is valid YAML."""
    return _text(2, json.dumps(value, separators=(",", ":")))


def _additional(node: Any) -> bytes:
    return _part(21, _part(1, _encoded_schema(node)) if isinstance(node, Mapping) else _number(2, int(bool(node))))


def _texts(number: int, texts: Iterable[str]) -> bytes:
    return b"".join(_text(number, text) for text in texts)


def _text(number: int, text: str) -> bytes:
    return _part(number, text.encode())


def _part(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def _number(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value & (1 << 64) - 1)


def varint(value: int) -> bytes:
    """Encode a number as a varint: groups of seven bits, lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _numbered(encode: Callable[[int, Any], bytes], **numbers: int) -> dict[str, Callable[[Any], bytes]]:
    def field(number: int) -> Callable[[Any], bytes]:
        return lambda value: encode(number, value)

    return {name: field(number) for name, number in numbers.items()}


_SCHEMA_FIELDS: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "$ref": lambda reference: _text(1, reference),
    **_numbered(_text, format=2, title=3, description=4, pattern=13),
    **_numbered(lambda number, value: _part(number, _any(value)), default=5, example=30),
    **_numbered(
        lambda number, value: varint(number << 3 | 1) + struct.pack("<d", value), multipleOf=6, maximum=7, minimum=9
    ),
    **_numbered(
        lambda number, value: _number(number, int(value)),
        exclusiveMaximum=8, exclusiveMinimum=10, maxLength=11, minLength=12, maxItems=14, minItems=15, uniqueItems=16,
        maxProperties=17, minProperties=18,
    ),
    **_numbered(_texts, required=19),
    "enum": lambda choices: b"".join(_part(20, _any(choice)) for choice in choices),
    "additionalProperties": _additional,
    "type": lambda kind: _part(22, _text(1, str(kind))),
    "items": lambda node: _part(23, _part(1, _encoded_schema(node))),
    "properties": lambda members: _part(25, _named(1, members, _encoded_schema)),
}  # fmt: skip
