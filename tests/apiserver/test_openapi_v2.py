# SPDX-License-Identifier: Apache-2.0
"""`/openapi/v2`, which kubectl reads for typed lists and for kinds that do not exist."""

from __future__ import annotations

import gzip

import msgspec
import pytest
from tests.apiserver.custom_resources import definition
from tests.apiserver.embedded_api import EmbeddedApi

from steersman.cluster.apiserver.openapi_v2 import PATH, PROTOBUF_TYPES
from steersman.cluster.apiserver.protobuf import _fields as wire_fields
from steersman.cluster.store import Document


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def member(message: bytes, *numbers: int) -> list[bytes]:
    """Every value at a path of field numbers."""
    found = [message]
    for number in numbers:
        found = [value for part in found for one, _, value in wire_fields(part) if one == number]
    return found


def test_the_document_has_the_kinds_of_all_groups_and_of_lists(cluster: EmbeddedApi) -> None:
    document = cluster.get(PATH)
    assert document["swagger"] == "2.0"
    kinds = {
        (kind["group"], kind["version"], kind["kind"])
        for node in document["definitions"].values()
        for kind in node.get("x-kubernetes-group-version-kind") or ()
    }
    assert {("", "v1", "ConfigMapList"), ("apps", "v1", "Deployment"), ("batch", "v1", "CronJob")} <= kinds
    spec = document["definitions"]["io.k8s.api.core.v1.Pod"]["properties"]["spec"]
    assert spec["$ref"] == "#/definitions/io.k8s.api.core.v1.PodSpec"
    patch = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert {"in": "query", "name": "fieldValidation", "type": "string", "uniqueItems": True} in patch["parameters"]


def test_no_reference_leads_nowhere(cluster: EmbeddedApi) -> None:
    document = cluster.get(PATH)
    text = msgspec.json.encode(document).decode()
    named = {part.partition('"')[0] for part in text.split('"$ref":"#/definitions/')[1:]}
    assert named <= set(document["definitions"])
    assert "#/components" not in text


def test_kubectl_gets_the_same_in_protobuf(cluster: EmbeddedApi) -> None:
    document = cluster.get(PATH)
    answer = cluster.answer("GET", PATH, headers={"accept": PROTOBUF_TYPES[0]})
    assert answer.content_type == PROTOBUF_TYPES[1]
    assert isinstance(answer.body, bytes)
    assert {name.decode() for name in member(answer.body, 9, 1, 1)} == set(document["definitions"])
    assert {name.decode() for name in member(answer.body, 8, 2, 1)} == set(document["paths"])
    queries = {name.decode() for name in member(answer.body, 8, 2, 2, 8, 8, 1, 2, 3, 4)}
    assert {"dryRun", "fieldValidation", "fieldManager", "force"} <= queries


def test_a_custom_resource_appears_with_its_definition(cluster: EmbeddedApi) -> None:
    before = cluster.answer("GET", PATH).headers["ETag"]
    cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    after = cluster.answer("GET", PATH)
    assert after.headers["ETag"] != before
    assert "com.example.v1.Database" in cluster.get(PATH)["definitions"]
    assert cluster.answer("GET", PATH, headers={"if-none-match": after.headers["ETag"]}).code == 304


def test_a_custom_resource_that_keeps_unknown_fields_has_no_properties_so_that_kubectl_accepts_them(
    cluster: EmbeddedApi,
) -> None:
    keeps = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}}
    crd = definition()
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": keeps}
    cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    kinds = [{"group": "example.com", "kind": "Database", "version": "v1"}]
    published = cluster.get(PATH)["definitions"]["com.example.v1.Database"]
    assert published == {"type": "object", "x-kubernetes-group-version-kind": kinds}


def test_a_field_that_keeps_unknown_fields_has_no_type_and_metadata_is_described(cluster: EmbeddedApi) -> None:
    keeps = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    crd = definition()
    crd["spec"]["versions"][0]["schema"] = {
        "openAPIV3Schema": {
            "type": "object",
            "properties": {"spec": {**keeps, "properties": {"a": {"type": "string"}}}},
        }
    }
    cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    properties = cluster.get(PATH)["definitions"]["com.example.v1.Database"]["properties"]
    assert properties["spec"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert properties["metadata"]["description"].startswith("Standard object's metadata. More info: https://")


def test_the_document_is_compressed_on_request(cluster: EmbeddedApi) -> None:
    answer = cluster.answer("GET", PATH, headers={"accept-encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert isinstance(answer.body, bytes)
    document: Document = msgspec.json.decode(gzip.decompress(answer.body))
    assert document == cluster.get(PATH)
