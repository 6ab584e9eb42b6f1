# SPDX-License-Identifier: Apache-2.0
"""What a server fills in in objects that leave it out: by kind, the same again after a second write, and never over a value.

`make e2e` compares the objects of bare_objects.yaml with what a kube-apiserver makes of them.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.apiserver.embedded_api import PODS, EmbeddedApi, pod

from steersman.api.defaults import with_default_fields
from steersman.cluster.store import Document

BARE_OBJECTS: list[Document] = list(yaml.safe_load_all(Path(__file__).with_name("bare_objects.yaml").read_text()))
SERVICES = "/api/v1/namespaces/default/services"
SECRETS = "/api/v1/namespaces/default/secrets"


def url_of(document: Document) -> str:
    """The collection of an object, by the catalog's plural."""
    resource = EmbeddedApi().catalog.of_kind(document["apiVersion"], document["kind"])
    assert resource is not None
    root = "/api/v1" if document["apiVersion"] == "v1" else f"/apis/{document['apiVersion']}"
    return f"{root}/{'namespaces/default/' if resource.namespaced else ''}{resource.plural}"


def service(name: str, **spec: Any) -> Document:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


@pytest.mark.parametrize(
    "bare", BARE_OBJECTS, ids=[f"{bare['kind']}-{bare['metadata']['name']}" for bare in BARE_OBJECTS]
)
def test_what_is_complete_stays_as_it_is(bare: Document) -> None:
    complete = with_default_fields(bare)
    assert with_default_fields(complete) == complete


def test_a_pod_has_what_a_template_has() -> None:
    made = EmbeddedApi().create(PODS, pod("a", volumes=[{"name": "v"}]))["spec"]
    container = made["containers"][0]
    assert (container["imagePullPolicy"], container["terminationMessagePolicy"]) == ("Always", "File")
    assert (made["dnsPolicy"], made["enableServiceLinks"], made["securityContext"]) == ("ClusterFirst", True, {})
    assert made["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_a_pod_has_its_qos_class_before_a_kubelet_reports() -> None:
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}}
    containers = [{"name": "app", "image": "nginx", "resources": limits}]
    cluster = EmbeddedApi()
    assert cluster.create(PODS, pod("a"))["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert cluster.create(PODS, pod("b", containers=containers))["status"]["qosClass"] == "Guaranteed"


def test_string_data_of_a_secret_becomes_data() -> None:
    cluster = EmbeddedApi()
    secret = {"metadata": {"name": "s"}, "data": {"a": "eA==", "b": "eA=="}, "stringData": {"b": "ü"}}
    made = cluster.create(SECRETS, secret)
    assert made["data"] == {"a": "eA==", "b": base64.b64encode("ü".encode()).decode()}
    assert made["type"] == "Opaque"
    assert "stringData" not in cluster.get(f"{SECRETS}/s")
    changed = cluster.patch(f"{SECRETS}/s", {"stringData": {"c": "y"}})
    assert changed["data"] == {**made["data"], "c": "eQ=="}


def test_quantities_are_stored_as_texts() -> None:
    resources = {"requests": {"cpu": 1, "memory": "1024Mi"}}
    made = EmbeddedApi().create(PODS, pod("a", containers=[{"name": "c", "image": "x", "resources": resources}]))
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_services_get_addresses_of_their_own() -> None:
    cluster = EmbeddedApi()
    made = [cluster.create(SERVICES, service(name))["spec"] for name in ("a", "b")]
    assert len({spec["clusterIP"] for spec in made}) == 2
    assert all(spec["clusterIPs"] == [spec["clusterIP"]] and spec["type"] == "ClusterIP" for spec in made)
    refusal = cluster.refusal(422, "POST", SERVICES, service("c", clusterIP=made[0]["clusterIP"]))
    assert "provided IP is already allocated" in refusal["message"]
    headless = cluster.create(SERVICES, service("d", clusterIP="None"))["spec"]
    assert (headless["clusterIP"], headless["clusterIPs"]) == ("None", ["None"])
    named = cluster.create(
        SERVICES, {"metadata": {"name": "e"}, "spec": {"type": "ExternalName", "externalName": "x.y"}}
    )
    assert "clusterIP" not in named["spec"]


def test_an_address_that_is_given_up_is_free_again() -> None:
    cluster = EmbeddedApi()
    first = cluster.create(SERVICES, service("a"))["spec"]["clusterIP"]
    cluster.delete(f"{SERVICES}/a")
    assert cluster.create(SERVICES, service("b", clusterIP=first))["spec"]["clusterIP"] == first


def test_node_ports_are_chosen_kept_and_given_back() -> None:
    cluster = EmbeddedApi()
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    chosen = [ports[0], {**ports[1], "nodePort": 30001}]
    made = cluster.create(SERVICES, service("a", type="NodePort", ports=chosen))
    numbers = [port["nodePort"] for port in made["spec"]["ports"]]
    assert numbers[1] == 30001
    assert len(set(numbers)) == 2
    refusal = cluster.refusal(
        422, "POST", SERVICES, service("b", type="NodePort", ports=[{"port": 1, "nodePort": 30001}])
    )
    assert "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated" in refusal["message"]
    # kubectl replace leaves out what the server chose: it stays
    again = cluster.update(f"{SERVICES}/a", service("a", type="NodePort", ports=ports))
    assert [port["nodePort"] for port in again["spec"]["ports"]] == numbers
    assert again["spec"]["clusterIP"] == made["spec"]["clusterIP"]
    plain = cluster.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})
    assert all("nodePort" not in port for port in plain["spec"]["ports"])


def test_a_status_has_the_zeros_that_clients_insist_on() -> None:
    from steersman import api
    from steersman.cluster.store.documents import carried, document_of

    conditions = (api.Condition(type="DisruptionAllowed", status="False"),)
    budget = api.PodDisruptionBudget(metadata=api.ObjectMeta(name="b"))
    written = api.PodDisruptionBudget(
        metadata=budget.metadata, status=api.PodDisruptionBudgetStatus(observed_generation=1, conditions=conditions)
    )
    for status in (document_of(written)["status"], carried(document_of(budget), budget, written)["status"]):
        assert (status["currentHealthy"], status["expectedPods"]) == (0, 0)
        assert status["conditions"][0]["message"] == ""
    sets = api.ReplicaSet(metadata=api.ObjectMeta(name="r"), status=api.ReplicaSetStatus(observed_generation=1))
    assert document_of(sets)["status"]["replicas"] == 0
