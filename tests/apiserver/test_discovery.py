# SPDX-License-Identifier: Apache-2.0
"""Discovery in both of its forms, the version, and health."""

from __future__ import annotations

import pytest
from tests.apiserver.embedded_api import EmbeddedApi

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def test_both_forms_of_discovery_show_the_same_resources(cluster: EmbeddedApi) -> None:
    legacy = {"v1": cluster.get("/api/v1")}
    for group in cluster.get("/apis")["groups"]:
        for version in group["versions"]:
            legacy[version["groupVersion"]] = cluster.get(f"/apis/{version['groupVersion']}")
    shown = {
        (version, entry["name"], tuple(entry["verbs"]))
        for version, document in legacy.items()
        for entry in document["resources"]
    }
    aggregated = set()
    for path in ("/api", "/apis"):
        for group in cluster.get(path, accept=AGGREGATED)["items"]:
            for version in group["versions"]:
                name = group["metadata"].get("name", "")
                api_version = f"{name}/{version['version']}" if name else version["version"]
                for entry in version["resources"]:
                    aggregated.add((api_version, entry["resource"], tuple(entry["verbs"])))
                    for part in entry.get("subresources", ()):
                        path_name = f"{entry['resource']}/{part['subresource']}"
                        aggregated.add((api_version, path_name, tuple(part["verbs"])))
    assert aggregated == shown
    assert ("apps/v1", "deployments/scale", ("get", "patch", "update")) in shown


def test_the_type_of_an_aggregated_answer_says_what_it_is(cluster: EmbeddedApi) -> None:
    answer = cluster.answer("GET", "/apis", headers={"accept": AGGREGATED})
    assert answer.content_type == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def test_groups_and_versions_that_are_not_there_are_refused(cluster: EmbeddedApi) -> None:
    for path in ("/apis/apps/v2", "/api/v2"):
        cluster.refusal(404, "GET", path)
    assert cluster.answer("GET", "/apis/none").body == b"404 page not found\n"
    cluster.refusal(405, "POST", "/apis", {})


def test_the_version_is_that_of_the_api(cluster: EmbeddedApi) -> None:
    version = cluster.get("/version")
    assert (version["major"], version["minor"]) == ("1", "37")
    assert version["gitVersion"].startswith("v1.37.1")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
def test_health_is_ok(cluster: EmbeddedApi, path: str) -> None:
    assert cluster.answer("GET", path).body == b"ok"
