# SPDX-License-Identifier: Apache-2.0
"""OpenAPI definitions of kinds that are newer than the data file of `schemas`: pod groups of
Kubernetes v1.37.

`added_definitions.json` declares them. A field is written as its type: a scalar, a structure,
`[Type]` for an atomic list, `[Type:key]` for a list that is merged by a key; `!` marks required
fields. The sandbox serves these kinds only with their feature gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

Fields = Mapping[str, str]

GROUP: Final = "scheduling.k8s.io"
_PACKAGE: Final = "io.k8s.api.scheduling"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_REFERENCE: Final = "#/$defs/"

_TABLES: Final[dict[str, dict[str, Any]]] = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes())
GATES_OF_KINDS: Final[Mapping[tuple[str, str], str]] = {
    (api_version, kind): gate
    for name, gate in _TABLES["gates"].items()
    for api_version, _, kind in (name.rpartition("/"),)
}
"""Feature gates by version and kind; no Kubernetes version serves these kinds without their
gate."""
ADDED_IN: Final = "1.37"
"""The first version that serves these kinds."""

_SCALARS: Final[Mapping[str, Mapping[str, Any]]] = {
    "string": {"type": ["string", "null"]},
    "int32": {"format": "int32", "type": ["integer", "null"]},
}
_UNION: Final = "|"
"""Name of the entry that lists the members of a union."""
_RETAINS_KEYS: Final = frozenset({"resourceClaims", "resourceClaimStatuses"})


def added_definitions() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the definitions by name, such as `io.k8s.api.scheduling.v1beta1.PodGroup`."""
    for version in dict.fromkeys(api_version.rpartition("/")[2] for api_version, _ in GATES_OF_KINDS):
        prefix = f"{_PACKAGE}.{version}."
        for name, fields in _TABLES["structures"].items():
            yield prefix + name, _structure(name, fields, prefix)
        for api_version, kind in GATES_OF_KINDS:
            if api_version == f"{GROUP}/{version}":
                yield prefix + kind, _kind(kind, _TABLES["kinds"][kind], prefix)
                yield f"{prefix}{kind}List", _list(kind, prefix)


def _structure(name: str, fields: Fields, prefix: str) -> dict[str, Any]:
    node: dict[str, Any] = {"type": ["object", "null"]}
    declared = {field: notation for field, notation in fields.items() if field != _UNION}
    if declared:
        node["properties"] = {field: _field(name, field, notation, prefix) for field, notation in declared.items()}
    if required := sorted(field for field, notation in declared.items() if notation.endswith("!")):
        node["required"] = required
    if members := fields.get(_UNION):
        discriminated = {member: member[0].upper() + member[1:] for member in members.split()}
        node["x-kubernetes-unions"] = [{"fields-to-discriminateBy": discriminated}]
    return node


def _field(structure: str, field: str, notation: str, prefix: str) -> dict[str, Any]:
    kind = notation.removesuffix("!")
    if not kind.startswith("["):
        node = {**_SCALARS[kind]} if kind in _SCALARS else {"$ref": _reference(kind, prefix)}
        default = _TABLES["defaults"].get(f"{structure}.{field}")
        return node if default is None else {**node, "default": default}
    element, _, key = kind.strip("[]").partition(":")
    node = {"items": {"$ref": _reference(element, prefix)}, "type": ["array", "null"]}
    if not key:
        return {**node, "x-kubernetes-list-type": "atomic"}
    node |= {"x-kubernetes-list-map-keys": [key], "x-kubernetes-list-type": "map"}
    if element in ("PodGroupTemplate", "CompositePodGroupTemplate"):
        return node
    strategy = "merge,retainKeys" if field in _RETAINS_KEYS else "merge"
    return node | {"x-kubernetes-patch-merge-key": key, "x-kubernetes-patch-strategy": strategy}


def _reference(kind: str, prefix: str) -> str:
    return f"{_REFERENCE}{_META}.{kind}" if kind == "Condition" else f"{_REFERENCE}{prefix}{kind}"


def _kind(kind: str, fields: Fields, prefix: str) -> dict[str, Any]:
    node = _structure(kind, fields, prefix)
    return _identified(node, kind, "ObjectMeta", prefix)


def _list(kind: str, prefix: str) -> dict[str, Any]:
    items = {"items": {"$ref": f"{_REFERENCE}{prefix}{kind}"}, "type": "array"}
    node = {"type": ["object", "null"], "properties": {"items": items}, "required": ["items"]}
    return _identified(node, f"{kind}List", "ListMeta", prefix)


def _identified(node: dict[str, Any], kind: str, metadata: str, prefix: str) -> dict[str, Any]:
    """Return the structure as one with a kind and metadata."""
    version = prefix.split(".")[-2]
    own = {
        "apiVersion": {"type": ["string", "null"], "enum": [f"{GROUP}/{version}"]},
        "kind": {"type": ["string", "null"], "enum": [kind]},
        "metadata": {"$ref": f"{_REFERENCE}{_META}.{metadata}"},
    }
    identity = {"group": GROUP, "kind": kind, "version": version}
    return {**node, "properties": {**own, **node["properties"]}, "x-kubernetes-group-version-kind": [identity]}
