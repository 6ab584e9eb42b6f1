# SPDX-License-Identifier: Apache-2.0
"""Gets and lists over the API: chunks of one moment, resource versions, selectors, forms."""

from __future__ import annotations

import pytest
from tests.apiserver.embedded_api import CONFIG_MAPS, PODS, EmbeddedApi, config_map, names, pod


@pytest.fixture
def cluster() -> EmbeddedApi:
    made = EmbeddedApi(history=16)
    for name in ("a", "b", "c", "d", "e"):
        made.create(CONFIG_MAPS, config_map(name))
    return made


def test_an_object_keeps_every_field_that_it_came_with(cluster: EmbeddedApi) -> None:
    cluster.create(PODS, pod("web", hostAliases=[{"ip": "10.0.0.1", "hostnames": ["x"]}]))
    found = cluster.get(f"{PODS}/web")
    assert found["spec"]["hostAliases"] == [{"ip": "10.0.0.1", "hostnames": ["x"]}]
    assert found["spec"]["containers"][0]["env"] == [{"name": "COLOUR", "value": "red"}]
    assert found["spec"]["schedulerName"] == "default-scheduler"
    assert found["status"]["phase"] == "Pending"


def test_a_missing_object_is_refused_with_details(cluster: EmbeddedApi) -> None:
    status = cluster.refusal(404, "GET", f"{CONFIG_MAPS}/none")
    assert status["message"] == 'configmaps "none" not found'
    assert status["details"] == {"name": "none", "kind": "configmaps"}


def test_an_unknown_path_is_refused(cluster: EmbeddedApi) -> None:
    for path in ("/api/v1/namespaces/default/pans", "/apis/apps/v9/deployments", "/api/v1/pods/x"):
        assert cluster.refusal(404, "GET", path)["reason"] == "NotFound"


def test_chunks_show_the_cluster_as_it_was_at_the_first_of_them(cluster: EmbeddedApi) -> None:
    first = cluster.get(f"{CONFIG_MAPS}?limit=2")
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    cluster.delete(f"{CONFIG_MAPS}/c")
    cluster.create(CONFIG_MAPS, config_map("bb"))
    cluster.update(f"{CONFIG_MAPS}/d", config_map("d", data={"new": "yes"}))
    second = cluster.get(f"{CONFIG_MAPS}?limit=5&continue={first['metadata']['continue']}")
    assert names(second) == ["c", "d", "e"]
    assert "data" not in second["items"][1]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]


def test_a_token_that_is_too_old_is_refused_with_another_one_for_the_rest(cluster: EmbeddedApi) -> None:
    first = cluster.get(f"{CONFIG_MAPS}?limit=2")
    for number in range(40):
        cluster.update(f"{CONFIG_MAPS}/e", config_map("e", data={"number": str(number)}))
    status = cluster.refusal(410, "GET", f"{CONFIG_MAPS}?limit=2&continue={first['metadata']['continue']}")
    assert status["reason"] == "Expired"
    rest = cluster.get(f"{CONFIG_MAPS}?continue={status['metadata']['continue']}")
    assert names(rest) == ["c", "d", "e"]


@pytest.mark.parametrize("token", ["%20", "e30", "bm8"])
def test_a_token_that_is_none_is_refused(cluster: EmbeddedApi, token: str) -> None:
    assert "continue" in cluster.refusal(400, "GET", f"{CONFIG_MAPS}?continue={token}")["message"]


def test_an_exact_version_shows_the_past(cluster: EmbeddedApi) -> None:
    version = cluster.store.resource_version
    cluster.delete(f"{CONFIG_MAPS}/a")
    exact = f"{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact"
    assert names(cluster.get(exact)) == ["a", "b", "c", "d", "e"]
    fresh = f"{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan"
    assert names(cluster.get(fresh)) == ["b", "c", "d", "e"]
    assert names(cluster.get(f"{CONFIG_MAPS}?resourceVersion=0")) == ["b", "c", "d", "e"]


def test_versions_that_make_no_sense_are_refused(cluster: EmbeddedApi) -> None:
    cluster.refusal(504, "GET", f"{CONFIG_MAPS}?resourceVersion=999999")
    cluster.refusal(400, "GET", f"{CONFIG_MAPS}?resourceVersion=abc")
    cluster.refusal(422, "GET", f"{CONFIG_MAPS}?resourceVersionMatch=Exact")
    cluster.refusal(422, "GET", f"{CONFIG_MAPS}?resourceVersion=0&resourceVersionMatch=Exact")
    cluster.refusal(422, "GET", f"{CONFIG_MAPS}?resourceVersion=3&resourceVersionMatch=Maybe")


def test_labels_select(cluster: EmbeddedApi) -> None:
    for name, labels in (("x", {"app": "web", "tier": "1"}), ("y", {"app": "db"}), ("z", {})):
        cluster.create(PODS, {**pod(name), "metadata": {"name": name, "labels": labels}})

    def selected(selector: str) -> list[str]:
        return names(cluster.get(f"{PODS}?labelSelector={selector}"))

    assert selected("app%3Dweb") == ["x"]
    assert selected("app%21%3Dweb") == ["y", "z"]
    assert selected("app in (web,db),tier") == ["x"]
    assert selected("app notin (web)") == ["y", "z"]
    assert selected("!app") == ["z"]
    cluster.refusal(400, "GET", f"{PODS}?labelSelector=app in web")
    cluster.refusal(400, "GET", f"{PODS}?labelSelector=_app%3Dweb")


def test_fields_select_as_far_as_a_server_supports_them(cluster: EmbeddedApi) -> None:
    for name, node in (("x", "n1"), ("y", "")):
        cluster.create(PODS, pod(name, nodeName=node) if node else pod(name))
    assert names(cluster.get(f"{PODS}?fieldSelector=spec.nodeName%3Dn1")) == ["x"]
    assert names(cluster.get(f"{PODS}?fieldSelector=spec.nodeName%21%3Dn1,status.phase%3DPending")) == ["y"]
    assert names(cluster.get(f"{PODS}?fieldSelector=metadata.name%3Dx")) == ["x"]
    assert names(cluster.get(f"{PODS}?fieldSelector=spec.hostNetwork%3Dfalse")) == ["x", "y"]
    refused = cluster.refusal(400, "GET", f"{PODS}?fieldSelector=spec.containers%3Dx")
    assert refused["message"] == "field label not supported: spec.containers"


def test_metadata_alone_is_returned_on_request(cluster: EmbeddedApi) -> None:
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    listed = cluster.get(CONFIG_MAPS, accept=accept)
    assert listed["kind"] == "PartialObjectMetadataList"
    assert set(listed["items"][0]) == {"kind", "apiVersion", "metadata"}


def test_yaml_can_be_had(cluster: EmbeddedApi) -> None:
    answer = cluster.answer("GET", f"{CONFIG_MAPS}/a", headers={"accept": "application/yaml"})
    assert answer.content_type == "application/yaml"
    assert b"kind: ConfigMap\n" in answer.content()


def test_what_needs_containers_is_refused_with_a_sentence(cluster: EmbeddedApi) -> None:
    cluster.create(PODS, pod("web"))
    for part in ("exec", "attach", "portforward", "proxy"):
        message = cluster.refusal(501, "GET", f"{PODS}/web/{part}")["message"]
        assert message.endswith("its pods are simulated and run no containers")
