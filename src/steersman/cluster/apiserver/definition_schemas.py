# SPDX-License-Identifier: Apache-2.0
"""Validation of CustomResourceDefinition schemas: structural schemas, keywords, defaults,
validation rules.

`schema_errors` covers upstream's `ValidateStructural`, `ValidateDefaults` and
`ValidateCustomResourceDefinitionOpenAPISchema`, in that order. `definition_validation` covers the
rest of a definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from steersman.api import elements, is_same, part
from steersman.api.cel import (
    NO_TYPE,
    CelError,
    compile_pattern,
    is_transition_rule,
    problem_of_message,
    problem_of_rule,
)
from steersman.api.validation import FieldError, go_struct
from steersman.cluster.apiserver.schema_validation import NOWHERE, broken_rules, problems_of_value
from steersman.cluster.apiserver.structural_schemas import pruned_value

Schema: TypeAlias = Mapping[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_META_FIELDS: Final = ("apiVersion", "kind", "metadata")
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_NOT_SUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_EVEN_IF_EMPTY: Final = ("additionalItems", "dependencies", "$ref")
_FORBIDDEN_IN_BRANCHES: Final = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    "x-kubernetes-preserve-unknown-fields": "false",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}
"""Fields that branches (allOf, anyOf, oneOf, not) must not set, and their required state."""
_ROOT_WITH_STATUS: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems "
    "MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"
)
"""Go names of the fields allowed in a root schema with a status subresource."""


def schema_errors(schema: Schema, path: str, *, has_status: bool) -> list[FieldError]:
    """Return the errors of the `openAPIV3Schema` at a path."""
    errors = list(_root_errors(schema, path, has_status))
    checks_rules, unsupported = False, _unsupported(schema)
    if not unsupported:
        undescribed = (_undescribed(branch, schema, path, f"{path}.{place}") for place, branch in _branches(schema))
        found = sorted((*_structural(schema, path, "root"), *chain.from_iterable(undescribed)), key=str)
        found = found or list(_defaults(schema, path))
        checks_rules, errors = not found, errors + found
    walk = _SchemaWalk(checks_rules)
    walk.visit(schema, path, _Place(is_root=True))
    errors += walk.errors + walk.rule_errors
    if not errors and unsupported:
        errors.append(FieldError.invalid(path, "", f"OpenAPIV3Schema '{unsupported}' is not supported"))
    return errors


def _root_errors(schema: Schema, path: str, has_status: bool) -> Iterator[FieldError]:
    allowed = _ROOT_WITH_STATUS.split()
    for name, value in schema.items() if has_status else ():
        go_name = re.sub("^X-kubernetes", "x", name[0].upper() + name[1:])
        go_name = "".join(word[0].upper() + word[1:] for word in go_name.split("-"))
        if name == "type" and value and value != "object":
            detail = (
                'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            )
            yield FieldError.invalid(f"{path}.type", value, detail)
            break
        if go_name not in allowed and value not in (None, "", [], {}, False):
            fields = f"only [{' '.join(allowed)}] fields are allowed at the root of the schema"
            yield FieldError.invalid(path, schema, f"{fields} if the status subresource is enabled")
            break
    if schema.get("nullable"):
        yield FieldError.forbidden(f"{path}.nullable", "nullable cannot be true at the root")


# -- structural schemas ----------------------------------------------------------------------------


def _children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the schemas of properties, items and additional properties with relative paths."""
    if isinstance(schema.get("items"), Mapping):
        yield "items", schema["items"]
    yield from ((f"properties[{name}]", child) for name, child in part(schema, "properties").items())
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield "additionalProperties", schema["additionalProperties"]


def _branches(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for name in ("anyOf", "allOf", "oneOf"):
        yield from ((f"{name}[{index}]", branch) for index, branch in enumerate(elements(schema, name)))
    if isinstance(schema.get("not"), Mapping):
        yield "not", schema["not"]


def _unsupported(schema: Schema) -> str:
    """Return the first keyword forbidden in structural schemas, or "". It hides other errors."""
    for name in ("id", "$schema", "$ref", "patternProperties", "dependencies", "definitions"):
        if schema.get(name):
            return name.removeprefix("$") if name == "$schema" else name
    if schema.get("additionalItems") is not None:
        return "additionalItems"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "x-kubernetes-preserve-unknown-fields"
    below = (_unsupported(child) for _, child in (*_children(schema), *_branches(schema)))
    return "items" if isinstance(schema.get("items"), list) else next(filter(None, below), "")


def _structural(schema: Schema, path: str, level: str) -> Iterator[FieldError]:
    kind, is_embedded = schema.get("type") or "", bool(schema.get("x-kubernetes-embedded-resource"))
    if kind == "array" and not isinstance(schema.get("items"), Mapping):
        yield FieldError.required(f"{path}.items", "must be specified")
    for place, child in _children(schema):
        yield from _structural(child, f"{path}.{place}", "array items" if place == "items" else "object fields")
    if schema.get("additionalProperties") is not None and level == "root":
        yield FieldError.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if schema.get("x-kubernetes-int-or-string"):
        for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if schema.get(name):
                yield FieldError.invalid(f"{path}.{name}", True, "must be false if x-kubernetes-int-or-string is true")
    yield from _validations(schema, path)
    yield from _structural_type(schema, path, level, kind)
    if level == "root" or is_embedded:
        yield from _meta_types(schema, path)
    if level == "root" and "metadata" in part(schema, "properties"):
        yield from _root_metadata(schema["properties"]["metadata"], f"{path}.properties[metadata]")
    if is_embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield FieldError.required(f"{path}.properties", detail)


def _structural_type(schema: Schema, path: str, level: str, kind: str) -> Iterator[FieldError]:
    where, is_embedded = f"{path}.type", schema.get("x-kubernetes-embedded-resource")
    is_open = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if is_embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield FieldError.invalid(where, kind, detail) if kind else FieldError.required(where, detail)
    elif not kind and not is_open:
        place = "at the root" if level == "root" else f"for specified {level}"
        yield FieldError.required(where, f"must not be empty {place}")
    if is_embedded and schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield FieldError.forbidden(f"{path}.additionalProperties", detail)
    if level == "root" and kind and kind != "object":
        yield FieldError.invalid(where, kind, "must be object at the root")


def _meta_types(schema: Schema, path: str) -> Iterator[FieldError]:
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        child = part(schema, "properties").get(name)
        if child is not None and child.get("type") != wanted:
            where = f"{path}.properties[{name}].type"
            yield FieldError.invalid(where, child.get("type") or "", f"must be {wanted}")


def _root_metadata(schema: Schema, path: str) -> Iterator[FieldError]:
    unexpected = {name for name, value in schema.items() if name not in ("type", "properties", "default") and value}
    if unexpected or not part(schema, "properties").keys() <= {"name", "generateName"}:
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield FieldError.forbidden(path, detail)


def _validations(schema: Schema, path: str, *, skips_any_of: bool = False) -> Iterator[FieldError]:
    """Yield the errors of the pattern and of the branches, which may only validate."""
    is_any_of = skips_any_of or is_same(elements(schema, "anyOf"), _INT_OR_STRING)
    first: Schema = next(iter(elements(schema, "allOf")), {})
    is_all_of = is_same(elements(first, "anyOf"), _INT_OR_STRING)
    for place, branch in _branches(schema):
        if not (is_any_of and place.startswith("anyOf")):
            yield from _branch(branch, f"{path}.{place}", skips_any_of=is_all_of and place == "allOf[0]")
    if schema.get("pattern"):
        try:
            compile_pattern(schema["pattern"])
        except CelError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield FieldError.invalid(f"{path}.pattern", schema["pattern"], detail)


def _branch(schema: Schema, path: str, *, skips_any_of: bool = False) -> Iterator[FieldError]:
    yield from _validations(schema, path, skips_any_of=skips_any_of)
    for place, child in _children(schema):
        if place != "additionalProperties":
            yield from _branch(child, f"{path}.{place}")
    for name, wanted in _FORBIDDEN_IN_BRANCHES.items():
        if schema.get(name) or (wanted == "undefined" and schema.get(name) is not None):
            yield FieldError.forbidden(f"{path}.{name}", f"must be {wanted} to be structural")
    if "metadata" in part(schema, "properties"):
        yield FieldError.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _undescribed(branch: Schema, schema: Schema | None, path: str, branch_path: str) -> Iterator[FieldError]:
    """Yield an error for each field of a branch that the enclosing schema does not specify."""
    if schema is None:
        yield FieldError.required(path, f"because it is defined in {branch_path}")
        return
    for place, inner in _branches(branch):
        yield from _undescribed(inner, schema, path, f"{branch_path}.{place}")
    if isinstance(branch.get("items"), Mapping):
        yield from _undescribed(branch["items"], schema.get("items"), f"{path}.items", f"{branch_path}.items")
    for name, child in part(branch, "properties").items():
        place, described = f"properties[{name}]", part(schema, "properties").get(name)
        yield from _undescribed(child, described, f"{path}.{place}", f"{branch_path}.{place}")


def _defaults(schema: Schema, path: str) -> Iterator[FieldError]:
    default, where = schema.get("default"), f"{path}.default"
    if default is not None:
        if not is_same(pruned_value(default, schema), default):
            yield FieldError.invalid(where, default, "must not have unknown fields")
        problems = list(problems_of_value(default, schema, "")) or list(broken_rules(default, schema, "", default))
        for problem in problems:
            below = "" if problem.field in ("", NOWHERE) else f".{problem.field}"
            yield FieldError(problem.reason, f"{where}{below}", problem.body)
    for place, child in _children(schema):
        if place != "additionalProperties":
            yield from _defaults(child, f"{path}.{place}")


# -- keywords and rules ----------------------------------------------------------------------------


class _Place(NamedTuple):
    """Properties of a schema that follow from its position."""

    is_root: bool = False
    is_branch: bool = False
    in_meta: bool = False
    #: Reason why a default is forbidden; "" if it is allowed.
    forbids_default: str = ""
    #: Path of the schema below which old and new values cannot be correlated, or "".
    uncorrelatable: str = ""


class _SchemaWalk:
    """Collector of keyword errors and validation rule errors; the latter are reported last."""

    def __init__(self, checks_rules: bool) -> None:
        self.errors: list[FieldError] = []
        self.rule_errors: list[FieldError] = []
        self._checks_rules = checks_rules

    def visit(self, schema: Schema, path: str, place: _Place) -> None:
        known = len(self.errors)
        self.errors += _keywords(schema, path, place)
        self._visit_children(schema, path, place)
        for where, branch in _branches(schema):
            self.visit(branch, f"{path}.{where}", place._replace(is_root=False, is_branch=True))
        self.errors += _extensions(schema, path)
        for index, rule in enumerate(elements(schema, "x-kubernetes-validations")):
            self.errors += _rule_fields(rule, schema, f"{path}.x-kubernetes-validations[{index}]")
        if self._checks_rules and len(self.errors) == known and not place.is_branch:
            self.rule_errors += _rules(schema, path, place)

    def _visit_children(self, schema: Schema, path: str, place: _Place) -> None:
        is_resource = place.is_root or schema.get("x-kubernetes-embedded-resource")
        for where, child in _children(schema):
            inner = place._replace(is_root=False)
            name = where.removeprefix("properties[").removesuffix("]")
            if where == "additionalProperties" and place.in_meta:
                inner = inner._replace(forbids_default="inside additionalProperties applying to object metadata")
            if is_resource and where.startswith("properties") and name in _META_FIELDS:
                inner = inner._replace(in_meta=True)
                if place.is_root:
                    inner = inner._replace(forbids_default=f"in top-level {name}")
            list_type, map_type = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-map-type")
            if (where == "items" and list_type != "map") or (where.startswith("properties") and map_type == "atomic"):
                inner = inner._replace(uncorrelatable=place.uncorrelatable or path)
            self.visit(child, f"{path}.{where}", inner)


def _keywords(schema: Schema, path: str, place: _Place) -> Iterator[FieldError]:
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        yield FieldError.not_supported(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and place.forbids_default:
        yield FieldError.forbidden(f"{path}.default", f"must not be set {place.forbids_default}")
    for name in _NOT_SUPPORTED:
        if schema.get(name) or (name in _EVEN_IF_EMPTY and schema.get(name) is not None):
            yield FieldError.forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        yield FieldError.forbidden(f"{path}.type", detail)
    if isinstance(schema.get("items"), list):
        yield FieldError.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.in_meta and schema.get("x-kubernetes-embedded-resource"):
        detail = "must not be used inside of resource meta"
        yield FieldError.forbidden(f"{path}.x-kubernetes-embedded-resource", detail)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield FieldError.forbidden(f"{path}.uniqueItems", detail)
    if schema.get("additionalProperties") not in (None, True) and schema.get("properties"):
        detail = "additionalProperties and properties are mutual exclusive"
        yield FieldError.forbidden(f"{path}.additionalProperties", detail)


def _extensions(schema: Schema, path: str) -> Iterator[FieldError]:
    kind, map_type = schema.get("type") or "", schema.get("x-kubernetes-map-type")
    list_type, keys = schema.get("x-kubernetes-list-type"), elements(schema, "x-kubernetes-list-map-keys")
    where = f"{path}.x-kubernetes-list-type"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield FieldError.invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    for name, value, wanted in (("map", map_type, "object"), ("list", list_type, "array")):
        if value is not None and kind != wanted:
            detail = f"must be {wanted} if x-kubernetes-{name}-type is specified"
            yield (
                FieldError.invalid(f"{path}.type", kind, detail)
                if kind
                else FieldError.required(f"{path}.type", detail)
            )
        if name == "map" and value not in (None, "atomic", "granular"):
            yield FieldError.not_supported(f"{path}.x-kubernetes-map-type", value, ("atomic", "granular"))
    if kind == "array" and list_type == "set":
        yield from _set_elements(part(schema, "items"), f"{path}.items")
    if list_type not in (None, "atomic", "set", "map"):
        yield FieldError.not_supported(where, list_type, ("atomic", "set", "map"))
    if keys and list_type != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield FieldError.required(where, detail) if list_type is None else FieldError.invalid(where, list_type, detail)
    if list_type == "map":
        yield from _map_list(schema, path, keys)
    items = part(schema, "items")
    if list_type in ("set", "map") and items.get("nullable"):
        yield FieldError.forbidden(
            f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        )
    for key in keys if list_type == "map" else ():
        yield from _key_property(items, key, f"{path}.items.properties[{key}]")


def _set_elements(items: Schema, path: str) -> Iterator[FieldError]:
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    kind, list_type = items.get("type"), items.get("x-kubernetes-list-type")
    if kind == "array" and list_type not in (None, "atomic"):
        yield FieldError.invalid(f"{path}.x-kubernetes-list-type", list_type, detail)
    if kind == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield FieldError.invalid(f"{path}.x-kubernetes-map-type", list_type, detail)


def _map_list(schema: Schema, path: str, keys: list[Any]) -> Iterator[FieldError]:
    items, where = schema.get("items"), f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        yield FieldError.required(where, "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield FieldError.required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    elif isinstance(items, Mapping) and items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield FieldError.invalid(f"{path}.items.type", items.get("type") or "", detail)
    elif isinstance(items, Mapping):
        seen: set[Any] = set()
        for key in keys:
            child = part(items, "properties").get(key)
            if child is None:
                yield FieldError.invalid(where, keys, "entries must all be names of item properties")
            elif child.get("type") in ("array", "object"):
                detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
                yield FieldError.invalid(f"{path}.items.properties[{key}].type", items["type"], detail)
            if key in seen:
                yield FieldError.invalid(where, keys, "must not contain duplicate entries")
            seen.add(key)


def _key_property(items: Schema, key: str, path: str) -> Iterator[FieldError]:
    found, reason = part(items, "properties").get(key), "this property is in x-kubernetes-list-map-keys, so it"
    if found is not None and key not in elements(items, "required") and found.get("default") is None:
        yield FieldError.required(f"{path}.default", f"{reason} must have a default or be a required property")
    if found is not None and found.get("nullable"):
        yield FieldError.forbidden(f"{path}.nullable", f"{reason} cannot be nullable")


def _rule_fields(rule: Schema, schema: Schema, path: str) -> Iterator[FieldError]:
    text, message, reason = rule.get("rule") or "", rule.get("message") or "", rule.get("reason")
    expression, field = rule.get("messageExpression") or "", rule.get("fieldPath") or ""
    if not text.strip():
        yield FieldError.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield FieldError.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _has_line_breaks(message.strip()):
        yield FieldError.invalid(f"{path}.message", message, "must not contain line breaks")
    elif _has_line_breaks(text.strip()) and not message.strip():
        yield FieldError.required(f"{path}.message", "message must be specified if rule contains line breaks")
    if expression and not expression.strip():
        yield FieldError.required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if reason is not None and reason not in _REASONS:
        yield FieldError.not_supported(f"{path}.reason", reason, _REASONS)
    if field and not field.strip():
        yield FieldError.invalid(f"{path}.fieldPath", field, "must be non-empty if specified")
    if _has_line_breaks(field):
        yield FieldError.invalid(f"{path}.fieldPath", field, "must not contain line breaks")
    if field and not isinstance(schema_at(schema, field), Mapping):
        yield FieldError.invalid(f"{path}.fieldPath", field, "must be a valid path")


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def schema_at(schema: Schema, field: str, *, allows_brackets: bool = True) -> Schema | str:
    """Return the schema at a path such as `.spec['name']`, or an error (`ValidFieldPath`)."""
    rest = field
    while rest:
        found = re.match(r"\.([^.\[\]]+|'(?:[^'\\]|\\.)*')|\['((?:[^'\\]|\\.)*)'\]", rest)
        if rest[0] == "[" and not allows_brackets:
            return "array notation is not allowed"
        if found is None:
            token = re.match(r"[.\[\]]|[^.\[\]]+", rest)
            return (
                "unexpected end of JSON path"
                if rest == "."
                else f"expected [ or . but got: {token[0] if token else ''}"
            )
        name = found[1] if found[1] is not None else found[2]
        child = part(schema, "properties").get(name)
        if schema.get("properties") is None and isinstance(schema.get("additionalProperties"), Mapping):
            child = schema["additionalProperties"]
        if child is None:
            return "does not refer to a valid field"
        schema, rest = child, rest[found.end() :]
    return schema


def _rules(schema: Schema, path: str, place: _Place) -> Iterator[FieldError]:
    for index, rule in enumerate(elements(schema, "x-kubernetes-validations")):
        where, text, expression = (
            f"{path}.x-kubernetes-validations[{index}]",
            rule["rule"],
            rule.get("messageExpression"),
        )
        zeros = {
            "Rule": "",
            "Message": "",
            "MessageExpression": "",
            "Reason": None,
            "FieldPath": "",
            "OptionalOldSelf": None,
        }
        value, is_root = go_struct(rule, **zeros), place.is_root
        problem = problem_of_rule(text, schema, is_root=is_root)
        if problem == NO_TYPE:
            yield FieldError("InternalError", f"{path}.x-kubernetes-validations", f"Internal error: {NO_TYPE}")
            return
        if problem is not None:
            yield FieldError.invalid(f"{where}.rule", value, problem)
        if expression and (problem := problem_of_message(expression, schema, is_root=is_root)) is not None:
            yield FieldError.invalid(f"{where}.messageExpression", value, problem)
        if is_transition_rule(text) and place.uncorrelatable:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelatable}"
            yield FieldError.invalid(f"{where}.rule", text, detail)
        elif not is_transition_rule(text) and rule.get("optionalOldSelf") is not None:
            detail = "may not be set if oldSelf is not used in rule"
            yield FieldError.invalid(f"{where}.optionalOldSelf", rule["optionalOldSelf"], detail)
