# SPDX-License-Identifier: Apache-2.0
"""Server-side apply: merging, conflicts, force, removal, and what client-side apply left behind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from steersman.api.schemas import FieldSchema, schema_of
from steersman.cluster.apiserver.managed_fields import BEFORE_FIRST_APPLY, updated
from steersman.cluster.apiserver.server_side_apply import LAST_APPLIED, ApplyConflict, apply
from steersman.cluster.store import StatusError

DEPLOYMENT = schema_of("apps/v1", "Deployment")
POD = schema_of("v1", "Pod")
NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"


def config(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }


def with_containers(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return config(template={"spec": {"containers": list(containers)}}, **spec)


def containers(document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["spec"]["template"]["spec"]["containers"]
    return found


def applied(
    live: dict[str, Any] | None, wanted: dict[str, Any], manager: str = "a", force: bool = False, now: str = NOON
) -> dict[str, Any]:
    return apply(live, wanted, manager, force, now, DEPLOYMENT)


def changed_by(live: dict[str, Any], manager: str, **spec: Any) -> dict[str, Any]:
    """After an ordinary update."""
    new = {**live, "spec": {**live["spec"], **spec}}
    return updated(live, new, manager, "Update", "", LATER, DEPLOYMENT)


def managers(document: dict[str, Any]) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in document["metadata"].get("managedFields", [])}


def conflict_of(live: dict[str, Any], wanted: dict[str, Any], manager: str = "b") -> ApplyConflict:
    with pytest.raises(ApplyConflict) as refusal:
        applied(live, wanted, manager)
    return refusal.value


def test_an_apply_creates_and_owns_what_it_says() -> None:
    document = applied(None, config(replicas=3, paused=True))
    assert document["spec"] == {"replicas": 3, "paused": True}
    assert document["metadata"]["managedFields"] == [
        {
            "manager": "a",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": NOON,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:paused": {}, "f:replicas": {}}},
        }
    ]


def test_what_is_not_applied_any_more_goes() -> None:
    document = applied(applied(None, config(replicas=3, paused=True)), config(replicas=4), now=LATER)
    assert document["spec"] == {"replicas": 4}
    assert document["metadata"]["managedFields"][0]["time"] == LATER


def test_what_another_has_applied_too_stays() -> None:
    both = applied(applied(None, config(replicas=3, paused=True)), config(paused=True), "b")
    document = applied(both, config(replicas=3))
    assert document["spec"] == {"replicas": 3, "paused": True}
    assert managers(document) == {"a": {"f:spec": {"f:replicas": {}}}, "b": {"f:spec": {"f:paused": {}}}}


def test_what_others_have_written_stays() -> None:
    live = changed_by(applied(None, config(replicas=3)), "controller", paused=True)
    assert applied(live, config(replicas=4))["spec"] == {"replicas": 4, "paused": True}


def test_an_apply_of_the_same_changes_nothing_and_keeps_the_time() -> None:
    document = applied(None, config(replicas=3))
    assert applied(document, config(replicas=3), now=LATER) == document


def test_another_value_for_a_field_of_another_is_a_conflict() -> None:
    live = changed_by(applied(None, config(replicas=3)), "kubectl-client-side-apply", replicas=5)
    refusal = conflict_of(live, config(replicas=7))
    assert (refusal.code, refusal.reason) == (409, "Conflict")
    assert refusal.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas'
    )
    assert [(cause.reason, cause.message, cause.field) for cause in refusal.causes] == [
        ("FieldManagerConflict", 'conflict with "kubectl-client-side-apply" using apps/v1', ".spec.replicas")
    ]


def test_several_conflicts_are_reported_by_manager() -> None:
    live = changed_by(applied(None, with_containers({"name": "c", "image": "x"}, replicas=3)), "editor", paused=True)
    refusal = conflict_of(live, with_containers({"name": "c", "image": "y"}, replicas=4, paused=False))
    assert refusal.message == (
        'Apply failed with 3 conflicts: conflicts with "a":\n'
        "- .spec.replicas\n"
        '- .spec.template.spec.containers[name="c"].image\n'
        'conflicts with "editor" using apps/v1:\n'
        "- .spec.paused"
    )


def test_force_takes_the_field() -> None:
    document = applied(applied(None, config(replicas=3)), config(replicas=7), "b", force=True)
    assert document["spec"] == {"replicas": 7}
    assert managers(document) == {"b": {"f:spec": {"f:replicas": {}}}}


def test_the_same_value_is_shared() -> None:
    document = applied(applied(None, config(replicas=3)), config(replicas=3), "b")
    assert managers(document).keys() == {"a", "b"}


def test_elements_of_lists_are_merged_by_their_keys() -> None:
    live = applied(None, with_containers({"name": "c", "image": "x"}))
    document = applied(live, with_containers({"name": "sidecar", "image": "y"}), "b")
    assert [container["name"] for container in containers(document)] == ["c", "sidecar"]
    document = applied(document, with_containers({"name": "c", "image": "z"}))
    assert containers(document) == [{"name": "c", "image": "z"}, {"name": "sidecar", "image": "y"}]


def test_an_element_that_is_not_applied_any_more_goes() -> None:
    live = applied(None, with_containers({"name": "c", "image": "x"}, {"name": "d", "image": "y"}))
    assert containers(applied(live, with_containers({"name": "c", "image": "x"}))) == [{"name": "c", "image": "x"}]


def test_an_element_in_which_another_has_a_field_keeps_that_field() -> None:
    live = applied(None, with_containers({"name": "c", "image": "x"}, {"name": "d", "image": "y"}))
    live = applied(live, with_containers({"name": "d", "tty": True}), "b")
    assert containers(applied(live, with_containers({"name": "c", "image": "x"}))) == [
        {"name": "c", "image": "x"},
        {"name": "d", "tty": True},
    ]


def test_ports_without_protocol_are_found_by_its_default() -> None:
    live = applied(None, with_containers({"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]}))
    document = applied(live, with_containers({"name": "c", "ports": [{"containerPort": 80, "name": "http"}]}), "b")
    assert containers(document)[0]["ports"] == [{"containerPort": 80, "protocol": "TCP", "name": "http"}]


def test_atomic_lists_are_replaced_and_fought_over_as_a_whole() -> None:
    wanted = {"name": "c", "args": ["a"]}
    live = applied(None, with_containers(wanted))
    refusal = conflict_of(live, with_containers({"name": "c", "args": ["b"]}))
    assert refusal.message.endswith('conflict with "a": .spec.template.spec.containers[name="c"].args')


def test_labels_are_owned_one_by_one() -> None:
    def labelled(**labels: str) -> dict[str, Any]:
        return {**config(), "metadata": {"name": "web", "labels": labels}}

    live = applied(applied(None, labelled(a="1", b="2")), labelled(c="3"), "b")
    document = applied(live, labelled(a="1"))
    assert document["metadata"]["labels"] == {"a": "1", "c": "3"}
    assert "labels" not in applied(applied(None, labelled(a="1")), labelled())["metadata"]


def test_a_set_of_scalars_is_owned_value_by_value() -> None:
    def finalized(*finalizers: str) -> dict[str, Any]:
        return {**config(), "metadata": {"name": "web", "finalizers": list(finalizers)}}

    live = applied(applied(None, finalized("x")), finalized("y"), "b")
    assert live["metadata"]["finalizers"] == ["x", "y"]
    assert applied(live, finalized(), "b")["metadata"]["finalizers"] == ["x"]


def test_what_was_there_before_the_first_apply_has_a_manager() -> None:
    refusal = conflict_of(config(replicas=3), config(replicas=4))
    assert (
        refusal.message
        == f'Apply failed with 1 conflict: conflict with "{BEFORE_FIRST_APPLY}" using apps/v1: .spec.replicas'
    )
    document = applied(config(replicas=3, paused=True), config(replicas=3))
    assert managers(document).keys() == {"a", BEFORE_FIRST_APPLY}


def test_status_cannot_be_applied_through_the_object_itself() -> None:
    document = apply(None, {**config(replicas=1), "status": {"replicas": 1}}, "a", False, NOON, DEPLOYMENT)
    assert managers(document) == {"a": {"f:spec": {"f:replicas": {}}}}
    status = {**config(), "status": {"replicas": 2}}
    document = apply(document, status, "a", False, NOON, DEPLOYMENT, subresource="status")
    subresources = [entry.get("subresource", "") for entry in document["metadata"]["managedFields"]]
    assert subresources == ["", "status"]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (
            config(replica=3),
            r"\(default/web; apps/v1, Kind=Deployment\): \.spec\.replica: field not declared in schema",
        ),
        (with_containers({"image": "x"}), r"omits all key fields \[\"name\"\]"),
        (with_containers({"name": "c"}, {"name": "c"}), r"containers: duplicate entries for key \[name=\"c\"\]"),
        (with_containers("c"), "may not have non-map elements"),  # type: ignore[arg-type]
        ({**config(), "metadata": {"name": "web", "managedFields": []}}, "metadata.managedFields must be nil"),
    ],
)
def test_what_cannot_be_applied_is_refused(wanted: dict[str, Any], why: str) -> None:
    with pytest.raises(StatusError, match=why):
        applied(None, wanted)


def test_kubectl_takes_over_what_client_side_apply_has_set() -> None:
    wanted = config(replicas=3)
    annotated = {**wanted, "metadata": {**wanted["metadata"], "annotations": {LAST_APPLIED: json.dumps(wanted)}}}
    live = updated(None, annotated, "kubectl-client-side-apply", "Update", "", NOON, DEPLOYMENT)
    with pytest.raises(ApplyConflict):
        applied(live, config(replicas=5), "somebody")
    document = applied(live, config(replicas=5), "kubectl")
    assert document["spec"] == {"replicas": 5}
    assert json.loads(document["metadata"]["annotations"][LAST_APPLIED])["spec"] == {"replicas": 5}


def test_kubectl_does_not_take_over_what_changed_since() -> None:
    wanted = config(replicas=3)
    annotated = {**wanted, "metadata": {**wanted["metadata"], "annotations": {LAST_APPLIED: json.dumps(wanted)}}}
    live = updated(None, annotated, "kubectl-client-side-apply", "Update", "", NOON, DEPLOYMENT)
    live = changed_by(live, "autoscaler", replicas=9)
    refusal = conflict_of(live, config(replicas=5), "kubectl")
    assert refusal.message.endswith('conflict with "autoscaler" using apps/v1: .spec.replicas')


def test_custom_resources_are_merged_by_their_own_schema() -> None:
    hosts = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["host"],
        "items": {"type": "object", "properties": {"host": {"type": "string"}, "weight": {"type": "integer"}}},
    }
    spec = {"type": "object", "properties": {"hosts": hosts}}
    schema = FieldSchema({"type": "object", "properties": {"spec": spec, "kind": {}, "apiVersion": {}, "metadata": {}}})

    def database(*elements: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": "example.com/v1",
            "kind": "Database",
            "metadata": {"name": "d"},
            "spec": {"hosts": [*elements]},
        }

    live = apply(None, database({"host": "x", "weight": 1}), "a", False, NOON, schema)
    live = apply(live, database({"host": "y", "weight": 2}), "b", False, NOON, schema)
    assert [element["host"] for element in live["spec"]["hosts"]] == ["x", "y"]


def test_kinds_without_schema_merge_objects_and_replace_lists() -> None:
    header = {"apiVersion": "example.com/v1", "kind": "Database"}
    live = apply(None, {**header, "spec": {"a": {"b": 1}, "l": [1]}}, "a", False, NOON, None)
    merged = apply(live, {**header, "spec": {"a": {"c": 2}, "l": [2]}}, "b", True, NOON, None)
    assert merged["spec"] == {"a": {"b": 1, "c": 2}, "l": [2]}


FIELDS = st.dictionaries(
    st.sampled_from(["replicas", "minReadySeconds", "revisionHistoryLimit"]), st.integers(0, 2), max_size=3
)
NAMES = st.lists(st.sampled_from("abcd"), unique=True, min_size=1, max_size=4)


@given(st.lists(st.tuples(FIELDS, NAMES), min_size=1, max_size=4))
def test_the_only_manager_gets_exactly_what_it_applied_last(
    configurations: list[tuple[dict[str, int], list[str]]],
) -> None:
    document: dict[str, Any] | None = None
    for fields, names in configurations:
        wanted = with_containers(*({"name": name, "image": name} for name in names), **fields)
        document = applied(document, wanted)
        assert document["spec"] == wanted["spec"]


@given(FIELDS, FIELDS)
def test_two_managers_by_force_get_their_own_and_leave_each_others(
    first: dict[str, int], second: dict[str, int]
) -> None:
    document = applied(applied(None, config(**first)), config(**second), "b", force=True)
    assert document["spec"] == {**first, **second}
    document = applied(document, config(), "b", force=True)
    assert document.get("spec", {}) == {
        name: value for name, value in first.items() if second.get(name, value) == value
    }
