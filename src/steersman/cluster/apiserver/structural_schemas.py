# SPDX-License-Identifier: Apache-2.0
"""Schemas of CustomResourceDefinitions applied to objects.

`defaulted` adds defaults, `pruned` drops unspecified fields, `problems_of` validates an object
(`schema_validation` has the rules), `custom_resource_schema` adds the common metadata, for patches
and server-side apply.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from steersman.api import OBJECT_META, REFERENCE, FieldSchema
from steersman.api.validation import FieldError
from steersman.cluster.apiserver.schema_validation import NOWHERE, broken_rules, has_rules, problems_of_value
from steersman.cluster.store.documents import Document

RULES_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_BLOCKING: Final = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
"""Problems that prevent the evaluation of rules, because results would be unreliable."""
_META_FIELDS: Final = ("apiVersion", "kind", "metadata")


def version_schema(crd: Document, version: str) -> Document | None:
    """Return the `openAPIV3Schema` of a version; None if not served, {} without schema."""
    for entry in (crd.get("spec") or {}).get("versions") or ():
        if entry.get("name") == version and entry.get("served"):
            schema: Document = (entry.get("schema") or {}).get("openAPIV3Schema") or {}
            return schema
    return None


def custom_resource_schema(schema: Mapping[str, Any]) -> FieldSchema:
    """Return the schema with the common `apiVersion`, `kind` and `metadata`."""
    properties = {
        **(schema.get("properties") or {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": REFERENCE + OBJECT_META},
    }
    preserves = not schema.get("properties") or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    node = {**schema, "type": "object", "properties": properties}
    return FieldSchema({**node, "x-kubernetes-preserve-unknown-fields": True} if preserves else node)


# -- objects ---------------------------------------------------------------------------------------


def problems_of(
    document: Document, schema: Mapping[str, Any], old: Document | None = None, others: Iterable[FieldError] = ()
) -> list[FieldError]:
    """Return the errors of the object that replaces `old`: schema, formats and rules. Rules are
    skipped if its errors, including `others`, could mislead them."""
    own = _without_meta(document)
    before = None if old is None else _without_meta(old)
    problems = list(problems_of_value(own, {**schema, "type": "object"}, ""))
    if not has_rules(schema):
        return problems
    if any(problem.reason in _BLOCKING for problem in (*others, *problems)):
        return [*problems, FieldError.invalid(NOWHERE, None, RULES_NOT_CHECKED)]
    return [*problems, *broken_rules(own, schema, "", before)]


def _without_meta(document: Document) -> Document:
    """Reduce metadata to the names: it is validated separately, without the schema."""
    metadata = {
        name: value for name, value in (document.get("metadata") or {}).items() if name in ("name", "generateName")
    }
    return {**document, "metadata": metadata}


def defaulted(document: Document, schema: Mapping[str, Any]) -> Document:
    """Return the object with defaults of absent fields; null counts as absent if not nullable."""
    properties = {name: node for name, node in (schema.get("properties") or {}).items() if name not in _META_FIELDS}
    result: Document = _defaulted(document, {**schema, "properties": properties})
    return result


def _defaulted(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        items = schema.get("items")
        return [_defaulted(element, items) for element in value] if isinstance(items, Mapping) else value
    if not isinstance(value, dict):
        return value
    properties: Mapping[str, Any] = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    result: Document = {}
    for name, member in value.items():
        node = properties.get(name, values if isinstance(values, Mapping) else None)
        if member is None and isinstance(node, Mapping) and not node.get("nullable"):
            continue
        result[name] = _defaulted(member, node) if isinstance(node, Mapping) else member
    for name, node in properties.items():
        if name not in result and isinstance(node, Mapping) and node.get("default") is not None:
            result[name] = _defaulted(copy.deepcopy(node["default"]), node)
    return result


def pruned(document: Document, schema: Mapping[str, Any]) -> Document:
    """Return the object without fields that the schema does not specify."""
    properties = {**(schema.get("properties") or {}), **dict.fromkeys(_META_FIELDS, _EVERYTHING)}
    result: Document = pruned_value(document, {**schema, "properties": properties})
    return result


_EVERYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}


def pruned_value(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value without fields that its schema does not specify."""
    if isinstance(value, list):
        items = schema.get("items")
        return [pruned_value(element, items) for element in value] if isinstance(items, Mapping) else value
    if not isinstance(value, dict):
        return value
    return dict(_kept_members(value, schema))


def _kept_members(value: Document, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    is_embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    preserves = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    for name, member in value.items():
        if isinstance(properties.get(name), Mapping):
            yield name, pruned_value(member, properties[name])
        elif isinstance(others, Mapping):
            yield name, pruned_value(member, others)
        elif others or preserves or (is_embedded and name in _META_FIELDS):
            yield name, member


def unspecified_fields(document: Document, schema: Mapping[str, Any]) -> list[str]:
    """Return the paths of fields that `pruned` drops, for `fieldValidation`."""
    return list(_dropped(document, pruned(document, schema), ""))


def _dropped(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name, member in before.items():
            where = f"{path}.{name}" if path else name
            if name not in after:
                yield where
            else:
                yield from _dropped(member, after[name], where)
    elif isinstance(before, list) and isinstance(after, list):
        for index, (left, right) in enumerate(zip(before, after, strict=True)):
            yield from _dropped(left, right, f"{path}[{index}]")
