# SPDX-License-Identifier: Apache-2.0
"""Managed fields of creates, updates and patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st

from steersman.api.schemas import FieldSchema, schema_of
from steersman.cluster.apiserver.field_sets import from_fields_v1, path_text, to_fields_v1
from steersman.cluster.apiserver.managed_fields import MAX_UPDATERS, MERGED_MANAGERS, managers_of, updated
from steersman.cluster.apiserver.write_options import write_options

POD, DEPLOYMENT = schema_of("v1", "Pod"), schema_of("apps/v1", "Deployment")
NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"


def deployment(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "x", "ports": [{"containerPort": 80}]}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def after(
    old: dict[str, Any] | None,
    new: dict[str, Any],
    manager: str = "kubectl",
    subresource: str = "",
    now: str = NOON,
    schema: FieldSchema | None = DEPLOYMENT,
) -> dict[str, Any]:
    return updated(old, new, manager, "Update", subresource, now, schema)


def entries(document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["metadata"].get("managedFields", [])
    return found


def test_a_create_gives_every_field_to_its_manager() -> None:
    (entry,) = entries(after(None, deployment()))
    assert {name: entry[name] for name in ("manager", "operation", "apiVersion", "time", "fieldsType")} == {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "time": NOON,
        "fieldsType": "FieldsV1",
    }
    assert entry["fieldsV1"] == {
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:image": {},
                            "f:name": {},
                            "f:ports": {
                                ".": {},
                                'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                            },
                        }
                    }
                },
            },
        },
    }


def test_an_update_takes_what_it_changes_from_its_manager() -> None:
    created = after(None, deployment())
    scaled = after(created, {**created, "spec": {**created["spec"], "replicas": 5}}, "autoscaler", now=LATER)
    first, second = entries(scaled)
    assert first["manager"] == "kubectl"
    assert "f:replicas" not in first["fieldsV1"]["f:spec"]
    assert second == {
        "manager": "autoscaler",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "time": LATER,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }


def test_the_same_manager_has_one_entry_with_the_time_of_its_last_change() -> None:
    created = after(None, deployment())
    again = after(created, {**created, "spec": {**created["spec"], "paused": True}}, now=LATER)
    (entry,) = entries(again)
    assert entry["time"] == LATER
    assert {"f:paused", "f:replicas"} <= entry["fieldsV1"]["f:spec"].keys()


def test_an_update_without_change_leaves_entries_and_times_as_they_are() -> None:
    created = after(None, deployment())
    assert after(created, dict(created), "other", now=LATER) == created


def test_a_removed_field_has_no_owner() -> None:
    created = after(None, deployment(paused=True))
    spec = {name: value for name, value in created["spec"].items() if name != "paused"}
    (entry,) = entries(after(created, {**created, "spec": spec}, "other"))
    assert "f:paused" not in entry["fieldsV1"]["f:spec"]


def test_status_has_an_entry_of_its_own() -> None:
    created = after(None, {**deployment(), "status": {"replicas": 0}})
    assert "f:status" not in entries(created)[0]["fieldsV1"]
    reported = after(created, {**created, "status": {"replicas": 3}}, "controller", "status", LATER)
    assert entries(reported)[1] == {
        "manager": "controller",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "time": LATER,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:replicas": {}}},
        "subresource": "status",
    }


def test_an_untracked_object_is_not_tracked_by_an_update() -> None:
    assert entries(after(deployment(), deployment(paused=True))) == []


@pytest.mark.parametrize("reset", [[], [{}]])
def test_managed_fields_can_be_reset(reset: list[Any]) -> None:
    created = after(None, deployment())
    cleared = {**created, "metadata": {**created["metadata"], "managedFields": reset}}
    assert entries(after(created, cleared)) == []


def test_a_client_that_sends_no_managed_fields_deletes_none() -> None:
    created = after(None, deployment())
    assert len(entries(after(created, deployment(paused=True), "other"))) == 2


def test_managed_fields_that_cannot_be_read_are_taken_from_the_stored_object() -> None:
    created = after(None, deployment())
    broken = {**created, "metadata": {**created["metadata"], "managedFields": [{"manager": "x"}]}}
    assert entries(after(created, broken)) == entries(created)


def test_the_oldest_updaters_become_one_when_there_are_too_many() -> None:
    document = after(None, deployment())
    for number in range(MAX_UPDATERS + 3):
        labels = {**document["metadata"]["labels"], f"l{number}": "x"}
        changed = {**document, "metadata": {**document["metadata"], "labels": labels}}
        document = after(document, changed, f"manager-{number}", now=f"2026-01-02T00:00:{number:02d}Z")
    names = [entry["manager"] for entry in entries(document)]
    assert len(names) == MAX_UPDATERS
    assert names[0] == MERGED_MANAGERS
    ancient = managers_of(document)[
        next(manager for manager in managers_of(document) if manager.name == MERGED_MANAGERS)
    ]
    assert ("f:metadata", "f:labels", "f:l0") in ancient.fields
    assert ("f:spec", "f:replicas") in ancient.fields


def test_a_custom_resource_owns_its_spec_as_well() -> None:
    document = {"apiVersion": "example.com/v1", "kind": "Database", "metadata": {"name": "d"}, "spec": {"size": 3}}
    (entry,) = entries(after(None, document, schema=FieldSchema({"x-kubernetes-preserve-unknown-fields": True})))
    assert entry["fieldsV1"] == {"f:spec": {".": {}, "f:size": {}}}


def test_a_list_whose_elements_have_no_keys_ends_tracking() -> None:
    document = deployment()
    document["spec"]["template"]["spec"]["containers"] = [{"image": "x"}]
    assert entries(after(None, document)) == []


def test_managers_are_named_by_field_manager_or_user_agent() -> None:
    def manager(query: Mapping[str, str], user_agent: str) -> str:
        return write_options("UpdateOptions", query, user_agent).field_manager

    assert manager({"fieldManager": "me"}, "kubectl/v1.36 (linux)") == "me"
    assert manager({}, "kubectl/v1.36 (linux)") == "kubectl"
    assert len(manager({}, "x" * 500)) == 128


STEPS = st.sampled_from(["f:spec", "f:a", "f:b", 'k:{"name":"c"}', 'v:"x"'])
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(tuple)


@given(st.frozensets(PATHS, max_size=8))
def test_a_set_of_fields_survives_the_wire(fields: frozenset[tuple[str, ...]]) -> None:
    assert from_fields_v1(to_fields_v1(fields)) == fields


def test_paths_are_written_as_upstream_writes_them() -> None:
    path = ("f:spec", "f:ports", 'k:{"containerPort":80,"protocol":"TCP"}', "f:name")
    assert path_text(path) == '.spec.ports[containerPort=80,protocol="TCP"].name'
    assert path_text(("f:metadata", "f:finalizers", 'v:"x"')) == '.metadata.finalizers[="x"]'
