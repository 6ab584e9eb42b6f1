# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions that a kube-apiserver refuses, with its fields and messages."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.custom_resources import definition

from steersman.cluster.apiserver.custom_resources import with_definition_defaults
from steersman.cluster.apiserver.definition_schemas import schema_errors
from steersman.cluster.apiserver.definition_validation import definition_errors

OBJECT = {"type": "object"}
RULE = "x-kubernetes-validations"


def errors(spec: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    document = definition()
    document["spec"] |= spec
    return [str(error) for error in definition_errors(with_definition_defaults(document), old)]


def errors_of_version(**fields: Any) -> list[str]:
    version = definition()["spec"]["versions"][0]
    return errors({"versions": [{**version, **fields}]})


def errors_of_schema(schema: dict[str, Any]) -> list[str]:
    return [str(error) for error in schema_errors(schema, "s", has_status=False)]


def with_property(schema: dict[str, Any]) -> dict[str, Any]:
    return {**OBJECT, "properties": {"a": schema}}


def test_a_definition_with_most_of_what_schemas_can_say_is_valid() -> None:
    assert errors({}) == []


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"group": "example"}, 'spec.group: Invalid value: "example": should be a domain with at least one dot'),
        (
            {"scope": "namespaced"},
            'spec.scope: Unsupported value: "namespaced": supported values: "Cluster", "Namespaced"',
        ),
        ({"scope": None}, "spec.scope: Required value"),
        ({"versions": []}, "spec.versions: Invalid value: []: must have exactly one version marked as storage version"),
        ({"versions": []}, "status.storedVersions: Invalid value: null: must have at least one stored version"),
        (
            {"names": {"plural": "databases", "kind": "Database", "listKind": "Database"}},
            "kind and listKind may not be the same",
        ),
        (
            {"names": {"plural": "databases", "kind": "Database", "shortNames": ["A"]}},
            "spec.names.shortNames[0]: Invalid value",
        ),
        ({"conversion": {"strategy": "Webhook"}}, "spec.conversion.conversionReviewVersions: Required value"),
        (
            {"preserveUnknownFields": True},
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec",
        ),
        (
            {"group": "x.k8s.io"},
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have",
        ),
    ],
)
def test_a_wrong_spec_is_refused(spec: dict[str, Any], error: str) -> None:
    assert any(error in found for found in errors(spec)), errors(spec)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"name": "V1"}, 'spec.versions[0].name: Invalid value: "V1": a DNS-1035 label must consist of'),
        ({"name": "V1"}, 'spec.version: Invalid value: "V1": a DNS-1035 label must consist of'),
        ({"schema": {}}, "spec.versions[0].schema.openAPIV3Schema: Required value"),
        ({"storage": False}, 'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,'),
        (
            {"additionalPrinterColumns": [{"name": "a", "type": "text", "jsonPath": ".spec"}]},
            'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
        ),
        (
            {"subresources": {"scale": {"specReplicasPath": "spec.size"}}},
            'spec.subresources.scale.specReplicasPath: Invalid value: "spec.size": must be a simple json path starting with .',
        ),
        ({"subresources": {"scale": {}}}, "spec.subresources.scale.statusReplicasPath: Required value"),
        (
            {"selectableFields": [{"jsonPath": ".spec.missing"}]},
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec.missing": is an invalid path: does not refer to a valid '
            "field",
        ),
        (
            {"deprecationWarning": "old"},
            'deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
        ),
    ],
)
def test_a_wrong_version_is_refused(fields: dict[str, Any], error: str) -> None:
    assert any(error in found for found in errors_of_version(**fields)), errors_of_version(**fields)


def test_errors_name_the_version_if_versions_differ() -> None:
    version = definition()["spec"]["versions"][0]
    other = {**version, "name": "v2", "storage": False, "schema": {"openAPIV3Schema": {}}}
    found = errors({"versions": [version, other]})
    assert found == ["spec.versions[1].schema.openAPIV3Schema.type: Required value: must not be empty at the root"]


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({}, ["s.type: Required value: must not be empty at the root"]),
        (
            {"type": "array"},
            [
                "s.items: Required value: must be specified",
                's.type: Invalid value: "array": must be object at the root',
            ],
        ),
        ({**OBJECT, "nullable": True}, ["s.nullable: Forbidden: nullable cannot be true at the root"]),
        (with_property({}), ["s.properties[a].type: Required value: must not be empty for specified object fields"]),
        (with_property({"$ref": "#/x"}), ["s.properties[a].$ref: Forbidden: $ref is not supported"]),
        (
            with_property({"type": "array", "items": {}}),
            ["s.properties[a].items.type: Required value: must not be empty for specified array items"],
        ),
        (
            with_property({"type": "string", "pattern": "["}),
            [
                's.properties[a].pattern: Invalid value: "[": must be a valid regular expression, but isn\'t: error parsing '
                "regexp: missing closing ]: `[`"
            ],
        ),
        (
            with_property({"type": "integer", "default": "x"}),
            ['s.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"'],
        ),
        (
            with_property({**OBJECT, "default": {"x": 1}}),
            ['s.properties[a].default: Invalid value: {"x":1}: must not have unknown fields'],
        ),
        ({**OBJECT, "anyOf": [OBJECT]}, ["s.anyOf[0].type: Forbidden: must be empty to be structural"]),
        (
            {**OBJECT, "anyOf": [{"properties": {"a": {"minimum": 1}}}]},
            ["s.properties[a]: Required value: because it is defined in s.anyOf[0].properties[a]"],
        ),
        (
            {**OBJECT, "properties": {"metadata": {**OBJECT, "properties": {"labels": OBJECT}}}},
            [
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata "
                "is implicitly specified"
            ],
        ),
        (
            with_property({"type": "array", "items": OBJECT, "x-kubernetes-list-type": "map"}),
            [
                "s.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"
            ],
        ),
        (
            with_property({**OBJECT, RULE: [{"rule": " "}]}),
            [f"s.properties[a].{RULE}[0].rule: Required value: rule is not specified"],
        ),
    ],
)
def test_a_wrong_schema_is_refused(schema: dict[str, Any], found: list[str]) -> None:
    assert errors_of_schema(schema) == found


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("self.missing > 1", "compilation failed: ERROR: <input>:1:5: undefined field 'missing'"),
        ("self.text > 1", "found no matching overload for '_>_' applied to '(string, int)'"),
        ("self.text", "cel expression must evaluate to a bool"),
        ("self.text +", "compilation failed: ERROR: <input>:1:12: Syntax error"),
    ],
)
def test_a_rule_is_checked_with_the_types_of_its_schema(rule: str, error: str) -> None:
    schema = {**OBJECT, "properties": {"text": {"type": "string"}}, RULE: [{"rule": rule}]}
    found = errors_of_schema(schema)
    assert len(found) == 1
    assert error in found[0]
    assert found[0].startswith(f"s.{RULE}[0].rule: Invalid value: " + '{"Rule":"self.')


@pytest.mark.parametrize(
    "rule",
    [
        "self.metadata.name != self.kind",
        "self.my__dash__name == 'a'",
        "self.list.all(x, x > 1)",
        "self.port == 1 || has(self.map.a)",
    ],
)
def test_a_rule_may_use_everything_that_its_schema_declares(rule: str) -> None:
    properties = {
        "my-name": {"type": "string"},
        "list": {"type": "array", "maxItems": 3, "items": {"type": "integer"}},
        "port": {"x-kubernetes-int-or-string": True},
        "map": {**OBJECT, "additionalProperties": {"type": "string"}},
    }
    assert errors_of_schema({**OBJECT, "properties": properties, RULE: [{"rule": rule}]}) == []


def test_the_scope_of_an_established_definition_is_immutable() -> None:
    old = definition()
    old["status"] = {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]}
    assert errors({"scope": "Cluster"}, old) == ['spec.scope: Invalid value: "Cluster": field is immutable']
