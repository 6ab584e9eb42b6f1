# SPDX-License-Identifier: Apache-2.0
"""Endpoints and EndpointSlices of Services: which pods are in them, under which ports and conditions."""

from __future__ import annotations

from typing import Any

from tests.controllers.world import World, with_ready, workload

from steersman import api
from steersman.cluster.controllers.endpoint_slices import EndpointSlice
from steersman.cluster.controllers.endpoints import Endpoints
from steersman.cluster.store import Pods

Part = dict[str, Any]


def _service(name: str = "web", **spec: Any) -> Part:
    ports = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]
    spec = {"selector": {"app": "web"}, "clusterIP": "10.96.0.9", "ports": ports, **spec}
    metadata = {"name": name, "namespace": "default", "labels": {"tier": "front"}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _world(replicas: int = 3, **spec: Any) -> World:
    world = World("replicaset", "endpoints", "endpointslice", "garbage-collector", keeps_documents=True)
    world.create(_service(**spec))
    world.create(workload("ReplicaSet", replicas=replicas))
    world.pass_time(3)
    return world


def _slices(world: World) -> list[Part]:
    return list(world.store.documents(EndpointSlice).values())


def _endpoints(world: World, name: str = "web") -> Part:
    return world.store.document(Endpoints, f"default/{name}")


def _addresses(world: World) -> list[str]:
    return sorted(one["addresses"][0] for found in _slices(world) for one in found["endpoints"])


def test_a_service_has_endpoints_and_a_slice_with_its_ready_pods() -> None:
    world = _world(2)
    pods = sorted(world.pods(), key=lambda pod: pod.status.pod_ip)
    (slice_,) = _slices(world)
    first = slice_["endpoints"][0]
    assert first["addresses"] == [pods[0].status.pod_ip]
    assert first["conditions"] == {"ready": True, "serving": True, "terminating": False}
    assert (first["nodeName"], first["targetRef"]["uid"]) == (pods[0].spec.node_name, pods[0].metadata.uid)
    assert slice_["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert slice_["metadata"]["labels"] == {
        "tier": "front",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    owner = slice_["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Service", "web", True)
    (subset,) = _endpoints(world)["subsets"]
    assert [address["ip"] for address in subset["addresses"]] == [pod.status.pod_ip for pod in pods]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert _endpoints(world)["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"] == "endpoint-controller"


def test_pods_that_are_not_ready_are_published_only_where_the_service_says_so() -> None:
    for publishes in (False, True):
        world = _world(2, publishNotReadyAddresses=publishes)
        pod = world.pods()[0]
        world.change_status(pod, conditions=with_ready(pod.status, False))
        world.pass_time(2)
        (subset,) = _endpoints(world)["subsets"]
        assert len(subset["addresses"]) == 1 + publishes
        assert len(subset.get("notReadyAddresses", ())) == 1 - publishes
        conditions = [one["conditions"] for one in _slices(world)[0]["endpoints"]]
        assert {"ready": publishes, "serving": False, "terminating": False} in conditions


def test_a_pod_that_is_deleted_leaves_endpoints_at_once_and_its_slice_when_it_is_gone() -> None:
    world = _world(2)
    gone = world.pods()[0]
    Pods(world.store).delete(api.key(gone), grace_period_seconds=30)
    world.pass_time(2)
    assert gone.status.pod_ip not in [one["ip"] for one in _endpoints(world)["subsets"][0]["addresses"]]
    conditions = {one["addresses"][0]: one["conditions"] for one in _slices(world)[0]["endpoints"]}
    assert conditions[gone.status.pod_ip] == {"ready": False, "serving": True, "terminating": True}
    world.pass_time(40)
    assert len(_addresses(world)) == 2
    assert gone.status.pod_ip not in _addresses(world)


def test_a_named_target_port_is_looked_up_in_every_pod() -> None:
    ports = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": "web"}]
    world = World("replicaset", "endpoints", "endpointslice", keeps_documents=True)
    world.create(_service(ports=ports))
    for name, number in (("one", 8080), ("two", 9090), ("three", 0)):
        container: Part = {"name": "main", "image": "nginx"}
        if number:
            container["ports"] = [{"name": "web", "containerPort": number}]
        made = workload("ReplicaSet", name, replicas=1)
        made["spec"]["selector"]["matchLabels"]["set"] = name
        made["spec"]["template"] = {
            "metadata": {"labels": {"app": "web", "set": name}},
            "spec": {"containers": [container]},
        }
        world.create(made)
    world.pass_time(3)
    found = {tuple(port["port"] for port in one["ports"]): len(one["endpoints"]) for one in _slices(world)}
    assert found == {(8080,): 1, (9090,): 1, (): 1}
    assert {subset["ports"][0]["port"] for subset in _endpoints(world)["subsets"]} == {8080, 9090}


def test_a_headless_service_without_ports_has_addresses_and_host_names() -> None:
    world = World("statefulset", "endpoints", "endpointslice", keeps_documents=True)
    world.create(_service("db", clusterIP="None", ports=[]))
    world.create(workload("StatefulSet", "db", replicas=2, serviceName="db"))
    world.pass_time(5)
    (slice_,) = _slices(world)
    assert [one["hostname"] for one in slice_["endpoints"]] == ["db-0", "db-1"]
    assert slice_["ports"] == []
    assert slice_["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    (subset,) = _endpoints(world, "db")["subsets"]
    assert "ports" not in subset
    assert [one["hostname"] for one in subset["addresses"]] == ["db-0", "db-1"]


def test_a_service_without_pods_has_an_empty_slice_and_one_without_a_selector_nothing() -> None:
    world = World("endpoints", "endpointslice", keeps_documents=True)
    world.create(_service("empty"))
    world.create(_service("manual", selector={}))
    world.settle()
    (slice_,) = _slices(world)
    assert (slice_["metadata"]["generateName"], slice_["endpoints"], slice_["ports"]) == ("empty-", [], [])
    assert list(world.store.documents(Endpoints)) == ["default/empty"]


def test_slices_hold_a_hundred_endpoints_and_endpoints_a_thousand() -> None:
    world = World("replicaset", "endpoints", "endpointslice", nodes=[f"n{n}" for n in range(20)], keeps_documents=True)
    world.create(_service())
    world.create(workload("ReplicaSet", replicas=1050))
    world.pass_time(5)
    assert sorted(len(one["endpoints"]) for one in _slices(world)) == [50] + [100] * 10
    assert len(_endpoints(world)["subsets"][0]["addresses"]) == 1000
    assert _endpoints(world)["metadata"]["annotations"] == {"endpoints.kubernetes.io/over-capacity": "truncated"}
    world.change_spec(world.get(api.ReplicaSet, "web"), replicas=130)
    world.pass_time(60)
    assert sum(len(one["endpoints"]) for one in _slices(world)) == 130
    assert "annotations" not in _endpoints(world)["metadata"]


def test_endpoints_that_a_user_deletes_come_back_and_those_of_a_deleted_service_go() -> None:
    world = _world(2)
    world.store.delete(Endpoints, "default/web")
    world.store.delete(EndpointSlice, api.key(world.all(EndpointSlice)[0]))
    world.settle()
    assert len(_addresses(world)) == 2
    assert _endpoints(world)["subsets"]
    world.store.delete(api.Service, "default/web")
    world.pass_time(2)
    assert world.all(Endpoints) == []
    assert world.all(EndpointSlice) == []


def test_a_pod_that_gets_other_labels_moves_between_services() -> None:
    world = _world(2)
    world.create(_service("other", selector={"app": "other"}))
    pod = world.pods()[0]
    world.change_labels(pod, {"app": "other"})
    world.pass_time(3)
    (subset,) = _endpoints(world, "other")["subsets"]
    assert [one["ip"] for one in subset["addresses"]] == [pod.status.pod_ip]
    assert len(_endpoints(world)["subsets"][0]["addresses"]) == 2  # its place was taken by a new pod


def test_stores_without_documents_have_no_controllers_of_endpoints() -> None:
    assert not {"endpoints", "endpointslice"} & {controller.NAME for controller in World().controllers}
