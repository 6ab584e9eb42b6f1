# SPDX-License-Identifier: Apache-2.0
"""Validation of metadata, which differs from kind to kind."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.api.validation.metadata import finalizer_warnings, validate_metadata

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}


def document(api_version: str, kind: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", **metadata}}


def errors(api_version: str, kind: str, **metadata: Any) -> list[str]:
    return [str(error) for error in validate_metadata(document(api_version, kind, **metadata), None)]


def update_errors(api_version: str, kind: str, **metadata: Any) -> list[str]:
    old = document(api_version, kind)
    return [str(error) for error in validate_metadata(document(api_version, kind, **metadata), old)]


@pytest.mark.parametrize(
    ("api_version", "kind", "name", "is_valid"),
    [
        ("v1", "ConfigMap", "a.b", True),
        ("v1", "ConfigMap", "A", False),
        ("v1", "Namespace", "a.b", False),
        ("v1", "Service", "1a", True),
        ("apps/v1", "StatefulSet", "a.b", False),
        ("rbac.authorization.k8s.io/v1", "Role", "system:A", True),
        ("rbac.authorization.k8s.io/v1", "Role", "a/b", False),
        ("policy/v1", "PodDisruptionBudget", "A_b", True),
        ("example.com/v1", "Widget", "A", False),
    ],
)
def test_each_kind_has_its_own_format_of_names(api_version: str, kind: str, name: str, is_valid: bool) -> None:
    assert (errors(api_version, kind, name=name) == []) is is_valid


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
        ({"generateName": "AB-"}, 'metadata.generateName: Invalid value: "AB-": a lowercase RFC 1123 subdomain must'),
        ({"labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "b c": a valid label must be an empty string or'),
        ({"annotations": {"a b": "c"}}, 'metadata.annotations: Invalid value: "a b": name part must consist of'),
        ({"annotations": {"a": "x" * 262_144}}, "metadata.annotations: Too long: may not be more than 262144 bytes"),
        (
            {"finalizers": ["x"]},
            'metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name',
        ),
        (
            {"ownerReferences": [{**OWNER, "apiVersion": "a/b/c"}]},
            'apiVersion: Invalid value: "a/b/c": version must not',
        ),
        ({"ownerReferences": [{**OWNER, "kind": "Event"}]}, "/v1, Kind=Event is disallowed from being an owner"),
    ],
)
def test_wrong_metadata_is_refused_with_upstreams_message(metadata: dict[str, Any], error: str) -> None:
    (found,) = errors("v1", "ConfigMap", **metadata)
    assert error in found


@pytest.mark.parametrize(
    ("api_version", "kind", "count"),
    [("policy/v1", "PodDisruptionBudget", 2), ("apps/v1", "Deployment", 3), ("v1", "ConfigMap", 4)],
)
def test_an_error_in_an_update_is_repeated_as_often_as_upstream_validates(
    api_version: str, kind: str, count: int
) -> None:
    assert len(update_errors(api_version, kind, labels={"a": "b c"})) == count


def test_an_update_does_not_start_a_deletion() -> None:
    found = update_errors("v1", "ConfigMap", deletionTimestamp="2026-01-01T00:00:00Z")
    assert {*found} == {'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable'}


def test_finalizers_of_leases_and_custom_resources_need_no_domain() -> None:
    assert errors("coordination.k8s.io/v1", "Lease", finalizers=["x"]) == []
    widget = document("example.com/v1", "Widget", finalizers=["x"])
    assert list(validate_metadata(widget, None)) == []
    assert list(finalizer_warnings(widget, None)) == [
        'metadata.finalizers: "x": prefer a domain-qualified finalizer name to avoid accidental conflicts with other '
        "finalizer writers"
    ]
