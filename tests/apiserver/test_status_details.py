# SPDX-License-Identifier: Apache-2.0
"""The `details` of refusals, by which clients tell which object was refused."""

from __future__ import annotations

import pytest
from tests.apiserver.embedded_api import CONFIG_MAPS, PODS, EmbeddedApi, config_map, pod

from steersman.cluster.store import Document


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def named(status: Document) -> Document:
    return {name: value for name, value in status["details"].items() if name != "causes"}


def test_a_refused_creation_names_the_object_that_was_sent(cluster: EmbeddedApi) -> None:
    status = cluster.refusal(422, "POST", PODS, pod("hello", containers=[]))
    assert named(status) == {"name": "hello", "kind": "Pod"}
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.containers"]


def test_a_refused_object_of_a_group_is_named_with_its_group_and_kind(cluster: EmbeddedApi) -> None:
    deployment = {"metadata": {"name": "web"}, "spec": {"replicas": -1}}
    status = cluster.refusal(422, "POST", "/apis/apps/v1/namespaces/default/deployments", deployment)
    assert named(status) == {"name": "web", "group": "apps", "kind": "Deployment"}


def test_a_creation_of_what_exists_names_the_resource_and_the_object(cluster: EmbeddedApi) -> None:
    cluster.create(CONFIG_MAPS, config_map("a"))
    status = cluster.refusal(409, "POST", CONFIG_MAPS, config_map("a"))
    assert status["details"] == {"name": "a", "kind": "configmaps"}


def test_a_missing_namespace_is_named_instead_of_the_object(cluster: EmbeddedApi) -> None:
    status = cluster.refusal(404, "POST", CONFIG_MAPS.replace("default", "gone"), config_map("a"))
    assert status["details"] == {"name": "gone", "kind": "namespaces"}


def test_a_quota_that_is_exceeded_names_the_pod(cluster: EmbeddedApi) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    cluster.create("/api/v1/namespaces/default/resourcequotas", quota)
    status = cluster.refusal(403, "POST", PODS, pod("web"))
    assert status["details"] == {"name": "web", "kind": "pods"}


@pytest.mark.parametrize("body", [{"spec": {"containers": {}}}, {"spec": {"nosuch": 1}}, {"kind": "Service"}])
def test_a_body_that_is_not_understood_has_no_details(cluster: EmbeddedApi, body: Document) -> None:
    status = cluster.refusal(400, "POST", f"{PODS}?fieldValidation=Strict", {"metadata": {"name": "web"}, **body})
    assert "details" not in status
