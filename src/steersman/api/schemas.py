# SPDX-License-Identifier: Apache-2.0
"""The fields of every built-in kind, as Kubernetes v1.36's own OpenAPI document describes them.

The tables are a data file of the package `kubernetes-validate`; its code is never imported (it would bring a JSON schema
validator along). The file is read when a schema is first asked for, and `steersman run` asks for none. Read by the check for
unknown fields and by everything in the API server that has to know what a field is: patches, server-side apply, validation,
OpenAPI documents. A schema of a CustomResourceDefinition is wrapped by the same class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from steersman.errors import InputError

SchemaNode: TypeAlias = Mapping[str, Any]
"""A JSON schema as OpenAPI writes it."""
ListType: TypeAlias = Literal["atomic", "set", "map"]

PACKAGE: Final = "kubernetes-validate"
DATA_FILE: Final = "kubernetes-json-schema/v1.36.0-local/_definitions.json"
REFERENCE: Final = "#/$defs/"
OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

#: Holes for any JSON: the definitions say "object" or nothing at all.
_ANYTHING: Final = frozenset(
    {
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
    }
)
#: Defaults of the keys of lists. The data file has no defaults, and without these `{containerPort: 80}` has no key.
_KEY_DEFAULTS: Final[Mapping[tuple[str, str], Any]] = {
    ("io.k8s.api.core.v1.ContainerPort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.ServicePort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.LocalObjectReference", "name"): "",
}


class FieldSchema:
    """The schema of one field, or of a whole object: its type, and how lists and maps in it are merged."""

    __slots__ = ("_children", "_elements", "_values", "definition", "node")

    def __init__(self, node: SchemaNode) -> None:
        #: Name of the definition that a `$ref` led to, "" without one.
        self.definition: str = ""
        #: The schema with its `$ref` replaced by what that refers to; what stands beside the `$ref` wins.
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
        """`{"string"}`, `{"string", "integer"}` for an int-or-string; empty where any value will do. Never "null"."""
        return _types(self.node)

    @property
    def names(self) -> Iterable[str]:
        """The fields of an object."""
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
        """An object that is owned and replaced as a whole."""
        return self.node.get("x-kubernetes-map-type") == "atomic"

    @property
    def patch_strategies(self) -> frozenset[str]:
        """`merge`, `replace`, `retainKeys`: what a strategic merge patch does with the field."""
        return frozenset(filter(None, str(self.node.get("x-kubernetes-patch-strategy", "")).split(",")))

    @property
    def patch_merge_key(self) -> str:
        """The field by which a strategic merge patch finds an element again, "" if lists are replaced or are of scalars."""
        return str(self.node.get("x-kubernetes-patch-merge-key", ""))

    @property
    def default(self) -> Any:
        """The default of the field itself, None if the schema does not say."""
        return self.node.get("default")

    @property
    def preserves_unknown_fields(self) -> bool:
        """Any field may stand here: the schema does not say which ones there are."""
        if self.node.get("x-kubernetes-preserve-unknown-fields") or self.definition in _ANYTHING:
            return True
        return not self.names and self.values is None and self.types <= {"object"}

    @property
    def elements(self) -> FieldSchema | None:
        """The schema of the elements of a list; None if this is none."""
        if self._elements is None and isinstance(self.node.get("items"), Mapping):
            self._elements = _wrapped(self.node["items"])
        return self._elements

    @property
    def values(self) -> FieldSchema | None:
        """The schema of the values of a map with keys of the user's choice; None if this is none."""
        if self._values is None and isinstance(self.node.get("additionalProperties"), Mapping):
            self._values = _wrapped(self.node["additionalProperties"])
        return self._values

    def child(self, name: str) -> FieldSchema | None:
        """The field of that name, declared or as a value of a map; None for one that is not known."""
        properties: Mapping[str, SchemaNode] = self.node.get("properties") or {}
        if name not in properties:
            return self.values  # and nothing is kept: keys of maps are written by users, who can write without end
        if name not in self._children:
            self._children[name] = self._declared_child(name, properties[name])
        return self._children[name]

    def _declared_child(self, name: str, node: SchemaNode) -> FieldSchema:
        known_default = _KEY_DEFAULTS.get((self.definition, name))
        return _wrapped(node) if known_default is None else FieldSchema({**node, "default": known_default})


@cache
def definitions() -> Mapping[str, SchemaNode]:
    """Every definition by its name, such as `io.k8s.api.core.v1.PodSpec`. Raises `InputError` if the data is not installed."""
    file = _data_file()
    try:
        document = msgspec.json.decode(file.read_bytes())
        found: Mapping[str, SchemaNode] = document["$defs"]
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise InputError(f"the field tables of {PACKAGE} cannot be read: {error}", file=str(file)) from error
    return found


@cache
def definition_names() -> Mapping[tuple[str, str], str]:
    """`("apps/v1", "Deployment")` → the name of its definition."""
    return {
        (f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"], kind["kind"]): name
        for name, node in definitions().items()
        for kind in node.get("x-kubernetes-group-version-kind") or ()
    }


def schema_of(api_version: str, kind: str) -> FieldSchema | None:
    """The schema of a built-in kind; None for others, as custom resources."""
    name = definition_names().get((api_version, kind))
    return None if name is None else definition_schema(name)


@cache
def definition_schema(name: str) -> FieldSchema:
    """The schema of a definition, the same one for everyone who refers to it."""
    return FieldSchema({"$ref": REFERENCE + name})


def _wrapped(node: SchemaNode) -> FieldSchema:
    """Plain references share one `FieldSchema`; everything else gets its own."""
    reference = _reference(node)
    if reference and not any(name.startswith("x-") or name == "default" for name in node):
        return definition_schema(reference.removeprefix(REFERENCE))
    return FieldSchema(node)


def _reference(node: SchemaNode) -> str:
    """The target of `$ref`, or of the only member of `allOf`, as OpenAPI writes a reference with something beside it."""
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
    """Found without importing the package."""
    spec = find_spec(PACKAGE.replace("-", "_"))
    locations = list(spec.submodule_search_locations or ()) if spec is not None else []
    for location in locations:
        file = Path(location, DATA_FILE)
        if file.is_file():
            return file
    if not locations:
        raise InputError(f"the package {PACKAGE} is not installed", hint=f'use "pip install {PACKAGE}"')
    raise InputError(f"the package {PACKAGE} has no {DATA_FILE}", hint=f'use "pip install --upgrade {PACKAGE}"')
