# SPDX-License-Identifier: Apache-2.0
"""Built-in objects are read and written as Go does it: what is empty, and what is written although it is empty."""

from __future__ import annotations

import pytest
from tests.apiserver.embedded_api import CONFIG_MAPS, PODS, EmbeddedApi, config_map, pod

from steersman.api.go_values import as_go_reads, as_go_writes
from steersman.api.schemas import schema_of
from steersman.cluster.store import Document


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def test_empty_lists_maps_and_texts_are_omitted(cluster: EmbeddedApi) -> None:
    made = cluster.create(
        PODS, pod("web", nodeSelector={}, hostAliases=[], hostname="", securityContext={"sysctls": []})
    )
    assert not {"nodeSelector", "hostAliases", "hostname"} & set(made["spec"])
    assert made["spec"]["securityContext"] == {}
    assert "data" not in cluster.create(CONFIG_MAPS, config_map("a", data={}))


def test_zeros_behind_pointers_are_kept(cluster: EmbeddedApi) -> None:
    made = cluster.create(PODS, pod("web", terminationGracePeriodSeconds=0, automountServiceAccountToken=False))
    assert made["spec"]["terminationGracePeriodSeconds"] == 0
    assert made["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize(
    ("url", "document", "status"),
    [
        ("/apis/apps/v1/namespaces/default/{}", "deployments", {}),
        ("/apis/apps/v1/namespaces/default/{}", "statefulsets", {"replicas": 0, "availableReplicas": 0}),
        ("/apis/apps/v1/namespaces/default/{}", "replicasets", {"replicas": 0}),
    ],
)
def test_a_new_workload_has_the_status_of_a_zero_struct(
    cluster: EmbeddedApi, url: str, document: str, status: Document
) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("web")["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    assert cluster.create(url.format(document), {"metadata": {"name": "web"}, "spec": spec})["status"] == status


def test_lists_and_times_that_are_always_written_are_null(cluster: EmbeddedApi) -> None:
    role = cluster.create(
        "/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "none"}, "rules": []}
    )
    assert role["rules"] is None
    reference = {"kind": "Pod", "namespace": "default", "name": "web"}
    event = cluster.create(
        "/api/v1/namespaces/default/events", {"metadata": {"name": "e"}, "involvedObject": reference}
    )
    assert event["firstTimestamp"] is None
    assert event["eventTime"] is None
    assert event["reportingComponent"] == ""
    assert cluster.update("/api/v1/namespaces/default/events/e", event)["metadata"] == event["metadata"]


def test_an_explicit_empty_text_is_no_change_of_an_immutable_field(cluster: EmbeddedApi) -> None:
    """Bitnami's charts set `podManagementPolicy: ""`."""
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": pod("db")["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template, "podManagementPolicy": "", "serviceName": "db"}
    url = "/apis/apps/v1/namespaces/default/statefulsets"
    made = cluster.create(url, {"metadata": {"name": "db"}, "spec": spec})
    assert made["spec"]["podManagementPolicy"] == "OrderedReady"
    cluster.update(f"{url}/db", {"metadata": {"name": "db"}, "spec": spec})


def test_a_value_of_a_wrong_type_is_not_mistaken_for_an_empty_one(cluster: EmbeddedApi) -> None:
    status = cluster.refusal(400, "POST", PODS, pod("web", hostname=False))
    assert "cannot unmarshal bool into Go struct field PodSpec.spec.hostname of type string" in status["message"]


def test_writing_is_idempotent_and_survives_reading() -> None:
    schema = schema_of("v1", "Pod")
    assert schema is not None
    written = as_go_writes(pod("web", volumes=[{"name": "p", "projected": {"sources": []}}]), schema)
    assert written["spec"]["volumes"] == [{"name": "p", "projected": {"sources": None}}]
    assert as_go_writes(as_go_reads(written, schema), schema) == written
