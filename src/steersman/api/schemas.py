# SPDX-License-Identifier: Apache-2.0
"""Fields of all built-in kinds, from the OpenAPI document of Kubernetes v1.36 and
`added_definitions`.

The tables are a data file of the package `kubernetes-validate`, whose code is never imported (it
would import a JSON schema validator). The file is read at the first request for a schema, which
`steersman run` never makes. Used by the check for unknown fields and by the API server: patches,
server-side apply, validation, OpenAPI documents. Schemas of CustomResourceDefinitions use the same
class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from steersman.api.added_definitions import added_definitions
from steersman.base import InputError

SchemaNode: TypeAlias = Mapping[str, Any]
"""JSON schema in OpenAPI notation."""
ListType: TypeAlias = Literal["atomic", "set", "map"]

PACKAGE: Final = "kubernetes-validate"
DATA_FILE: Final = "kubernetes-json-schema/v1.36.0-local/_definitions.json"
REFERENCE: Final = "#/$defs/"
OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

#: Definitions that allow any JSON, declared as "object" or without a type.
_ANYTHING: Final = frozenset(
    {
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
    }
)
#: Defaults of list keys, which the data file lacks; without them, `{containerPort: 80}` has no key.
_KEY_DEFAULTS: Final[Mapping[tuple[str, str], Any]] = {
    ("io.k8s.api.core.v1.ContainerPort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.ServicePort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.LocalObjectReference", "name"): "",
}


class FieldSchema:
    """Schema of a field or object: its type, and how its lists and maps are merged."""

    __slots__ = ("_children", "_elements", "_values", "definition", "node")

    def __init__(self, node: SchemaNode) -> None:
        #: Name of the referenced definition, or "".
        self.definition: str = ""
        #: Schema with its `$ref` resolved; siblings of the `$ref` take precedence.
        self.node: SchemaNode = node
        reference = _reference(node)
        if reference:
            self.definition = reference.removeprefix(REFERENCE)
            beside = {name: value for name, value in node.items() if name not in ("$ref", "allOf")}
            self.node = {**definitions()[self.definition], **beside}
        self._children: dict[str, FieldSchema] = {}
        self._elements: FieldSchema | None = None
        self._values: FieldSchema | None = None

    @property
    def types(self) -> frozenset[str]:
        """Types such as `{"string"}`, or `{"string", "integer"}` for int-or-string; empty for any
        type. Never "null"."""
        return _types(self.node)

    @property
    def names(self) -> Iterable[str]:
        """Names of an object's fields."""
        properties: Mapping[str, Any] = self.node.get("properties") or {}
        return properties.keys()

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(self.node.get("required") or ())

    @property
    def list_type(self) -> ListType:
        found: ListType = self.node.get("x-kubernetes-list-type") or "atomic"
        return found

    @property
    def list_map_keys(self) -> tuple[str, ...]:
        return tuple(self.node.get("x-kubernetes-list-map-keys") or ())

    @property
    def is_atomic_map(self) -> bool:
        """Whether the object is owned and replaced as a whole."""
        return self.node.get("x-kubernetes-map-type") == "atomic"

    @property
    def patch_strategies(self) -> frozenset[str]:
        """Strategies of strategic merge patches: `merge`, `replace`, `retainKeys`."""
        return frozenset(filter(None, str(self.node.get("x-kubernetes-patch-strategy", "")).split(",")))

    @property
    def patch_merge_key(self) -> str:
        """Merge key of list elements in strategic merge patches, or ""."""
        return str(self.node.get("x-kubernetes-patch-merge-key", ""))

    @property
    def default(self) -> Any:
        """Default value of the field, or None."""
        return self.node.get("default")

    @property
    def preserves_unknown_fields(self) -> bool:
        """Whether any field is allowed, because the schema declares none."""
        if self.node.get("x-kubernetes-preserve-unknown-fields") or self.definition in _ANYTHING:
            return True
        return not self.names and self.values is None and self.types <= {"object"}

    @property
    def elements(self) -> FieldSchema | None:
        """Schema of list elements; None for other types."""
        if self._elements is None and isinstance(self.node.get("items"), Mapping):
            self._elements = _wrapped(self.node["items"])
        return self._elements

    @property
    def values(self) -> FieldSchema | None:
        """Schema of the values of a map with arbitrary keys; None for other types."""
        if self._values is None and isinstance(self.node.get("additionalProperties"), Mapping):
            self._values = _wrapped(self.node["additionalProperties"])
        return self._values

    def child(self, name: str) -> FieldSchema | None:
        """Return the schema of a declared field or map value, or None."""
        properties: Mapping[str, SchemaNode] = self.node.get("properties") or {}
        if name not in properties:
            return self.values  # not cached: users can choose any number of map keys
        if name not in self._children:
            self._children[name] = self._declared_child(name, properties[name])
        return self._children[name]

    def _declared_child(self, name: str, node: SchemaNode) -> FieldSchema:
        known_default = _KEY_DEFAULTS.get((self.definition, name))
        return _wrapped(node) if known_default is None else FieldSchema({**node, "default": known_default})


@cache
def definitions() -> Mapping[str, SchemaNode]:
    """Return all definitions by name, such as `io.k8s.api.core.v1.PodSpec`. Raises `InputError` if
    the data is not installed."""
    file = _data_file()
    try:
        document = msgspec.json.decode(file.read_bytes())
        found: Mapping[str, SchemaNode] = document["$defs"]
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise InputError(f"the field tables of {PACKAGE} cannot be read: {error}", file=str(file)) from error
    return {**found, **dict(added_definitions())}


@cache
def definition_names() -> Mapping[tuple[str, str], str]:
    """Return definition names by version and kind, such as `("apps/v1", "Deployment")`."""
    return {
        (f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"], kind["kind"]): name
        for name, node in definitions().items()
        for kind in node.get("x-kubernetes-group-version-kind") or ()
    }


def schema_of(api_version: str, kind: str) -> FieldSchema | None:
    """Return the schema of a built-in kind; None for others, such as custom resources."""
    name = definition_names().get((api_version, kind))
    return None if name is None else definition_schema(name)


@cache
def definition_schema(name: str) -> FieldSchema:
    """Return the schema of a definition, shared by all references."""
    return FieldSchema({"$ref": REFERENCE + name})


def _wrapped(node: SchemaNode) -> FieldSchema:
    """Return the shared schema for a plain reference, else a new one."""
    reference = _reference(node)
    if reference and not any(name.startswith("x-") or name == "default" for name in node):
        return definition_schema(reference.removeprefix(REFERENCE))
    return FieldSchema(node)


def _reference(node: SchemaNode) -> str:
    """Return the target of `$ref`, or of a single-member `allOf`, OpenAPI's notation for a
    reference with siblings."""
    members = node.get("allOf")
    if isinstance(members, list) and len(members) == 1 and "$ref" in members[0]:
        return str(members[0]["$ref"])
    return str(node.get("$ref", ""))


def _types(node: SchemaNode) -> frozenset[str]:
    if node.get("x-kubernetes-int-or-string"):
        return frozenset({"integer", "string"})
    alternatives = node.get("oneOf")
    if isinstance(alternatives, list):
        return frozenset(name for alternative in alternatives for name in _types(alternative))
    given = node.get("type") or ()
    return frozenset({given} if isinstance(given, str) else given) - {"null"}


def _data_file() -> Path:
    """Locate the file without importing the package."""
    spec = find_spec(PACKAGE.replace("-", "_"))
    locations = list(spec.submodule_search_locations or ()) if spec is not None else []
    for location in locations:
        file = Path(location, DATA_FILE)
        if file.is_file():
            return file
    if not locations:
        raise InputError(f"the package {PACKAGE} is not installed", hint=f'use "pip install {PACKAGE}"')
    raise InputError(f"the package {PACKAGE} has no {DATA_FILE}", hint=f'use "pip install --upgrade {PACKAGE}"')
