# SPDX-License-Identifier: Apache-2.0
"""Nodes, namespaces, workloads and devices."""

from __future__ import annotations

import pytest
from tests.embedded.stores import Recorder, admitting_store, make_store, raw

from steersman import api
from steersman.cluster.store import Forbidden, in_creation_order
from steersman.testing import make_namespace, make_node, make_pod, make_replica_set, make_replication_controller

NAME_LABEL = "kubernetes.io/metadata.name"


def test_a_node_offers_all_its_capacity_unless_it_says_otherwise() -> None:
    store = admitting_store()
    meta = api.ObjectMeta(name="n1")
    node = store.create(api.Node(metadata=meta, status=api.NodeStatus(capacity={"cpu": "4"})))
    assert node.status.allocatable == {"cpu": "4"}
    status = api.NodeStatus(capacity={"cpu": "4"}, allocatable={"cpu": "3"})
    other = store.create(api.Node(metadata=api.ObjectMeta(name="n2"), status=status))
    assert other.status.allocatable == {"cpu": "3"}


def test_a_namespace_has_its_name_as_a_label() -> None:
    namespace = admitting_store().create(raw(make_namespace("shop").label("team", "a")))
    assert namespace.metadata.labels == {"team": "a", NAME_LABEL: "shop"}
    assert namespace.status.phase == "Active"


def test_a_missing_namespace_comes_with_the_first_object_in_it() -> None:
    store, heard = admitting_store(), Recorder()
    store.subscribe(heard, (api.Namespace, api.Pod))
    store.create(raw(make_pod("a").namespace("shop")))
    store.create(raw(make_pod("b").namespace("shop")))
    assert heard.story == [("ADDED", "shop"), ("ADDED", "a"), ("ADDED", "b")]
    assert store.get(api.Namespace, "shop").metadata.labels == {NAME_LABEL: "shop"}


def test_a_refused_object_brings_no_namespace() -> None:
    store = admitting_store(make_pod("a"))
    with pytest.raises(Forbidden):
        store.create(api.Pod(api.ObjectMeta("b", "shop"), api.PodSpec(priority_class_name="gone")))
    assert store.find(api.Namespace, "shop") is None


def test_cluster_scoped_objects_bring_no_namespace() -> None:
    store = admitting_store(make_node("n1"))
    assert not store.objects(api.Namespace)


def test_a_store_without_admission_takes_objects_as_they_are() -> None:
    store = make_store(make_pod("web"))
    assert not store.objects(api.Namespace)
    assert store.get(api.Pod, "default/web").spec == api.PodSpec()


def test_a_controller_has_one_replica_unless_it_says_otherwise() -> None:
    store = admitting_store()
    assert store.create(raw(make_replica_set("a"))).spec.replicas == 1
    assert store.create(raw(make_replica_set("b").replicas(0))).spec.replicas == 0


def test_a_replication_controller_selects_the_pods_of_its_template() -> None:
    template = {"metadata": {"labels": {"app": "web"}}}
    meta, spec = api.ObjectMeta(name="a"), api.ReplicationControllerSpec(template=template)
    store = admitting_store()
    made = store.create(api.ReplicationController(metadata=meta, spec=spec))
    assert (made.spec.selector, made.metadata.labels, made.spec.replicas) == ({"app": "web"}, {"app": "web"}, 1)
    kept = store.create(raw(make_replication_controller("b").selector({"app": "db"})))
    assert kept.spec.selector == {"app": "db"}


def test_a_job_without_numbers_runs_one_pod() -> None:
    store = admitting_store()
    job = store.create(api.Job(metadata=api.ObjectMeta(name="a")))
    assert (job.spec.parallelism, job.spec.completions) == (1, 1)
    queue = store.create(api.Job(metadata=api.ObjectMeta(name="b"), spec=api.JobSpec(parallelism=3)))
    assert (queue.spec.parallelism, queue.spec.completions) == (3, None)


def _claim_spec(mode: str = "", count: int = 0) -> api.ResourceClaimSpec:
    exactly = api.ExactDeviceRequest(device_class_name="gpu", allocation_mode=mode, count=count)
    sub = api.DeviceSubRequest(name="big", device_class_name="gpu", allocation_mode=mode, count=count)
    requests = (api.DeviceRequest("one", exactly), api.DeviceRequest("other", None, (sub,)))
    return api.ResourceClaimSpec(devices=api.DeviceClaim(requests=requests))


def _counts(spec: api.ResourceClaimSpec) -> list[tuple[str, int]]:
    one, other = spec.devices.requests
    assert one.exactly is not None
    return [(r.allocation_mode, r.count) for r in (one.exactly, other.first_available[0])]


def test_a_device_request_without_a_count_asks_for_one() -> None:
    store = admitting_store()
    claim = store.create(api.ResourceClaim(metadata=api.ObjectMeta(name="a"), spec=_claim_spec()))
    assert _counts(claim.spec) == [("ExactCount", 1)] * 2
    template_spec = api.ResourceClaimTemplateSpec(spec=_claim_spec("ExactCount", 3))
    template = store.create(api.ResourceClaimTemplate(metadata=api.ObjectMeta(name="b"), spec=template_spec))
    assert _counts(template.spec.spec) == [("ExactCount", 3)] * 2


def test_a_device_request_for_all_has_no_count() -> None:
    claim = admitting_store().create(api.ResourceClaim(metadata=api.ObjectMeta(name="a"), spec=_claim_spec("All")))
    assert _counts(claim.spec) == [("All", 0)] * 2


def test_a_device_counts_once_for_the_resource_it_stands_for() -> None:
    mappings = {
        "cpu": api.NodeAllocatableResourceMapping(capacity_key="cores"),
        "memory": api.NodeAllocatableResourceMapping(allocation_multiplier="2"),
    }
    device = api.Device(name="d", node_allocatable_resource_mappings=mappings)
    plain = api.Device(name="e")
    given = api.ResourceSlice(metadata=api.ObjectMeta(name="s"), spec=api.ResourceSliceSpec(devices=(device, plain)))
    made, untouched = admitting_store().create(given).spec.devices
    multipliers = {name: m.allocation_multiplier for name, m in made.node_allocatable_resource_mappings.items()}
    assert multipliers == {"cpu": "1", "memory": "2"}
    assert untouched == plain


def test_other_kinds_pass_as_they_are() -> None:
    given = api.CSINode(metadata=api.ObjectMeta(name="n1"))
    assert admitting_store().create(given).spec == given.spec


def test_what_admission_looks_up_is_created_first() -> None:
    pod, node = make_pod().obj(), make_node("n1").obj()
    priority, namespace = api.PriorityClass(), make_namespace("shop").obj()
    assert in_creation_order([pod, priority, node, namespace]) == [priority, namespace, pod, node]
