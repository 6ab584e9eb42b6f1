# SPDX-License-Identifier: Apache-2.0
"""Schemas of CustomResourceDefinitions: which are structural, and what they make of objects.

`defaulted` fills in defaults, `pruned` drops fields that the schema does not specify, `problems_of` finds what is wrong with an
object (`schema_validation` has the rules), `custom_resource_schema` is the schema as patches and server-side apply need it:
with the metadata that every object has.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.schemas import OBJECT_META, REFERENCE, FieldSchema
from steersman.api.validation.field_errors import FieldError
from steersman.apiserver.schema_validation import NOWHERE, broken_rules, has_rules, problems_of_value
from steersman.cel.validation_rules import problem_of_rule
from steersman.embedded.documents import Document

RULES_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_BLOCKING: Final = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
"""Problems after which rules are not evaluated: they could not be relied on."""
_META_FIELDS: Final = ("apiVersion", "kind", "metadata")
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_LOGICAL: Final = ("allOf", "anyOf", "oneOf", "not")
_VALUE_VALIDATIONS_ONLY: Final = ("type", "default", "additionalProperties", "nullable", "title", "description")
"""Fields that the branches of allOf, anyOf, oneOf and not must not have: they validate, the schema around them describes."""


def version_schema(crd: Document, version: str) -> Document | None:
    """`openAPIV3Schema` of a version; None if the version is not served, {} if it has no schema."""
    for entry in (crd.get("spec") or {}).get("versions") or ():
        if entry.get("name") == version and entry.get("served"):
            schema: Document = (entry.get("schema") or {}).get("openAPIV3Schema") or {}
            return schema
    return None


def custom_resource_schema(schema: Mapping[str, Any]) -> FieldSchema:
    """The schema with `apiVersion`, `kind` and the `metadata` of all objects."""
    properties = {
        **(schema.get("properties") or {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": REFERENCE + OBJECT_META},
    }
    preserves = not schema.get("properties") or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    node = {**schema, "type": "object", "properties": properties}
    return FieldSchema({**node, "x-kubernetes-preserve-unknown-fields": True} if preserves else node)


# -- objects -------------------------------------------------------------------------------------------------------------


def problems_of(document: Document, schema: Mapping[str, Any], old: Document | None = None) -> list[FieldError]:
    """Everything that the schema, its formats and its rules have against the object; `old` is what an update replaces."""
    own = _without_meta(document)
    before = None if old is None else _without_meta(old)
    problems = list(problems_of_value(own, {**schema, "type": "object"}, ""))
    if not has_rules(schema):
        return problems
    if any(problem.reason in _BLOCKING for problem in problems):
        return [*problems, FieldError.invalid(NOWHERE, None, RULES_NOT_CHECKED)]
    return [*problems, *broken_rules(own, schema, "", before)]


def _without_meta(document: Document) -> Document:
    """Metadata is validated as that of every object; only its name is visible to schemas."""
    metadata = {
        name: value for name, value in (document.get("metadata") or {}).items() if name in ("name", "generateName")
    }
    return {**document, "metadata": metadata}


def defaulted(document: Document, schema: Mapping[str, Any]) -> Document:
    """The object with the defaults of absent fields; null where a field is not nullable is an absent field."""
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
    """The object without fields that the schema does not specify."""
    properties = {**(schema.get("properties") or {}), **dict.fromkeys(_META_FIELDS, _EVERYTHING)}
    result: Document = _pruned(document, {**schema, "properties": properties})
    return result


_EVERYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}


def _pruned(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        items = schema.get("items")
        return [_pruned(element, items) for element in value] if isinstance(items, Mapping) else value
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
            yield name, _pruned(member, properties[name])
        elif isinstance(others, Mapping):
            yield name, _pruned(member, others)
        elif others or preserves or (is_embedded and name in _META_FIELDS):
            yield name, member


def unspecified_fields(document: Document, schema: Mapping[str, Any]) -> list[str]:
    """Paths of fields that `pruned` drops, for `fieldValidation`."""
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


# -- definitions ---------------------------------------------------------------------------------------------------------


def problems_of_definition(crd: Document) -> list[FieldError]:
    """The problems that keep the schemas of a CustomResourceDefinition from being structural."""
    problems: list[FieldError] = []
    for index, version in enumerate((crd.get("spec") or {}).get("versions") or ()):
        path = f"spec.versions[{index}].schema.openAPIV3Schema"
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if not isinstance(schema, dict):
            problems.append(FieldError.required(path, "schemas are required"))
            continue
        if schema.get("type") != "object":
            problems.append(_root_type(path, schema.get("type")))
        problems += _structural_problems(schema, path, is_root=True)
    return problems


def _root_type(path: str, found: Any) -> FieldError:
    if not found:
        return FieldError.required(f"{path}.type", "must not be empty at the root")
    return FieldError.invalid(f"{path}.type", found, "must be object at the root")


def _structural_problems(schema: Mapping[str, Any], path: str, *, is_root: bool = False) -> Iterator[FieldError]:
    is_typed = schema.get("type") or schema.get("x-kubernetes-int-or-string")
    if not is_root and not is_typed and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield FieldError.required(f"{path}.type", _type_detail(path))
    if schema.get("type") and schema["type"] not in _TYPES:
        yield FieldError.not_supported(f"{path}.type", schema["type"], _TYPES)
    if schema.get("properties") and schema.get("additionalProperties"):
        yield FieldError.forbidden(
            f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    if schema.get("type") == "array" and not isinstance(schema.get("items"), Mapping):
        yield FieldError.required(f"{path}.items", "must be specified")
    yield from _list_type_problems(schema, path)
    yield from _rule_problems(schema, path)
    yield from _branch_problems(schema, path)
    for name, child in (schema.get("properties") or {}).items():
        yield from _structural_problems(child, f"{path}.properties[{name}]")
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), Mapping):
            yield from _structural_problems(schema[name], f"{path}.{name}")


def _type_detail(path: str) -> str:
    if path.endswith(".items"):
        return "must not be empty for specified array items"
    return "must not be empty for specified object fields"


def _list_type_problems(schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    keys, kind = schema.get("x-kubernetes-list-map-keys") or (), schema.get("x-kubernetes-list-type")
    if kind not in (None, "atomic", "set", "map"):
        yield FieldError.not_supported(f"{path}.x-kubernetes-list-type", kind, ("atomic", "map", "set"))
    if kind == "map" and not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        yield FieldError.required(f"{path}.x-kubernetes-list-map-keys", detail)
    elements = (schema.get("items") or {}).get("properties") or {}
    for key in keys if kind == "map" else ():
        if key not in elements:
            detail = "entries must all be names of item properties"
            yield FieldError.invalid(f"{path}.x-kubernetes-list-map-keys", list(keys), detail)
            return


def _rule_problems(schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        where = f"{path}.x-kubernetes-validations[{index}].rule"
        expression = rule.get("rule")
        if not isinstance(expression, str) or not expression.strip():
            yield FieldError.required(where, "rule is not specified")
            continue
        problem = problem_of_rule(expression)
        if problem is not None:
            yield FieldError.invalid(where, expression, problem)


def _branch_problems(schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    for name in _LOGICAL:
        branches = schema.get(name) or ()
        listed = (
            [(f"{path}.{name}", branches)] if isinstance(branches, Mapping) else _numbered(branches, f"{path}.{name}")
        )
        for where, branch in listed:
            for forbidden in _VALUE_VALIDATIONS_ONLY:
                if forbidden in branch and not (schema.get("x-kubernetes-int-or-string") and forbidden == "type"):
                    yield FieldError.forbidden(f"{where}.{forbidden}", "must be empty to be structural")


def _numbered(branches: Any, path: str) -> list[tuple[str, Mapping[str, Any]]]:
    return [(f"{path}[{index}]", branch) for index, branch in enumerate(branches) if isinstance(branch, Mapping)]
