# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v3: what clients are told about fields and paths, a document for each group and version.

`kubectl explain` reads the schemas; `kubectl apply` looks whether a PATCH takes `fieldValidation` and `dryRun`, so that
the server validates. Schemas of built-in kinds are the definitions of `api.schemas`, those of custom resources come
with their definition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman.api import schemas
from steersman.apiserver.catalog import Catalog
from steersman.apiserver.custom_resources import CustomResources
from steersman.apiserver.resources import Resource
from steersman.embedded import Document

PREFIX: Final = "/openapi/v3"
_SCHEMAS: Final = "#/components/schemas/"
_WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation")
_METHODS: Final = {"get": "get", "update": "put", "patch": "patch", "delete": "delete"}
_COLLECTION_METHODS: Final = {"list": "get", "create": "post", "deletecollection": "delete"}


class OpenApi:
    """Documents by path, made when they are first asked for and anew when the catalogue has changed."""

    def __init__(self, catalog: Catalog, customs: CustomResources) -> None:
        self._catalog = catalog
        self._customs = customs
        self._generation = -1
        self._encoded: dict[str, bytes] = {}

    def index(self) -> Document:
        """`/openapi/v3`: where the others are."""
        paths = {}
        for api_version in self._versions():
            path = _path(api_version)
            digest = hashlib.sha256(self._document(path)).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"{PREFIX}/{path}?hash={digest}"}
        return {"paths": paths}

    def document(self, path: str) -> bytes | None:
        """`api/v1` or `apis/apps/v1` as JSON; None for what is not there."""
        if path not in {_path(api_version) for api_version in self._versions()}:
            return None
        return self._document(path)

    def _versions(self) -> Iterable[str]:
        yield "v1"
        for group, versions in self._catalog.groups():
            yield from (f"{group}/{version}" for version in versions)

    def _document(self, path: str) -> bytes:
        if self._generation != self._catalog.generation:
            self._generation, self._encoded = self._catalog.generation, {}
        if path not in self._encoded:
            api_version = path.removeprefix("apis/") if path.startswith("apis/") else path.removeprefix("api/")
            self._encoded[path] = msgspec.json.encode(self._made(api_version))
        return self._encoded[path]

    def _made(self, api_version: str) -> Document:
        found = self._catalog.resources(api_version)
        paths: dict[str, Document] = {}
        components: dict[str, Any] = {}
        for resource in found:
            paths |= _paths(resource)
            if self._catalog.is_built_in(resource):
                components |= _definitions(resource)
            else:
                components |= self._custom_schema(resource)
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "v1.36.4"},
            "paths": paths,
            "components": {"schemas": components},
        }

    def _custom_schema(self, resource: Resource) -> dict[str, Any]:
        reversed_group = ".".join(reversed(resource.group.split(".")))
        name = f"{reversed_group}.{resource.version}.{resource.kind}"
        schema = dict(self._customs.version(resource).schema) or {"type": "object"}
        metadata = {"allOf": [{"$ref": _SCHEMAS + schemas.OBJECT_META}]}
        text = {"type": "string"}
        properties = {**(schema.get("properties") or {}), "apiVersion": text, "kind": text, "metadata": metadata}
        own = {**schema, "properties": properties, "x-kubernetes-group-version-kind": [_kind(resource)]}
        return {name: own, **_with_references({schemas.OBJECT_META})}


def _path(api_version: str) -> str:
    return f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"


def _kind(resource: Resource) -> Document:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _paths(resource: Resource) -> dict[str, Document]:
    base = f"/{_path(resource.api_version)}"
    if resource.namespaced:
        base += "/namespaces/{namespace}"
    collection = f"{base}/{resource.plural}"
    return {
        collection: _operations(resource, _COLLECTION_METHODS),
        f"{collection}/{{name}}": _operations(resource, _METHODS),
    }


def _operations(resource: Resource, methods: Mapping[str, str]) -> Document:
    return {method: _operation(resource, verb) for verb, method in methods.items() if verb in resource.verbs}


def _operation(resource: Resource, verb: str) -> Document:
    names = list(_WRITE_PARAMETERS) if verb in ("create", "update", "patch") else ["dryRun"] if verb == "delete" else []
    if verb == "patch":
        names.append("force")
    text = {"type": "string", "uniqueItems": True}
    return {
        "x-kubernetes-action": {"create": "post", "update": "put"}.get(verb, verb),
        "x-kubernetes-group-version-kind": _kind(resource),
        "parameters": [{"name": name, "in": "query", "schema": text} for name in names],
        "responses": {"200": {"description": "OK"}},
    }


def _definitions(resource: Resource) -> dict[str, Any]:
    """The schema of a built-in kind, and all that it refers to."""
    name = schemas.definition_names().get((resource.api_version, resource.kind))
    return {} if name is None else _with_references({name})


def _with_references(names: set[str]) -> dict[str, Any]:
    definitions, found, waiting = schemas.definitions(), dict[str, Any](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and name in definitions:
            found[name] = _rewritten(definitions[name])
            waiting += _references(definitions[name])
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(schemas.REFERENCE)
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _rewritten(node: Any) -> Any:
    """With references as OpenAPI has them: alone, or in an `allOf` beside a description."""
    if isinstance(node, list):
        return [_rewritten(value) for value in node]
    if not isinstance(node, dict):
        return node
    copied = {name: _rewritten(value) for name, value in node.items() if name != "$ref"}
    if isinstance(copied.get("type"), list):
        copied["type"] = next((name for name in copied["type"] if name != "null"), "object")
    reference = node.get("$ref")
    if isinstance(reference, str):
        target = {"$ref": _SCHEMAS + reference.removeprefix(schemas.REFERENCE)}
        return {**copied, "allOf": [target]} if copied else target
    return copied
