# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v3 documents: what kubectl looks for in them."""

from __future__ import annotations

import json
from typing import Any

from tests.apiserver.custom_resources import definition
from tests.apiserver.embedded_api import EmbeddedApi

from steersman.cluster.apiserver.openapi import OpenApiResource, document_hash, group_version_document, index

DEPLOYMENTS = OpenApiResource("deployments", "Deployment", True, ("status", "scale"))
DATABASES = OpenApiResource("databases", "Database", True)
NODES = OpenApiResource("nodes", "Node", False)
APPS = group_version_document("apps/v1", [DEPLOYMENTS])
EXAMPLE = group_version_document("example.com/v1", [DATABASES], [definition()])


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(references, node.values()))
    if isinstance(node, list):
        return set().union(*map(references, node))
    return set()


def test_every_reference_leads_somewhere() -> None:
    for document in (APPS, EXAMPLE, group_version_document("v1", [NODES])):
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert references(document) - known == set()


def test_paths_of_namespaced_resources() -> None:
    one = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    assert set(APPS["paths"]) == {
        "/apis/apps/v1/deployments",
        "/apis/apps/v1/namespaces/{namespace}/deployments",
        one,
        f"{one}/status",
    }


def test_paths_of_the_core_group() -> None:
    paths = group_version_document("v1", [NODES])["paths"]
    assert set(paths) == {"/api/v1/nodes", "/api/v1/nodes/{name}"}


def test_a_patch_names_its_kind_and_takes_field_validation_and_strategic_merge_patches() -> None:
    patch = APPS["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert ("query", "fieldValidation") in [(parameter["in"], parameter["name"]) for parameter in patch["parameters"]]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_custom_resources_take_no_strategic_merge_patch() -> None:
    patch = EXAMPLE["paths"]["/apis/example.com/v1/namespaces/{namespace}/databases/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]


def test_schemas_are_openapi_v3_and_keep_what_patches_need() -> None:
    schemas = APPS["components"]["schemas"]
    deployment = schemas["io.k8s.api.apps.v1.Deployment"]
    assert deployment["x-kubernetes-group-version-kind"] == [{"group": "apps", "kind": "Deployment", "version": "v1"}]
    assert "enum" not in deployment["properties"]["kind"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert (containers["type"], containers["x-kubernetes-patch-merge-key"]) == ("array", "name")
    assert schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["hostname"]["type"] == "string"
    assert all(isinstance(schema.get("type"), (str, type(None))) for schema in schemas.values())


def test_a_field_called_type_is_no_type() -> None:
    strategy = APPS["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentStrategy"]
    assert strategy["properties"]["type"]["type"] == "string"


def test_only_what_is_reachable_is_there() -> None:
    assert "io.k8s.api.batch.v1.Job" not in APPS["components"]["schemas"]


def test_custom_resources_have_their_schema_and_the_metadata_of_all_objects() -> None:
    schema = EXAMPLE["components"]["schemas"]["com.example.v1.Database"]
    assert schema["x-kubernetes-group-version-kind"] == [{"group": "example.com", "kind": "Database", "version": "v1"}]
    assert schema["properties"]["spec"]["properties"]["size"]["maximum"] == 10
    assert "ObjectMeta" in json.dumps(schema["properties"]["metadata"])
    assert "com.example.v1.DatabaseList" in EXAMPLE["components"]["schemas"]


def test_the_index_leads_to_the_documents() -> None:
    paths = index({"v1": [NODES], "example.com/v1": [DATABASES]}, [definition()])["paths"]
    assert set(paths) == {"api/v1", "apis/example.com/v1"}
    assert paths["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")


def test_a_hash_changes_with_the_definition_and_only_then() -> None:
    before = document_hash("example.com/v1", [DATABASES], [definition()])
    assert document_hash("example.com/v1", [DATABASES], [definition()]) == before
    other = definition({"type": "object"})
    assert document_hash("example.com/v1", [DATABASES], [other]) != before
    assert document_hash("v1", [NODES], [other]) == document_hash("v1", [NODES], [definition()])


def test_documents_are_served_and_follow_the_definitions() -> None:
    cluster = EmbeddedApi()
    before = cluster.get("/openapi/v3")["paths"]
    assert {"api/v1", "apis/apps/v1"} <= before.keys()
    cluster.refusal(404, "GET", "/openapi/v3/apis/example.com/v1")
    cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    after = cluster.get("/openapi/v3")["paths"]
    assert after.keys() - before.keys() == {"apis/example.com/v1"}
    assert all(after[path] == before[path] for path in before)
    schemas = cluster.get("/openapi/v3/apis/example.com/v1")["components"]["schemas"]
    assert schemas["com.example.v1.Database"]["properties"]["spec"]["properties"]["size"]["maximum"] == 10
    changed = {"spec": definition({"type": "object", "description": "other"})["spec"]}
    cluster.patch("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/databases.example.com", changed)
    schemas = cluster.get("/openapi/v3/apis/example.com/v1")["components"]["schemas"]
    assert schemas["com.example.v1.Database"]["description"] == "other"


def test_every_reference_of_what_is_served_leads_somewhere() -> None:
    cluster = EmbeddedApi()
    for path in cluster.get("/openapi/v3")["paths"]:
        document = cluster.get(f"/openapi/v3/{path}")
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert references(document) - known == set(), path


def test_only_verbs_of_a_resource_have_operations() -> None:
    reviews = OpenApiResource("tokenreviews", "TokenReview", False, (), ("create",))
    paths = group_version_document("authentication.k8s.io/v1", [reviews])["paths"]
    assert {path: set(found) for path, found in paths.items()} == {
        "/apis/authentication.k8s.io/v1/tokenreviews": {"post"}
    }
