# SPDX-License-Identifier: Apache-2.0
"""Unknown fields: where they are, what was meant, and that the quick check agrees with the walk."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.framework.field_walk import filled

from steersman import api
from steersman.api.schemas import FieldSchema, schema_of
from steersman.api.unknown_fields import closest, find_unknown_fields, quick_verdict


def schema(api_version: str, kind: str) -> FieldSchema:
    found = schema_of(api_version, kind)
    assert found is not None
    return found


def found_in(document: Any, api_version: str = "v1", kind: str = "Pod") -> list[tuple[str, str]]:
    return [(field.path, field.suggestion) for field in find_unknown_fields(document, schema(api_version, kind))]


def test_a_misspelt_field_is_found_where_it_stands() -> None:
    template = {"spec": {"containers": [{"name": "a"}, {"name": "b", "resorces": {}}]}}
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": template}}
    assert found_in(document, "apps/v1", "Deployment") == [("spec.template.spec.containers[1].resorces", "resources")]


@pytest.mark.parametrize("kind", [api.Pod, api.Node])
def test_every_field_of_the_structs_is_one_of_kubernetes(kind: type[api.Pod] | type[api.Node]) -> None:
    document = msgspec.to_builtins(filled(kind))
    assert found_in(document, "v1", kind.KIND) == []


def test_case_and_separators_do_not_hide_what_was_meant() -> None:
    document = {"spec": {"NodeSelector": {}, "host_network": True, "service-account-name": "x"}}
    assert [suggestion for _, suggestion in found_in(document)] == ["nodeSelector", "hostNetwork", "serviceAccountName"]


def test_a_field_beside_its_own_misspelling_is_found() -> None:
    assert found_in({"spec": {"nodeName": "a", "nodename": "b"}}) == [("spec.nodename", "nodeName")]


def test_nothing_is_suggested_for_what_resembles_nothing() -> None:
    assert found_in({"spec": {"zzz": 1}}) == [("spec.zzz", "")]


def test_labels_and_resources_may_have_any_name() -> None:
    document = {
        "metadata": {"labels": {"anything": "x"}, "annotations": {"b": "y"}},
        "spec": {"containers": [{"resources": {"requests": {"example.com/gpu": 1}}}], "nodeSelector": {"c": "d"}},
    }
    assert found_in(document) == []


def test_values_of_the_wrong_type_are_left_to_others() -> None:
    assert found_in({"spec": ["a"], "metadata": "x", "status": {"conditions": {"a": 1}}}) == []


def test_a_schema_in_a_definition_of_custom_resources_is_checked_at_every_depth() -> None:
    properties = {"properties": {"a": {"properties": {"b": {"typ": "string"}}}}}
    document = {"spec": {"versions": [{"schema": {"openAPIV3Schema": properties}}]}}
    path = "spec.versions[0].schema.openAPIV3Schema.properties.a.properties.b.typ"
    assert found_in(document, "apiextensions.k8s.io/v1", "CustomResourceDefinition") == [(path, "type")]


def test_the_closest_name_is_the_most_similar_one() -> None:
    assert closest("imagePullSecret", ["image", "imagePullSecrets", "imagePullPolicy"]) == "imagePullSecrets"
    assert closest("Image", ["images", "image"]) == "image"
    assert closest("x", []) == ""


@pytest.mark.parametrize("kind", ["Unheard", "CustomResourceDefinition"])
def test_the_quick_check_is_unsure_without_a_schema_and_of_what_contains_itself(kind: str) -> None:
    assert quick_verdict(b"{}", "apiextensions.k8s.io/v1", kind) == "unsure"


def test_the_quick_check_leaves_malformed_json_to_others() -> None:
    assert quick_verdict(b'{"spec": ', "v1", "Pod") == "unsure"
    assert quick_verdict(b'{"spec": []}', "v1", "Pod") == "unsure"


NAMES = st.sampled_from(
    [
        "spec",
        "metadata",
        "status",
        "name",
        "containers",
        "image",
        "resources",
        "requests",
        "labels",
        "ports",
        "nodeNam",
        "matchLabels",
        "affinity",
        "nodeAffinity",
        "managedFields",
        "bogus",
        "kind",
        "conditions",
        "type",
        "template",
    ]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.text("a", max_size=1))
TREES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=20,
)


@given(
    st.dictionaries(NAMES, TREES, max_size=4),
    st.sampled_from([("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "Node")]),
)
def test_the_quick_check_says_what_the_walk_says(document: dict[str, Any], kind: tuple[str, str]) -> None:
    walked = "unknown" if found_in(document, *kind) else "known"
    assert quick_verdict(json.dumps(document).encode(), *kind) in (walked, "unsure")


def test_names_are_compared_only_where_a_suggestion_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr("steersman.api.unknown_fields.closest", lambda *names: compared.extend(names[:1]))
    many = {f"x{number}": 1 for number in range(1000)}
    assert len(list(find_unknown_fields({"spec": many}, schema("v1", "Pod")))) == 1000
    assert compared == []
