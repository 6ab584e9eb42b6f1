# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions: served at once, in several versions, with subresources, and emptied when they go."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.custom_resources import definition as databases
from tests.apiserver.embedded_api import EmbeddedApi, names

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABS = "/apis/stable.example.com/v1/namespaces/default/crontabs"


def definition(**changes: Any) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    coloured = {**anything, "properties": {"colour": {"type": "string"}}}
    schema = {"openAPIV3Schema": anything}
    current_schema = {"openAPIV3Schema": {**anything, "properties": {"spec": coloured}}}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    subresources = {"status": {}, "scale": scale}
    old = {"name": "v1beta1", "served": True, "storage": False, "schema": schema}
    current = {"name": "v1", "served": True, "storage": True, "schema": current_schema, "subresources": subresources}
    current["selectableFields"] = [{"jsonPath": ".spec.colour"}]
    spec = {
        "group": "stable.example.com",
        "scope": "Namespaced",
        "names": {"plural": "crontabs", "kind": "CronTab", "shortNames": ["ct"]},
        "versions": [old, current],
        **changes,
    }
    return {"metadata": {"name": "crontabs.stable.example.com"}, "spec": spec}


@pytest.fixture
def cluster() -> EmbeddedApi:
    made = EmbeddedApi()
    made.create(DEFINITIONS, definition())
    return made


def tab(name: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": name}, "spec": spec}


def test_a_definition_is_established_and_discovered(cluster: EmbeddedApi) -> None:
    found = cluster.get(f"{DEFINITIONS}/crontabs.stable.example.com")
    conditions = {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert found["status"]["acceptedNames"]["listKind"] == "CronTabList"
    assert found["status"]["storedVersions"] == ["v1"]
    group = cluster.get("/apis/stable.example.com")
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1"]
    shown = cluster.get("/apis/stable.example.com/v1")["resources"]
    assert [entry["name"] for entry in shown] == ["crontabs", "crontabs/status", "crontabs/scale"]


def test_versions_share_objects(cluster: EmbeddedApi) -> None:
    cluster.create(TABS, tab("a", size=2))
    old = cluster.get(TABS.replace("v1", "v1beta1") + "/a")
    assert (old["apiVersion"], old["spec"]) == ("stable.example.com/v1beta1", {"size": 2})


def test_subresources_of_a_definition_work(cluster: EmbeddedApi) -> None:
    made = cluster.create(TABS, {**tab("a", size=2), "status": {"size": 9}})
    assert "status" not in made
    assert cluster.patch(f"{TABS}/a/scale", {"spec": {"replicas": 4}})["spec"] == {"replicas": 4}
    assert cluster.get(f"{TABS}/a")["spec"] == {"size": 4}
    cluster.patch(f"{TABS}/a/status", {"status": {"size": 3}, "spec": {"size": 100}})
    found = cluster.get(f"{TABS}/a")
    assert (found["spec"], found["status"]) == ({"size": 4}, {"size": 3})
    assert found["metadata"]["generation"] == 2


def test_an_update_has_to_name_the_version_it_has_seen(cluster: EmbeddedApi) -> None:
    cluster.create(TABS, tab("a"))
    status = cluster.refusal(422, "PUT", f"{TABS}/a", tab("a", size=1))
    assert status["details"]["causes"][0]["field"] == "metadata.resourceVersion"


def test_a_default_that_a_definition_gets_later_is_shown_in_older_objects(cluster: EmbeddedApi) -> None:
    cluster.create(TABS, tab("old"))
    path = f"{DEFINITIONS}/crontabs.stable.example.com"
    crd = cluster.get(path)
    spec = crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["tier"] = {"type": "string", "default": "gold"}
    assert cluster.answer("PUT", path, crd).code == 200
    assert cluster.get(f"{TABS}/old")["spec"] == {"tier": "gold"}
    assert [item["spec"] for item in cluster.get(TABS)["items"]] == [{"tier": "gold"}]


def test_fields_of_a_definition_select(cluster: EmbeddedApi) -> None:
    cluster.create(TABS, tab("a", colour="red"))
    cluster.create(TABS, tab("b", colour="blue"))
    assert names(cluster.get(f"{TABS}?fieldSelector=spec.colour%3Dblue")) == ["b"]
    cluster.refusal(400, "GET", f"{TABS}?fieldSelector=spec.size%3D1")


def test_objects_go_with_their_definition(cluster: EmbeddedApi) -> None:
    held = tab("a")
    held["metadata"] = {"name": "a", "finalizers": ["example.com/mine"]}
    cluster.create(TABS, held)
    cluster.create(TABS, tab("b"))
    marked = cluster.delete(f"{DEFINITIONS}/crontabs.stable.example.com")
    assert marked["metadata"]["deletionTimestamp"]
    assert names(cluster.get(TABS)) == ["a"]
    cluster.patch(f"{TABS}/a", {"metadata": {"finalizers": None}})
    cluster.refusal(404, "GET", TABS)
    cluster.refusal(404, "GET", f"{DEFINITIONS}/crontabs.stable.example.com")
    assert "stable.example.com" not in {group["name"] for group in cluster.get("/apis")["groups"]}


def test_names_that_are_taken_are_not_accepted(cluster: EmbeddedApi) -> None:
    other = definition(names={"plural": "tabs", "kind": "Tab", "shortNames": ["ct"]})
    other["metadata"]["name"] = "tabs.stable.example.com"
    cluster.create(DEFINITIONS, other)
    found = cluster.get(f"{DEFINITIONS}/tabs.stable.example.com")["status"]["conditions"]
    assert [(one["type"], one["status"]) for one in found] == [("NamesAccepted", "False"), ("Established", "False")]
    cluster.refusal(404, "GET", TABS.replace("crontabs", "tabs"))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"scope": "Galaxy"}, "spec.scope"),
        ({"group": "example.org"}, "metadata.name"),
        ({"versions": []}, "spec.versions"),
    ],
)
def test_a_wrong_definition_names_the_field(changes: dict[str, object], field: str) -> None:
    status = EmbeddedApi().refusal(422, "POST", DEFINITIONS, definition(**changes))
    assert status["details"]["causes"][0]["field"] == field


def test_objects_are_read_by_the_present_schema_of_their_definition() -> None:
    cluster = EmbeddedApi()
    text, databases_url = {"type": "string"}, "/apis/example.com/v1/namespaces/default/databases"
    spec = {"type": "object", "properties": {"old": text}}
    made = cluster.create(DEFINITIONS, databases({"type": "object", "properties": {"spec": spec}}))
    stored = {"apiVersion": "example.com/v1", "kind": "Database", "metadata": {"name": "d"}, "spec": {"old": "x"}}
    cluster.create(databases_url, stored)
    spec = {"type": "object", "properties": {"mode": {**text, "default": "slow"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {**made["spec"]["versions"][0], "schema": schema}
    cluster.patch(f"{DEFINITIONS}/databases.example.com", {"spec": {"versions": [version]}})
    assert cluster.get(f"{databases_url}/d")["spec"] == {"mode": "slow"}
    assert [item["spec"] for item in cluster.get(databases_url)["items"]] == [{"mode": "slow"}]


def test_a_dry_run_of_a_definition_names_the_version_that_is_stored() -> None:
    answer = EmbeddedApi().create(f"{DEFINITIONS}?dryRun=All", definition())
    assert answer["status"]["storedVersions"] == ["v1"]
