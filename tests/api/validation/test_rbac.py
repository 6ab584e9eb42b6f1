# SPDX-License-Identifier: Apache-2.0
"""Validation of Roles and RoleBindings."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors, update_errors

ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "role", "namespace": "validation"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}
CLUSTERROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "clusterrole"},
    "rules": [{"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
}
ROLEBINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "rolebinding", "namespace": "validation"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
    "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (ROLE, {"rules[0].verbs": []}, "rules[0].verbs: Required value: verbs must contain at least one value"),
    (ROLE, {"rules[0].verbs": ...}, "rules[0].verbs: Required value: verbs must contain at least one value"),
    (
        ROLE,
        {"rules[0].resources": []},
        "rules[0].resources: Required value: resource rules must supply at least one resource",
    ),
    (
        ROLE,
        {"rules[0].apiGroups": []},
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
    ),
    (ROLE, {"metadata.name": "a/b"}, "metadata.name: Invalid value: \"a/b\": may not contain '/'"),
    (
        CLUSTERROLE,
        {"rules[0]": {"nonResourceURLs": ["/x"], "resources": ["pods"], "apiGroups": [""], "verbs": ["get"]}},
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource',
    ),
    (CLUSTERROLE, {"rules[0].verbs": []}, "rules[0].verbs: Required value: verbs must contain at least one value"),
    (
        CLUSTERROLE,
        {"aggregationRule": {}},
        "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregation",
    ),
    (
        CLUSTERROLE,
        {"aggregationRule": {"clusterRoleSelectors": []}},
        "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregation",
    ),
    (
        ROLEBINDING,
        {"roleRef.kind": "role"},
        'roleRef.kind: Unsupported value: "role": supported values: "Role", "ClusterRole"',
    ),
    (ROLEBINDING, {"roleRef.name": ""}, "roleRef.name: Required value"),
    (ROLEBINDING, {"roleRef.name": "a/b"}, "roleRef.name: Invalid value: \"a/b\": may not contain '/'"),
    (
        ROLEBINDING,
        {"roleRef.apiGroup": "x"},
        'roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
    ),
    (
        ROLEBINDING,
        {"subjects[0].kind": "serviceaccount"},
        'subjects[0].kind: Unsupported value: "serviceaccount": supported values: "ServiceAccount", "User", "Group"',
    ),
    (ROLEBINDING, {"subjects[0].name": ""}, "subjects[0].name: Required value"),
    (
        ROLEBINDING,
        {"subjects[0].name": "A_b"},
        'subjects[0].name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric',
    ),
    (ROLEBINDING, {"subjects[0].apiGroup": "x"}, 'subjects[0].apiGroup: Unsupported value: "x": supported values: ""'),
]

UPDATES: list[tuple[Json, Changes, str]] = [
    (ROLE, {"rules[0].verbs": []}, "rules[0].verbs: Required value: verbs must contain at least one value"),
    (
        ROLEBINDING,
        {"roleRef.name": "other"},
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: cannot change r',
    ),
    (
        ROLEBINDING,
        {"roleRef.kind": "ClusterRole"},
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"r"}: cannot chang',
    ),
]


@pytest.mark.parametrize("document", [ROLE, CLUSTERROLE, ROLEBINDING], ids=lambda document: str(document["kind"]))
def test_a_valid_object_has_no_errors(document: Json) -> None:
    assert errors(document, {}) == []


@pytest.mark.parametrize(("document", "changes", "error"), CREATIONS)
def test_a_wrong_object_is_refused_with_upstreams_field_and_message(
    document: Json, changes: Changes, error: str
) -> None:
    (found,) = errors(document, changes)
    assert found.startswith(error)


@pytest.mark.parametrize(("document", "changes", "error"), UPDATES)
def test_a_wrong_update_is_refused_with_upstreams_field_and_message(
    document: Json, changes: Changes, error: str
) -> None:
    (found,) = update_errors(document, changes)
    assert found.startswith(error)
