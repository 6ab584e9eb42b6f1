# SPDX-License-Identifier: Apache-2.0
"""JSON patches: the six operations, pointers, and what does not apply."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.apiserver.json_patches import MAX_OPERATIONS, REJECTED, apply_json_patch
from steersman.cluster.store.errors import BadRequest, RequestEntityTooLarge, StatusError, Unprocessable

DOCUMENT = {"spec": {"replicas": 3, "args": ["a", "b"], "labels": {"x/y": "1", "t~u": "2"}}}


def changed(*operations: dict[str, Any], of: dict[str, Any] = DOCUMENT) -> Any:
    return apply_json_patch(of, list(operations))["spec"]


def refusal_of(*operations: Any) -> StatusError:
    with pytest.raises(StatusError) as refusal:
        apply_json_patch(DOCUMENT, list(operations))
    return refusal.value


def test_add_sets_members_and_inserts_elements() -> None:
    spec = changed(
        {"op": "add", "path": "/spec/paused", "value": True},
        {"op": "add", "path": "/spec/args/1", "value": "between"},
        {"op": "add", "path": "/spec/args/-", "value": "last"},
    )
    assert spec["paused"] is True
    assert spec["args"] == ["a", "between", "b", "last"]


def test_remove_replace_move_and_copy_change_what_they_name() -> None:
    spec = changed(
        {"op": "remove", "path": "/spec/args/0"},
        {"op": "replace", "path": "/spec/replicas", "value": 5},
        {"op": "move", "from": "/spec/labels", "path": "/spec/kept"},
        {"op": "copy", "from": "/spec/args", "path": "/spec/more"},
    )
    assert spec == {"replicas": 5, "args": ["b"], "kept": {"x/y": "1", "t~u": "2"}, "more": ["b"]}


def test_a_copy_is_independent_of_what_it_was_made_of() -> None:
    spec = changed(
        {"op": "copy", "from": "/spec/args", "path": "/spec/more"}, {"op": "add", "path": "/spec/args/-", "value": "c"}
    )
    assert spec["more"] == ["a", "b"]


def test_slashes_and_tildes_in_names_are_escaped() -> None:
    spec = changed({"op": "remove", "path": "/spec/labels/x~1y"}, {"op": "remove", "path": "/spec/labels/t~0u"})
    assert spec["labels"] == {}


def test_negative_indices_count_from_the_end() -> None:
    assert changed({"op": "remove", "path": "/spec/args/-1"})["args"] == ["a"]


def test_replace_and_test_take_a_missing_member_for_null() -> None:
    assert changed({"op": "replace", "path": "/spec/new", "value": 1})["new"] == 1
    assert changed({"op": "test", "path": "/spec/new", "value": None}) == DOCUMENT["spec"]


def test_the_whole_document_can_be_tested_and_replaced() -> None:
    assert changed({"op": "test", "path": "", "value": DOCUMENT}) == DOCUMENT["spec"]
    assert changed({"op": "replace", "path": "", "value": {"spec": {}}}) == {}


def test_the_document_itself_stays_as_it_is() -> None:
    changed({"op": "remove", "path": "/spec/args/0"})
    assert DOCUMENT["spec"]["args"] == ["a", "b"]


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "test", "path": "/spec/replicas", "value": 4}, "testing value /spec/replicas failed: test failed"),
        ({"op": "test", "path": "/spec/replicas", "value": 3.0}, "testing value /spec/replicas failed: test failed"),
        ({"op": "remove", "path": "/spec/no"}, "Unable to remove nonexistent key: no: missing value"),
        ({"op": "remove", "path": "/spec/args/2"}, "Unable to access invalid index: 2: invalid index referenced"),
        (
            {"op": "add", "path": "/spec/args/4", "value": 1},
            "Unable to access invalid index: 4: invalid index referenced",
        ),
        ({"op": "add", "path": "/spec/args/x", "value": 1}, "value was not a proper array index: 'x'"),
        (
            {"op": "add", "path": "/no/such/place", "value": 1},
            'add operation does not apply: doc is missing path: "/no/such/place": missing value',
        ),
        (
            {"op": "replace", "path": "/spec/replicas/deeper", "value": 1},
            "replace operation does not apply: doc is missing path: /spec/replicas/deeper: missing value",
        ),
        ({"op": "move", "path": "/spec/x"}, "move operation failed to decode from: missing value"),
        ({"op": "add", "value": 1}, "add operation failed to decode path: missing value"),
        ({"op": "multiply", "path": "/spec"}, "Unexpected kind: multiply"),
        ({"op": ["add"], "path": "/spec"}, "Unexpected kind: ['add']"),
    ],
)
def test_what_does_not_apply_is_refused_with_its_cause(operation: dict[str, Any], why: str) -> None:
    refusal = refusal_of({"op": "test", "path": "/spec/replicas", "value": 3}, operation)
    assert isinstance(refusal, Unprocessable)
    assert (refusal.code, refusal.reason, refusal.message) == (422, "Invalid", REJECTED)
    assert [(cause.field, cause.message) for cause in refusal.causes] == [("patch[1]", why)]


def test_true_is_not_one() -> None:
    assert isinstance(refusal_of({"op": "test", "path": "/spec/replicas", "value": True}), Unprocessable)


def test_a_result_that_is_no_object_is_refused() -> None:
    assert isinstance(refusal_of({"op": "replace", "path": "", "value": [1]}), Unprocessable)


@pytest.mark.parametrize("operations", [{"op": "add"}, ["add"], None, "x"])
def test_a_patch_is_a_list_of_objects(operations: Any) -> None:
    with pytest.raises(BadRequest, match="a JSON patch is a list of operations"):
        apply_json_patch(DOCUMENT, operations)


def test_too_many_operations_are_refused() -> None:
    operations = [{"op": "test", "path": "/spec/new", "value": None}] * (MAX_OPERATIONS + 1)
    with pytest.raises(RequestEntityTooLarge, match="maximum operations in a JSON patch is 10000, got 10001"):
        apply_json_patch(DOCUMENT, operations)


def test_copies_that_double_and_double_come_to_an_end() -> None:
    doubling = [{"op": "copy", "from": "/spec", "path": f"/spec/copy{index}"} for index in range(40)]
    refusal = refusal_of(*doubling)
    assert "exceeding the limit" in refusal.causes[0].message
