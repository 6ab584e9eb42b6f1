# SPDX-License-Identifier: Apache-2.0
"""OpenAPI documents of each group and version, as read by `kubectl explain`, `apply` and `diff`.

`group_version_document` builds one document, `index` lists all with their hashes; `OpenApi` serves
both for the current catalog. Built-in kinds come from the field tables (`api.schemas`), custom
resources from their definitions. `OpenApi.swagger` serves the same as OpenAPI v2 (`openapi_v2`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import OBJECT_META, REFERENCE, definition_names, definitions
from steersman.base import KUBE_SCHEDULER_VERSION
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.custom_resources import CustomResources
from steersman.cluster.apiserver.openapi_v2 import encoded_document, swagger_document
from steersman.cluster.apiserver.patches import CUSTOM_RESOURCE_PATCH_TYPES, PATCH_TYPES
from steersman.cluster.apiserver.resources import ALL_VERBS
from steersman.cluster.apiserver.structural_schemas import version_schema
from steersman.cluster.store.documents import Document

PREFIX: Final = "/openapi/v3"
_COMPONENTS: Final = "#/components/schemas/"
_CONVENTIONS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_JSON: Final = "application/json"
_STATUS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
_PATCH: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
_DELETE_OPTIONS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
_LIST_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"

_WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation")
_LIST_PARAMETERS: Final = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)


class OpenApiResource(NamedTuple):
    """Attributes of a served resource that determine its paths."""

    plural: str
    kind: str
    is_namespaced: bool
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS


class OpenApi:
    """OpenAPI documents of the served resources, built on demand and when resources change."""

    def __init__(self, catalog: Catalog, customs: CustomResources) -> None:
        self._catalog = catalog
        self._customs = customs
        #: Path → hash and document; one entry per group and version.
        self._encoded: dict[str, tuple[str, bytes]] = {}
        #: ETag and document of OpenAPI v2; its bodies, keyed by `is_protobuf`.
        self._swagger: tuple[str, Document] | None = None
        self._swagger_bodies: dict[bool, bytes] = {}

    def index(self) -> Document:
        """Return `/openapi/v3`, the index of documents."""
        served = {group_version: self._resources(group_version) for group_version in self._group_versions()}
        return index(served, self._customs.definitions())

    def document(self, path: str) -> bytes | None:
        """Return the document at `api/v1` or `apis/apps/v1` as JSON; None if it is not served."""
        group_version = path.removeprefix("apis/").removeprefix("api/")
        if group_version not in self._group_versions() or path != _path(group_version):
            return None
        resources, crds = self._resources(group_version), self._customs.definitions()
        digest = document_hash(group_version, resources, crds)
        known = self._encoded.get(path)
        if known is None or known[0] != digest:
            known = digest, msgspec.json.encode(group_version_document(group_version, resources, crds))
            self._encoded = {other: kept for other, kept in self._encoded.items() if self._is_served(other)}
            self._encoded[path] = known
        return known[1]

    def swagger(self, *, is_protobuf: bool) -> tuple[str, bytes]:
        """Return the ETag and the body of `/openapi/v2`."""
        crds, generation = self._customs.definitions(), self._catalog.generation
        versions = [crd["metadata"].get("resourceVersion") for crd in crds]
        etag = sha256(msgspec.json.encode([KUBE_SCHEDULER_VERSION, generation, versions])).hexdigest().upper()
        if self._swagger is None or self._swagger[0] != etag:
            found = (group_version_document(name, self._resources(name), crds) for name in self._group_versions())
            self._swagger = etag, swagger_document(found)
            self._swagger_bodies.clear()
        body = self._swagger_bodies.get(is_protobuf)
        if body is None:
            encode = encoded_document if is_protobuf else msgspec.json.encode
            body = self._swagger_bodies[is_protobuf] = encode(self._swagger[1])
        return etag, body

    def _group_versions(self) -> list[str]:
        groups = self._catalog.groups()
        return ["v1", *(f"{group}/{version}" for group, versions in groups for version in versions)]

    def _is_served(self, path: str) -> bool:
        return path in map(_path, self._group_versions())

    def _resources(self, group_version: str) -> list[OpenApiResource]:
        return [
            OpenApiResource(
                resource.plural,
                resource.kind,
                resource.namespaced,
                tuple(subresource.name for subresource in resource.subresources),
                resource.verbs,
            )
            for resource in self._catalog.resources(group_version)
        ]


def group_version_document(
    group_version: str, resources: Iterable[OpenApiResource], crds: Iterable[Document] = ()
) -> Document:
    """Return the document of a group and version: resource paths and referenced schemas."""
    served = list(resources)
    custom = _custom_schemas(group_version, crds)
    names = {resource.kind: _schema_name(group_version, resource.kind, custom) for resource in served}
    paths: Document = {}
    for resource in served:
        is_custom = names[resource.kind] in custom
        paths |= _paths(group_version, resource, names[resource.kind], is_custom)
    schemas = {**custom, **_reachable(names.values(), custom)}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": KUBE_SCHEDULER_VERSION},
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def index(group_versions: Mapping[str, Iterable[OpenApiResource]], crds: Iterable[Document] = ()) -> Document:
    """Return the index at `/openapi/v3`. A hash changes with its resources and definitions."""
    listed = list(crds)
    paths = {}
    for group_version, resources in sorted(group_versions.items()):
        path = _path(group_version)
        digest = document_hash(group_version, resources, listed)
        paths[path] = {"serverRelativeURL": f"{PREFIX}/{path}?hash={digest}"}
    return {"paths": paths}


def _path(group_version: str) -> str:
    return f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"


def document_hash(group_version: str, resources: Iterable[OpenApiResource], crds: Iterable[Document] = ()) -> str:
    """Return the hash of the inputs of a document, so that the document need not be built."""
    made_from = [KUBE_SCHEDULER_VERSION, group_version, sorted(resources), _custom_schemas(group_version, crds)]
    return sha256(msgspec.json.encode(made_from, order="sorted")).hexdigest().upper()


# -- schemas ---------------------------------------------------------------------------------------


def _schema_name(group_version: str, kind: str, custom: Mapping[str, Document]) -> str:
    name = _custom_name(group_version, kind)
    if name in custom:
        return name
    return definition_names().get((group_version, kind), "")


def _custom_name(group_version: str, kind: str) -> str:
    """Return upstream's schema name of a custom resource: `com.example.v1.Database`."""
    group, _, version = group_version.rpartition("/")
    return ".".join([*reversed(group.split(".")), version, kind])


def _custom_schemas(group_version: str, crds: Iterable[Document]) -> dict[str, Document]:
    group, _, version = group_version.rpartition("/")
    found: dict[str, Document] = {}
    for crd in crds:
        spec = crd.get("spec") or {}
        schema = version_schema(crd, version) if spec.get("group") == group else None
        if schema is not None:
            kind = str((spec.get("names") or {}).get("kind", ""))
            found[_custom_name(group_version, kind)] = _custom_schema(schema, group, version, kind)
            list_kind = str((spec.get("names") or {}).get("listKind") or f"{kind}List")
            found[_custom_name(group_version, list_kind)] = _custom_list(group_version, group, version, kind, list_kind)
    return found


def _custom_schema(schema: Document, group: str, version: str, kind: str) -> Document:
    properties = {
        **(schema.get("properties") or {}),
        **_type_meta(),
        "metadata": _reference(OBJECT_META, f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"),
    }
    return {
        "type": "object",
        **schema,
        "properties": properties,
        "x-kubernetes-group-version-kind": [{"group": group, "kind": kind, "version": version}],
    }


def _custom_list(group_version: str, group: str, version: str, kind: str, list_kind: str) -> Document:
    items = {"type": "array", "items": {"$ref": _COMPONENTS + _custom_name(group_version, kind)}}
    description = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"
    return {
        "type": "object",
        "required": ["items"],
        "properties": {**_type_meta(), "metadata": _reference(_LIST_META, description), "items": items},
        "x-kubernetes-group-version-kind": [{"group": group, "kind": list_kind, "version": version}],
    }


def _type_meta() -> Document:
    """Return the `apiVersion` and `kind` properties with the descriptions of built-in kinds."""
    config_map = _converted("io.k8s.api.core.v1.ConfigMap")["properties"]
    return {name: config_map[name] for name in ("apiVersion", "kind")}


def _reference(name: str, description: str) -> Document:
    return {"allOf": [{"$ref": _COMPONENTS + name}], "description": description}


def _reachable(names: Iterable[str], custom: Mapping[str, Document]) -> dict[str, Document]:
    """Return the built-in definitions reachable from the names, and those used by every path."""
    waiting = [*filter(None, names), *custom, _STATUS, _PATCH, _DELETE_OPTIONS, OBJECT_META, _LIST_META]
    lists = [f"{name}List" for name in waiting if f"{name}List" in definitions()]
    waiting += lists
    found: dict[str, Document] = {}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name in custom or name not in definitions():
            continue
        seen.add(name)
        found[name] = _converted(name)
        waiting += _references(name)
    return found


@cache
def _references(name: str) -> tuple[str, ...]:
    """Return the names of the definitions that a definition references."""
    return tuple(dict.fromkeys(_references_in(definitions()[name])))


def _references_in(node: Any) -> Iterable[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix(REFERENCE)
        for value in node.values():
            yield from _references_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references_in(value)


@cache
def _converted(name: str) -> Document:
    """Convert a definition to OpenAPI v3."""
    node = definitions()[name]
    converted: Document = _converted_node(node)
    kinds = node.get("x-kubernetes-group-version-kind")
    for field in ("apiVersion", "kind") if kinds else ():
        converted.get("properties", {}).get(field, {}).pop("enum", None)
    return converted


def _converted_node(node: Any) -> Any:
    if isinstance(node, list):
        return [_converted_node(value) for value in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$ref"), str):
        reference = {"$ref": _COMPONENTS + node["$ref"].removeprefix(REFERENCE)}
        beside = {name: value for name, value in node.items() if name != "$ref"}
        return {"allOf": [reference], **beside} if beside else reference
    return {name: _without_null(value) if name == "type" else _converted_node(value) for name, value in node.items()}


def _without_null(types: Any) -> Any:
    """Return the type without "null". The schema of a field named "type" is converted instead."""
    if isinstance(types, dict):
        return _converted_node(types)
    if not isinstance(types, list):
        return types
    return next((name for name in types if name != "null"), "string")


# -- paths -----------------------------------------------------------------------------------------


def _paths(group_version: str, resource: OpenApiResource, schema: str, is_custom: bool) -> Document:
    root = f"/{_path(group_version)}"
    scope = f"{root}/namespaces/{{namespace}}" if resource.is_namespaced else root
    operations = _Operations(group_version, resource.kind, schema, is_custom)
    one = f"{scope}/{resource.plural}/{{name}}"
    paths = {
        f"{scope}/{resource.plural}": _chosen(operations.of_collection(), resource.verbs),
        one: _chosen(operations.of_object(), resource.verbs),
    }
    if resource.is_namespaced and "list" in resource.verbs:
        paths[f"{root}/{resource.plural}"] = _chosen(operations.of_collection(), ("list",))
    if "status" in resource.subresources:
        paths[f"{one}/status"] = _chosen(operations.of_object(), ("get", "update", "patch"))
    return {path: found for path, found in paths.items() if found}


def _chosen(operations: Mapping[str, tuple[str, Document]], verbs: Iterable[str]) -> Document:
    """Return the operations of the verbs, by HTTP method."""
    return {method: operation for verb, (method, operation) in operations.items() if verb in verbs}


class _Operations:
    """Builder of the operations of a kind."""

    def __init__(self, group_version: str, kind: str, schema: str, is_custom: bool) -> None:
        group, _, version = group_version.rpartition("/")
        self._kind = {"group": group, "kind": kind, "version": version}
        self._schema = schema
        self._is_custom = is_custom

    def of_collection(self) -> dict[str, tuple[str, Document]]:
        listed = f"{self._schema}List" if self._schema else ""
        return {
            "list": ("get", self.operation("list", listed, _LIST_PARAMETERS)),
            "create": ("post", self.operation("post", self._schema, _WRITE_PARAMETERS, self._schema)),
            "deletecollection": (
                "delete",
                self.operation("deletecollection", _STATUS, _LIST_PARAMETERS, _DELETE_OPTIONS),
            ),
        }

    def of_object(self) -> dict[str, tuple[str, Document]]:
        parameters = ("dryRun", "gracePeriodSeconds")
        return {
            "get": ("get", self.operation("get", self._schema)),
            "update": ("put", self.operation("put", self._schema, _WRITE_PARAMETERS, self._schema)),
            "patch": ("patch", self.patch()),
            "delete": ("delete", self.operation("delete", _STATUS, parameters, _DELETE_OPTIONS)),
        }

    def operation(self, action: str, answer: str, parameters: Iterable[str] = (), body: str = "") -> Document:
        operation: Document = {
            "responses": {"200": {"description": "OK", "content": _content((_JSON,), answer)}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": self._kind,
        }
        if parameters:
            operation["parameters"] = [_parameter(name) for name in parameters]
        if body:
            operation["requestBody"] = {"content": _content((_JSON,), body)}
        return operation

    def patch(self) -> Document:
        types = CUSTOM_RESOURCE_PATCH_TYPES if self._is_custom else PATCH_TYPES
        operation = self.operation("patch", self._schema, (*_WRITE_PARAMETERS, "force"))
        return {**operation, "requestBody": {"content": _content(types, _PATCH)}}


def _content(media_types: Iterable[str], schema: str) -> Document:
    node = {"$ref": _COMPONENTS + schema} if schema else {"type": "object"}
    return {media_type: {"schema": node} for media_type in media_types}


def _parameter(name: str) -> Document:
    kinds = {
        "allowWatchBookmarks": "boolean",
        "force": "boolean",
        "gracePeriodSeconds": "integer",
        "limit": "integer",
        "sendInitialEvents": "boolean",
        "timeoutSeconds": "integer",
        "watch": "boolean",
    }
    return {"in": "query", "name": name, "schema": {"type": kinds.get(name, "string"), "uniqueItems": True}}
