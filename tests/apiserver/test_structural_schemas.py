# SPDX-License-Identifier: Apache-2.0
"""Schemas of custom resources: validation, defaults, pruning, and which schemas are structural.

`tests/e2e/apiserver` holds the same objects against a real kube-apiserver.
"""

from __future__ import annotations

import pytest
from tests.apiserver.custom_resources import INVALID, SCHEMA, VALID, database, definition

from steersman.cluster.apiserver.invalid_objects import InvalidObject, refuse
from steersman.cluster.apiserver.structural_schemas import (
    custom_resource_schema,
    defaulted,
    problems_of,
    pruned,
    unspecified_fields,
    version_schema,
)

TEXTS = {
    "type": 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
    "type-of-object": 'spec.labels: Invalid value: "array": spec.labels in body must be of type object: "array"',
    "type-of-element": 'spec.tags[0]: Invalid value: "integer": spec.tags[0] in body must be of type string: "integer"',
    "number": 'spec.ratio: Invalid value: "string": spec.ratio in body must be of type number: "string"',
    "fraction": 'spec.size: Invalid value: "number": spec.size in body must be of type integer: "number"',
    "minimum": "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
    "maximum": "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10",
    "exclusive": "spec.ratio: Invalid value: 0: spec.ratio in body should be greater than 0",
    "enum": 'spec.mode: Unsupported value: "medium": supported values: "fast", "slow"',
    "pattern": "spec.name: Invalid value: \"AB\": spec.name in body should match '^[a-z]+$'",
    "short": 'spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long',
    "long": "spec.name: Too long: may not be more than 5 bytes",
    "int-or-string": 'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
    "format": 'spec.when: Invalid value: "yesterday": spec.when in body must be of type date-time: "yesterday"',
    "address": 'spec.address: Invalid value: "1.2.3": spec.address in body must be of type ipv4: "1.2.3"',
    "set": 'spec.tags[2]: Duplicate value: "a"',
    "many": "spec.tags: Too many: 4: must have at most 3 items",
    "few": "spec.hosts: Invalid value: 0: spec.hosts in body should have at least 1 items",
    "keys": 'spec.hosts[1]: Duplicate value: {"host":"a"}',
    "required-in-element": "spec.hosts[0].host: Required value",
    "many-properties": "spec.labels: Too many: 3: must have at most 2 items",
    "value-of-map": 'spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type string: "integer"',
    "one-of-none": '<nil>: Invalid value: "": "spec.either" must validate one and only one schema (oneOf). Found none valid',
    "one-of-both": '<nil>: Invalid value: "": "spec.either" must validate one and only one schema (oneOf). '
    "Found 2 valid alternatives",
    "rule": "spec: Invalid value: least must not exceed most",
    "several": "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
}


@pytest.mark.parametrize("name", INVALID)
def test_what_is_wrong_is_reported_in_upstreams_words(name: str) -> None:
    assert TEXTS[name] in [str(problem) for problem in problems_of(INVALID[name], SCHEMA)]


@pytest.mark.parametrize("name", VALID)
def test_what_is_right_has_no_problems(name: str) -> None:
    assert problems_of(defaulted(pruned(VALID[name], SCHEMA), SCHEMA), SCHEMA) == []


def test_rules_wait_until_the_object_is_otherwise_valid() -> None:
    *_, last = problems_of(database(size="x", least=3, most=2), SCHEMA)
    assert str(last).startswith("<nil>: Invalid value: null: some validation rules were not checked")


def test_transition_rules_need_something_to_compare_with() -> None:
    assert problems_of(database(fixed="b"), SCHEMA) == []
    assert problems_of(database(fixed="a"), SCHEMA, database(fixed="a")) == []
    (problem,) = problems_of(database(fixed="b"), SCHEMA, database(fixed="a"))
    assert str(problem) == 'spec.fixed: Invalid value: "b": fixed is immutable'


def test_a_rule_that_cannot_be_evaluated_is_a_problem() -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "self.nothing > 1"}]}
    (problem,) = problems_of({"metadata": {}}, schema)
    assert "no such key: nothing" in str(problem)


def test_messages_of_rules_may_be_expressions() -> None:
    rule = {"rule": "self.a < 3", "messageExpression": "'a is ' + string(self.a)"}
    spec = {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [rule]}
    (problem,) = problems_of({"spec": {"a": 5}}, {"type": "object", "properties": {"spec": spec}})
    assert str(problem) == "spec: Invalid value: a is 5"


def test_a_refusal_names_kind_group_and_causes() -> None:
    with pytest.raises(InvalidObject) as refusal:
        refuse("example.com/v1", "Database", "d", problems_of(INVALID["minimum"], SCHEMA))
    assert (refusal.value.code, refusal.value.reason) == (422, "Invalid")
    assert refusal.value.message == f'Database.example.com "d" is invalid: {TEXTS["minimum"]}'
    assert [(cause.reason, cause.field) for cause in refusal.value.causes] == [("FieldValueInvalid", "spec.size")]


def test_several_problems_are_reported_in_brackets() -> None:
    with pytest.raises(InvalidObject, match=r"is invalid: \[.*, .*\]$"):
        refuse("v1", "Pod", "p", problems_of(INVALID["several"], SCHEMA))


def test_no_problem_is_no_refusal() -> None:
    refuse("v1", "Pod", "p", [])


def test_defaults_fill_in_what_is_absent_also_in_elements() -> None:
    spec = defaulted(database(hosts=[{"host": "a"}, {"host": "b", "weight": 5}], flag=False), SCHEMA)["spec"]
    assert (spec["mode"], spec["flag"]) == ("slow", False)
    assert [host["weight"] for host in spec["hosts"]] == [1, 5]


def test_defaults_are_not_shared_between_objects() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "default": {"list": []}}}}
    first, second = defaulted({}, schema), defaulted({}, schema)
    first["spec"]["list"].append(1)
    assert second == {"spec": {"list": []}}


def test_pruning_drops_what_is_not_specified_and_says_so() -> None:
    document = VALID["pruned"] | {"other": 1}
    kept = pruned(document, SCHEMA)
    assert kept["spec"]["free"] == {"any": {"thing": [1]}}
    assert kept["spec"]["hosts"] == [{"host": "a"}]
    assert unspecified_fields(document, SCHEMA) == ["spec.unknown", "spec.hosts[0].bogus", "other"]
    assert kept["metadata"] == document["metadata"]


def test_metadata_of_embedded_resources_survives_pruning() -> None:
    schema = {
        "type": "object",
        "properties": {
            "template": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {}}}
        },
    }
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "bogus": 1}
    assert pruned({"template": template}, schema)["template"].keys() == {"apiVersion", "kind", "metadata"}


def test_a_version_has_its_schema() -> None:
    assert version_schema(definition(), "v1") is not None
    assert version_schema(definition(), "v2") is None


def test_the_schema_for_patches_knows_metadata() -> None:
    metadata = custom_resource_schema(SCHEMA).child("metadata")
    assert metadata is not None
    labels = metadata.child("labels")
    assert labels is not None
    assert labels.values is not None
    assert labels.values.types == {"string"}
    assert custom_resource_schema({}).preserves_unknown_fields


def test_a_text_is_refused_once_and_a_list_for_every_repeated_element() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 2, "pattern": "^x$"}}}
    (too_long,) = problems_of({"a": "abc"}, schema)
    assert too_long.reason == "FieldValueTooLong"
    schema = {"type": "object", "properties": {"a": {"type": "array", "x-kubernetes-list-type": "set"}}}
    assert [problem.field for problem in problems_of({"a": ["x", "x", "x"]}, schema)] == ["a[1]", "a[2]"]
