# SPDX-License-Identifier: Apache-2.0
"""Patches by media type, and JSON merge patches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from steersman.api.schemas import schema_of
from steersman.cluster.apiserver.patches import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    merge_patched,
    patched,
)
from steersman.cluster.store.errors import BadRequest, UnsupportedMediaType

POD = schema_of("v1", "Pod")

SCALARS = st.one_of(st.integers(-5, 5), st.text("ab", max_size=2), st.booleans())
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.text("abc", max_size=2), VALUES, max_size=4)


def merge_patch_between(before: Any, after: Any) -> Any:
    """The merge patch that makes one out of the other; neither has nulls."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch = {name: None for name in before if name not in after}
    for name, value in after.items():
        if name not in before or repr(before[name]) != repr(value):
            patch[name] = merge_patch_between(before.get(name), value)
    return patch


def test_null_removes_objects_merge_and_lists_are_replaced() -> None:
    document = {"a": {"b": 1, "c": 2}, "d": [1, 2], "e": "x"}
    assert merge_patched(document, {"a": {"b": None, "f": {"g": 1, "h": None}}, "d": [3], "e": None, "z": None}) == {
        "a": {"c": 2, "f": {"g": 1}},
        "d": [3],
    }


def test_a_merge_patch_changes_neither_the_document_nor_itself() -> None:
    document, patch = {"a": {"b": 1}}, {"a": {"c": 2}}
    merge_patched(document, patch)
    assert (document, patch) == ({"a": {"b": 1}}, {"a": {"c": 2}})


@given(DOCUMENTS, DOCUMENTS)
def test_the_difference_of_two_documents_merged_into_the_first_is_the_second(before: Any, after: Any) -> None:
    assert merge_patched(before, merge_patch_between(before, after)) == after


def test_a_merge_patch_has_to_be_an_object() -> None:
    with pytest.raises(BadRequest, match="Invalid JSON Patch"):
        merge_patched({}, [1])


def test_the_media_type_says_how_a_list_is_patched() -> None:
    document = {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}}
    patch = {"spec": {"containers": [{"name": "b", "image": "z"}]}}
    assert patched(MERGE_PATCH, document, patch, POD) == patch
    assert patched(STRATEGIC_MERGE_PATCH, document, patch, POD)["spec"]["containers"] == [
        {"name": "a", "image": "x"},
        {"name": "b", "image": "z"},
    ]


def test_null_in_a_field_of_a_built_in_kind_is_an_absent_field() -> None:
    operations = [{"op": "add", "path": "/spec/hostname", "value": None}]
    assert patched(JSON_PATCH, {"spec": {"nodeName": "n"}}, operations, POD) == {"spec": {"nodeName": "n"}}
    assert patched(JSON_PATCH, {"spec": {}}, operations, None) == {"spec": {"hostname": None}}


def test_custom_resources_take_no_strategic_merge_patch() -> None:
    with pytest.raises(UnsupportedMediaType) as refusal:
        patched(STRATEGIC_MERGE_PATCH, {}, {}, None)
    assert refusal.value.code == 415
    assert refusal.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


@pytest.mark.parametrize("media_type", ["application/json", "", APPLY_PATCH])
def test_other_media_types_are_refused(media_type: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="strategic-merge-patch"):
        patched(media_type, {}, {}, POD)


@pytest.mark.parametrize("media_type", [MERGE_PATCH, STRATEGIC_MERGE_PATCH, JSON_PATCH])
def test_what_is_nested_without_end_is_refused(media_type: str) -> None:
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"a": deep}
    patch: Any = [{"op": "copy", "from": "/a", "path": "/b"}] if media_type == JSON_PATCH else deep
    with pytest.raises(BadRequest, match="nested too deeply"):
        patched(media_type, deep, patch, POD)
