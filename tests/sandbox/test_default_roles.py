# SPDX-License-Identifier: Apache-2.0
"""The roles of a new cluster, and ClusterRoles that are made of others."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.embedded_api import EmbeddedApi

from steersman.sandbox.cluster_files import is_default
from steersman.sandbox.default_objects import DefaultObjects
from steersman.sandbox.default_roles import RoleAggregation

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


@pytest.fixture
def cluster() -> EmbeddedApi:
    made = EmbeddedApi()
    DefaultObjects(made.store, made.catalog, "a certificate", 6443)
    RoleAggregation(made.store, made.catalog)
    return made


def rules(cluster: EmbeddedApi, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.get(f"{ROLES}/{name}")["rules"]
    return found


def test_a_new_cluster_has_the_roles_that_charts_bind(cluster: EmbeddedApi) -> None:
    every = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]
    assert rules(cluster, "cluster-admin") == every
    viewed = {resource for rule in rules(cluster, "view") for resource in rule["resources"]}
    assert {"pods", "deployments", "jobs"} <= viewed
    assert "secrets" not in viewed
    edited = {resource for rule in rules(cluster, "edit") for resource in rule["resources"]}
    assert viewed < edited | viewed
    assert "secrets" in edited
    for name in ("admin", "system:auth-delegator", "system:kube-scheduler", "system:node", "system:discovery"):
        assert rules(cluster, name)
    bindings = cluster.get("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings")["items"]
    assert {"cluster-admin", "system:kube-scheduler"} <= {item["metadata"]["name"] for item in bindings}


def test_a_role_with_an_aggregation_label_extends_view_edit_and_admin(cluster: EmbeddedApi) -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["databases"], "verbs": ["get"]}
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    role = {"metadata": {"name": "databases", "labels": label}, "rules": [rule]}
    cluster.create(ROLES, role)
    for name in ("view", "edit", "admin"):
        assert rule in rules(cluster, name)
    cluster.delete(f"{ROLES}/databases")
    for name in ("view", "edit", "admin"):
        assert rule not in rules(cluster, name)


def test_default_roles_are_not_exported(cluster: EmbeddedApi) -> None:
    cluster.create(ROLES, {"metadata": {"name": "mine"}, "rules": []})
    exported = [
        item["metadata"]["name"]
        for item in cluster.get(ROLES)["items"]
        if not is_default({**item, "kind": "ClusterRole"})
    ]
    assert exported == ["mine"]
