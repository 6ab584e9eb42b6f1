# SPDX-License-Identifier: Apache-2.0
"""Creations, updates, patches and deletions over the API."""

from __future__ import annotations

import pytest
from tests.apiserver.embedded_api import CONFIG_MAPS, PODS, EmbeddedApi, config_map, names, pod

from steersman import api


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def test_a_new_object_gets_what_only_a_server_sets(cluster: EmbeddedApi) -> None:
    sent = config_map("a")
    sent["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"}
    made = cluster.create(CONFIG_MAPS, sent)
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert made["metadata"]["namespace"] == "default"
    assert made["metadata"]["resourceVersion"] == cluster.store.resource_version


def test_a_name_is_generated(cluster: EmbeddedApi) -> None:
    made = cluster.create(CONFIG_MAPS, {"metadata": {"generateName": "part-"}})
    assert made["metadata"]["name"].startswith("part-")
    assert len(made["metadata"]["name"]) == len("part-") + 5
    assert made["kind"] == "ConfigMap"


def test_a_dry_run_answers_and_changes_nothing(cluster: EmbeddedApi) -> None:
    version = cluster.store.resource_version
    made = cluster.create(f"{PODS}?dryRun=All", pod("web"))
    assert made["status"]["phase"] == "Pending"
    cluster.refusal(404, "GET", f"{PODS}/web")
    cluster.create(CONFIG_MAPS, config_map("a", data={"x": "1"}))
    changed = cluster.update(f"{CONFIG_MAPS}/a?dryRun=All", config_map("a", data={"x": "2"}))
    assert changed["data"] == {"x": "2"}
    assert cluster.get(f"{CONFIG_MAPS}/a")["data"] == {"x": "1"}
    assert int(cluster.store.resource_version) == int(version) + 1
    cluster.refusal(422, "POST", f"{CONFIG_MAPS}?dryRun=Some", config_map("b"))


def test_what_exists_is_not_created_again(cluster: EmbeddedApi) -> None:
    cluster.create(CONFIG_MAPS, config_map("a"))
    status = cluster.refusal(409, "POST", CONFIG_MAPS, config_map("a"))
    assert status["reason"] == "AlreadyExists"
    assert status["message"] == 'configmaps "a" already exists'


def test_nothing_is_created_in_a_namespace_that_is_not_there(cluster: EmbeddedApi) -> None:
    url = CONFIG_MAPS.replace("default", "missing")
    assert cluster.refusal(404, "POST", url, config_map("a"))["message"] == 'namespaces "missing" not found'


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (config_map("Upper"), "metadata.name"),
        ({"metadata": {"name": "a", "labels": {"app": "no spaces"}}}, "metadata.labels"),
        ({"metadata": {}}, "metadata.name"),
    ],
)
def test_bad_metadata_names_the_field(cluster: EmbeddedApi, document: dict[str, object], field: str) -> None:
    status = cluster.refusal(422, "POST", CONFIG_MAPS, document)
    assert status["details"]["causes"][0]["field"] == field


def test_an_object_of_another_kind_or_namespace_is_refused(cluster: EmbeddedApi) -> None:
    cluster.refusal(400, "POST", CONFIG_MAPS, pod("a"))
    elsewhere = config_map("a")
    elsewhere["metadata"]["namespace"] = "other"
    cluster.refusal(400, "POST", CONFIG_MAPS, elsewhere)
    cluster.refusal(400, "POST", CONFIG_MAPS, b"no json")
    cluster.refusal(400, "POST", CONFIG_MAPS, [1])
    cluster.refusal(405, "PUT", CONFIG_MAPS, config_map("a"))


def test_a_field_that_cannot_be_read_is_named(cluster: EmbeddedApi) -> None:
    broken = pod("web", priority="high")
    assert "spec.priority" in cluster.refusal(400, "POST", PODS, broken)["message"]


def test_an_update_of_an_older_version_is_a_conflict(cluster: EmbeddedApi) -> None:
    seen = cluster.create(CONFIG_MAPS, config_map("a"))
    cluster.update(f"{CONFIG_MAPS}/a", {**seen, "data": {"x": "1"}})
    status = cluster.refusal(409, "PUT", f"{CONFIG_MAPS}/a", {**seen, "data": {"x": "2"}})
    assert status["reason"] == "Conflict"
    assert "the object has been modified" in status["message"]


def test_an_update_that_changes_nothing_makes_no_version(cluster: EmbeddedApi) -> None:
    seen = cluster.create(CONFIG_MAPS, config_map("a"))
    assert (
        cluster.update(f"{CONFIG_MAPS}/a", seen)["metadata"]["resourceVersion"] == seen["metadata"]["resourceVersion"]
    )


def test_spec_and_status_are_written_apart(cluster: EmbeddedApi) -> None:
    seen = cluster.create(PODS, pod("web"))
    changed = {**seen, "status": {"phase": "Running", "podIP": "10.1.1.1", "hostIPs": [{"ip": "10.0.0.1"}]}}
    assert cluster.update(f"{PODS}/web", changed)["status"]["phase"] == "Pending"
    changed["spec"] = {**seen["spec"], "activeDeadlineSeconds": 5}
    written = cluster.update(f"{PODS}/web/status", changed)
    assert written["status"]["hostIPs"] == [{"ip": "10.0.0.1"}]
    assert "activeDeadlineSeconds" not in written["spec"]


def test_four_kinds_of_patch_reach_the_object(cluster: EmbeddedApi) -> None:
    cluster.create(PODS, pod("web"))
    cluster.patch(f"{PODS}/web", {"metadata": {"labels": {"a": "1"}}})
    cluster.patch(
        f"{PODS}/web", [{"op": "add", "path": "/metadata/labels/b", "value": "2"}], "application/json-patch+json"
    )
    images = [{"name": "app", "image": "nginx:2"}]
    patched = cluster.patch(f"{PODS}/web", {"spec": {"containers": images}}, "application/strategic-merge-patch+json")
    assert patched["metadata"]["labels"] == {"a": "1", "b": "2"}
    container = patched["spec"]["containers"][0]
    assert (container["image"], container["env"][0]["name"]) == ("nginx:2", "COLOUR")


def test_a_deletion_says_what_is_gone(cluster: EmbeddedApi) -> None:
    made = cluster.create(CONFIG_MAPS, config_map("a"))
    wrong = {"preconditions": {"uid": "another"}}
    cluster.refusal(409, "DELETE", f"{CONFIG_MAPS}/a", wrong)
    status = cluster.delete(f"{CONFIG_MAPS}/a")
    assert status["status"] == "Success"
    assert status["details"]["uid"] == made["metadata"]["uid"]
    cluster.refusal(404, "DELETE", f"{CONFIG_MAPS}/a")


def test_finalizers_hold_an_object_until_the_last_is_removed(cluster: EmbeddedApi) -> None:
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.com/mine"]
    cluster.create(CONFIG_MAPS, held)
    marked = cluster.delete(f"{CONFIG_MAPS}/a")
    assert marked["metadata"]["deletionTimestamp"]
    cluster.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})
    cluster.refusal(404, "GET", f"{CONFIG_MAPS}/a")


def test_a_collection_is_deleted_as_far_as_it_is_selected(cluster: EmbeddedApi) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {}), ("c", {"x": "1"})):
        cluster.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": labels}})
    assert names(cluster.delete(f"{CONFIG_MAPS}?labelSelector=x%3D1")) == ["a", "c"]
    assert names(cluster.get(CONFIG_MAPS)) == ["b"]


def test_a_lease_is_created_by_its_first_update(cluster: EmbeddedApi) -> None:
    url = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    answer = cluster.answer("PUT", url, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}})
    assert answer.code == 201
    cluster.refusal(404, "PUT", f"{CONFIG_MAPS}/none", config_map("none"))


def test_the_struct_and_the_document_of_an_update_agree(cluster: EmbeddedApi) -> None:
    cluster.create(PODS, pod("web"))
    cluster.patch(f"{PODS}/web", {"metadata": {"labels": {"app": "web"}}})
    assert cluster.store.get(api.Pod, "default/web").metadata.labels == {"app": "web"}


def test_limit_ranges_apply_to_pods_that_are_created_on_a_node() -> None:
    cluster = EmbeddedApi(api_server_admission=True)
    limits = [{"type": "Container", "defaultRequest": {"cpu": "100m"}, "max": {"memory": "1Gi"}}]
    cluster.create(
        "/api/v1/namespaces/default/limitranges",
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": limits}},
    )
    resources = cluster.create(PODS, pod("placed", nodeName="n1"))["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "1Gi"}}
