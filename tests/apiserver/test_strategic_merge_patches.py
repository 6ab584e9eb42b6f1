# SPDX-License-Identifier: Apache-2.0
"""Strategic merge patches: lists by merge key, directives, order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from steersman.api.schemas import schema_of
from steersman.cluster.apiserver.strategic_merge_patches import strategically_merged
from steersman.cluster.store.errors import BadRequest, StatusError, Unprocessable

POD, DEPLOYMENT, BUDGET = (
    schema_of("v1", "Pod"),
    schema_of("apps/v1", "Deployment"),
    schema_of("policy/v1", "PodDisruptionBudget"),
)


def merged(spec: dict[str, Any], patch: dict[str, Any]) -> Any:
    return strategically_merged({"spec": spec}, {"spec": patch}, POD)["spec"]


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "image": name} for name in names]


def names(elements: list[dict[str, Any]]) -> list[str]:
    return [element["name"] for element in elements]


def test_elements_are_found_again_by_their_merge_key() -> None:
    containers = merged({"containers": named("a", "b")}, {"containers": [{"name": "b", "tty": True}]})["containers"]
    assert containers == [{"name": "a", "image": "a"}, {"name": "b", "image": "b", "tty": True}]


def test_new_elements_stand_before_those_that_the_patch_does_not_name() -> None:
    assert names(merged({"containers": named("a")}, {"containers": named("b")})["containers"]) == ["b", "a"]


def test_lists_inside_elements_are_merged_too() -> None:
    spec = {"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}]}
    patch = {"containers": [{"name": "a", "env": [{"name": "Y", "value": "3"}]}]}
    env = merged(spec, patch)["containers"][0]["env"]
    assert env == [{"name": "X", "value": "1"}, {"name": "Y", "value": "3"}]


def test_lists_without_merge_key_are_replaced() -> None:
    spec = {"tolerations": [{"key": "a"}, {"key": "b"}]}
    assert merged(spec, {"tolerations": [{"key": "c", "value": None}]}) == {"tolerations": [{"key": "c"}]}


def test_null_removes_a_field_also_inside_an_element() -> None:
    spec = {"hostname": "h", "containers": named("a")}
    assert merged(spec, {"hostname": None, "containers": [{"name": "a", "image": None}]}) == {
        "containers": [{"name": "a"}]
    }


def test_null_for_what_is_not_there_leaves_nothing() -> None:
    assert merged({}, {"hostname": None, "securityContext": {"runAsUser": None, "runAsGroup": 1}}) == {
        "securityContext": {"runAsGroup": 1}
    }


def test_an_element_can_be_deleted() -> None:
    patch = {"containers": [{"$patch": "delete", "name": "a"}]}
    assert names(merged({"containers": named("a", "b")}, patch)["containers"]) == ["b"]


def test_a_list_can_be_replaced() -> None:
    patch = {"containers": [*named("c"), {"$patch": "replace"}]}
    assert merged({"containers": named("a", "b")}, patch) == {"containers": named("c")}


def test_an_object_can_be_replaced_or_emptied() -> None:
    spec = {"securityContext": {"runAsUser": 1, "runAsGroup": 2}}
    assert merged(spec, {"securityContext": {"$patch": "replace", "runAsUser": 3}}) == {
        "securityContext": {"runAsUser": 3}
    }
    assert merged(spec, {"securityContext": {"$patch": "delete"}}) == {"securityContext": {}}


def test_directives_in_what_is_new_leave_no_trace() -> None:
    patch = {
        "containers": [{"name": "a", "$setElementOrder/ports": [], "env": [{"$patch": "delete", "name": "X"}]}],
        "securityContext": {"$patch": "delete"},
    }
    assert merged({}, patch) == {"containers": [{"name": "a", "env": []}]}
    assert merged({"containers": named("b")}, patch)["containers"][0] == {"name": "a", "env": []}


def test_a_list_of_scalars_is_a_set() -> None:
    document = {"metadata": {"finalizers": ["a", "b"]}}
    added = strategically_merged(document, {"metadata": {"finalizers": ["b", "c"]}}, POD)
    assert added["metadata"]["finalizers"] == ["a", "b", "c"]
    removed = strategically_merged(document, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "x"]}}, POD)
    assert removed["metadata"]["finalizers"] == ["b"]


def test_the_order_of_elements_can_be_set() -> None:
    patch = {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": named("c")}
    assert names(merged({"containers": named("a", "b")}, patch)["containers"]) == ["c", "a", "b"]


def test_elements_that_only_the_server_knows_keep_their_neighbours() -> None:
    patch = {"$setElementOrder/containers": [{"name": "b"}, {"name": "d"}]}
    assert names(merged({"containers": named("a", "b", "c", "d")}, patch)["containers"]) == ["a", "b", "c", "d"]


def test_the_order_of_scalars_can_be_set() -> None:
    patch = {"metadata": {"$setElementOrder/finalizers": ["c", "a"], "finalizers": ["c"]}}
    document = {"metadata": {"finalizers": ["a", "b"]}}
    assert strategically_merged(document, patch, POD)["metadata"]["finalizers"] == ["c", "a", "b"]


def test_an_order_without_a_list_changes_nothing() -> None:
    assert merged({}, {"$setElementOrder/containers": [{"name": "a"}]}) == {}


def test_fields_that_are_not_to_be_retained_go() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategically_merged({"spec": {"strategy": strategy}}, patch, DEPLOYMENT) == {
        "spec": {"strategy": {"type": "Recreate"}}
    }


def test_a_volume_keeps_only_the_source_that_it_is_given() -> None:
    spec = {"volumes": [{"name": "v", "emptyDir": {}}]}
    patch = {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]}
    assert merged(spec, patch) == {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}


def test_the_selector_of_a_budget_is_replaced_not_merged() -> None:
    document = {"spec": {"selector": {"matchLabels": {"a": "1"}}}}
    patch = {"spec": {"selector": {"matchLabels": {"b": "2"}}}}
    assert strategically_merged(document, patch, BUDGET) == patch


def test_labels_are_merged_and_removed_by_name() -> None:
    document = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    patched = strategically_merged(document, {"metadata": {"labels": {"a": None, "c": "3"}}}, POD)
    assert patched == {"metadata": {"labels": {"b": "2", "c": "3"}}}


def test_fields_without_schema_are_merged_as_json() -> None:
    document = {"spec": {"unknown": {"a": [1], "b": 2}}}
    assert strategically_merged(document, {"spec": {"unknown": {"a": [2]}}}, POD) == {
        "spec": {"unknown": {"a": [2], "b": 2}}
    }


@pytest.mark.parametrize(
    ("patch", "kind", "why"),
    [
        ({"containers": [{"image": "x"}]}, BadRequest, "does not contain declared merge key: name"),
        ({"containers": [{"$patch": "delete"}]}, BadRequest, "does not contain declared merge key: name"),
        ({"containers": [{"$patch": "merge", "name": "a"}]}, BadRequest, "merging lists cannot yet be specified"),
        ({"containers": [{"$patch": "turn", "name": "a"}]}, BadRequest, "unknown patch type: turn"),
        ({"containers": ["a"]}, BadRequest, "list element types are not identical"),
        ({"containers": [["a"]]}, Unprocessable, "lists of lists are not supported"),
        ({"$patch": "merge"}, BadRequest, "unknown patch type: merge in map"),
        ({"$retainKeys": "a"}, BadRequest, "invalid patch format of retainKeys"),
        ({"$retainKeys": ["a"], "b": 1}, BadRequest, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveList/x": "a"}, BadRequest, "invalid patch format of primitive list"),
        ({"$setElementOrder/containers": "a"}, BadRequest, "invalid patch format of setElementOrder list"),
        (
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": named("a", "b")},
            BadRequest,
            "The order in patch list",
        ),
    ],
)
def test_a_bad_patch_is_refused_in_upstreams_words(patch: dict[str, Any], kind: type[StatusError], why: str) -> None:
    with pytest.raises(kind, match=why):
        merged({"containers": named("a")}, patch)


def test_a_patch_has_to_be_an_object() -> None:
    with pytest.raises(BadRequest):
        strategically_merged({}, ["a"], POD)


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


@given(NAMES, NAMES)
def test_a_list_becomes_what_kubectl_wants_it_to_be(before: list[str], after: list[str]) -> None:
    """The patch that kubectl makes: deletions, additions, and the order of all."""
    changes = [{"$patch": "delete", "name": name} for name in before if name not in after]
    changes += [{"name": name, "image": name} for name in after if name not in before]
    patch = {"$setElementOrder/containers": [{"name": name} for name in after], "containers": changes}
    result = merged({"containers": named(*before)} if before else {}, patch)
    assert result.get("containers", []) == named(*after)


@given(NAMES, NAMES)
def test_neither_document_nor_patch_is_changed(before: list[str], after: list[str]) -> None:
    document = {"spec": {"containers": named(*before)}}
    patch = {"spec": {"containers": [{"name": name, "env": [{"name": "X", "value": name}]} for name in after]}}
    copies = repr(document), repr(patch)
    strategically_merged(document, patch, POD)
    assert (repr(document), repr(patch)) == copies
