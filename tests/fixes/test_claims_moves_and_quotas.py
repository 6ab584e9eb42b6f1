# SPDX-License-Identifier: Apache-2.0
"""Fixes beyond the pod's own spec and its nodes: moves, host ports, claims, devices, quotas; and one more node."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fixes.clusters import HOSTNAME, a_node, a_pod, found, of_kind

from steersman.api import codec
from steersman.explain import ExplainOptions, explain_pod
from steersman.explain.fixes import FixKind, find_fixes
from steersman.scheduler.diagnosis import CauseCode
from steersman.simulation import Simulation
from steersman.testing import is_in, not_in

Document = dict[str, Any]


def replicas(name: str, *pods: tuple[str, str, str]) -> list[Document]:
    """A ReplicaSet and its pods: name, cpu and node of each."""
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": pods[0][1]}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": len(pods), "selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": "default"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    made = {"namespace": "default", "labels": {"app": name}, "ownerReferences": [owner]}
    documents: list[Document] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {**metadata, "uid": name}, "spec": spec}
    ]
    for pod, cpu, node in pods:
        containers = [{"name": "app", "image": "app", "resources": {"requests": {"cpu": cpu}}}]
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        content = {"nodeName": node, "containers": containers}
        documents.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, **made}, "spec": content, "status": status}
        )
    return documents


FRAGMENTED: tuple[Any, ...] = (
    *replicas("small", ("s1", "1500m", "n1"), ("s2", "1400m", "n2")),
    a_node("n1"),
    a_node("n2"),
)


def test_room_is_made_by_moving_the_smallest_pod_that_is_large_enough() -> None:
    fix = of_kind(found(*FRAGMENTED, a_pod("web", "3")), FixKind.MOVE)
    assert fix.summary == "Move pod default/s2 from n2 to n1: it goes to n2."
    assert fix.patches[0].merge_patch == {"spec": {"nodeName": "n1"}}
    assert fix.commands[0] == "kubectl cordon -- n2", "so that it does not come back"
    assert fix.commands[1].endswith("| kubectl create --raw /api/v1/namespaces/default/pods/s2/eviction -f -")
    assert fix.commands[2] == "kubectl uncordon -- n2"
    assert fix.evicts == (), "nobody is preempted"


def test_no_pod_is_moved_that_its_budget_protects_or_that_would_not_be_recreated() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "small", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "small"}}, "minAvailable": 2},
    }
    protected = found(*FRAGMENTED, budget, a_pod("web", "3"))
    bare = found(a_node("n1"), a_node("n2"), a_pod("s1", "1500m").node("n1"), a_pod("web", "3"))
    assert FixKind.MOVE not in [fix.kind for fix in (*protected, *bare)]


def test_a_host_port_becomes_the_next_free_one_or_none_and_its_holder_is_named() -> None:
    port = {"containerPort": 80, "hostPort": 8080}
    spec = {"containers": [{"name": "app", "image": "app:1", "ports": [port]}]}
    web = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    fixes = found(a_node("n1"), a_pod("a").host_port(8080).node("n1"), a_pod("b").host_port(8081).node("n1"), web)
    changed, dropped = of_kind(fixes, FixKind.HOST_PORT), of_kind(fixes, FixKind.NO_HOST_PORT)
    what = "host port 8080/TCP of container app, which default/a has on n1"
    assert changed.summary == f"Change {what}, to 8082: it goes to n1."
    assert dropped.summary == f"Drop {what}: it goes to n1."
    assert dropped.patches[0].merge_patch == {
        "spec": {"containers": [{"name": "app", "image": "app:1", "ports": [{"containerPort": 80}]}]}
    }, "what scheduling does not read stays"
    assert '"ports":[{"containerPort":80},{"$patch":"replace"}]' in dropped.commands[0]


def a_claim(name: str, storage_class: str, size: str) -> Document:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class}
    asked = {"resources": {"requests": {"storage": size}}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {**spec, **asked}}


def a_class(name: str, provisioner: str) -> Document:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**kind, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}


def test_a_claim_gets_smaller_or_another_class_or_a_volume() -> None:
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "small"},
        "spec": {
            "capacity": {"storage": "3Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "hostPath": {"path": "/data"},
        },
    }
    local, disk = a_class("local", "kubernetes.io/no-provisioner"), a_class("disk", "disk.example.com")
    fixes = found(a_node("n1"), local, disk, volume, a_claim("data", "local", "5Gi"), a_pod("web").pvc("data"))
    smaller, other = of_kind(fixes, FixKind.CLAIM_SIZE), of_kind(fixes, FixKind.STORAGE_CLASS)
    assert smaller.patches[0].merge_patch == {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
    assert other.patches[0].merge_patch == {"spec": {"storageClassName": "disk"}}
    assert other.commands[0].startswith("kubectl get -o json -- persistentvolumeclaim data | "), (
        "it cannot be changed in place"
    )
    created = of_kind(fixes, FixKind.VOLUME).create[0]
    assert created["spec"]["capacity"] == {"storage": "5Gi"}
    assert created["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] == [
        "n1"
    ]


def test_the_claims_of_a_stateful_set_change_in_its_templates_while_its_pods_stay() -> None:
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": "app"}]}}
    claim = {"metadata": {"name": "data"}, "spec": a_claim("", "local", "5Gi")["spec"]}
    selector = {"matchLabels": {"app": "db"}}
    spec = {"replicas": 1, "selector": selector, "template": template, "volumeClaimTemplates": [claim]}
    metadata = {"name": "db", "namespace": "default"}
    db = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
    local, disk = a_class("local", "kubernetes.io/no-provisioner"), a_class("disk", "disk.example.com")
    fix = of_kind(found(a_node("n1"), local, disk, db, pod="db-0"), FixKind.STORAGE_CLASS)
    assert fix.patches[0].merge_patch["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] == "disk"
    assert fix.commands[0].endswith("| kubectl replace --force --cascade=orphan -f -")
    assert fix.commands[1:] == (
        "kubectl delete --ignore-not-found -- persistentvolumeclaim data-db-0",
        "kubectl delete --ignore-not-found -- pod db-0",
    )


DEVICES = "resource.k8s.io/v1"


def devices_of(node: str, count: int) -> list[Document]:
    """So many devices of a node, and their class."""
    devices = [{"name": f"d{index}", "attributes": {"model": {"string": "a"}}} for index in range(count)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": devices}
    expression = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    return [
        {"apiVersion": DEVICES, "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec},
        {
            "apiVersion": DEVICES,
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [expression]},
        },
    ]


def a_pod_with_devices(request: Document, *, is_template: bool) -> list[Document]:
    spec: Document = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", **request}}]}}
    metadata = {"name": "gpus", "namespace": "default"}
    kind, field = ("ResourceClaimTemplate", "Template") if is_template else ("ResourceClaim", "")
    reference = {"name": "gpu", f"resourceClaim{field}Name": "gpus"}
    web = {"containers": [{"name": "app", "image": "app"}], "resourceClaims": [reference]}
    return [
        {"apiVersion": DEVICES, "kind": kind, "metadata": metadata, "spec": {"spec": spec} if is_template else spec},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}, "spec": web},
    ]


@pytest.mark.parametrize("is_template", [False, True])
def test_a_device_claim_asks_for_as_many_devices_as_a_node_has(is_template: bool) -> None:
    fixes = found(a_node("n1"), *devices_of("n1", 3), *a_pod_with_devices({"count": 5}, is_template=is_template))
    fix = of_kind(fixes, FixKind.DEVICE_COUNT)
    assert " from 5 to 3: it goes to n1." in fix.summary
    assert fix.patches[0].kind == ("ResourceClaimTemplate" if is_template else "ResourceClaim")
    renewed = "kubectl get -o json -- pod web | kubectl replace --force -f -"
    assert (fix.commands[-1] == renewed) is is_template, "a claim is made from a template once"


def test_one_more_node_brings_its_devices() -> None:
    other = {
        **a_pod_with_devices({"count": 2}, is_template=False)[1],
        "metadata": {"name": "a", "namespace": "default"},
    }
    first = a_pod_with_devices({"count": 2}, is_template=True)
    cluster = [codec.to_dict(a_node("n1").obj()), *devices_of("n1", 2), *first]
    other["spec"] = {**first[1]["spec"]}
    fix = of_kind(list(find_fixes(Simulation.load(*cluster, other), "a")), FixKind.ADD_NODE)
    assert [created["kind"] for created in fix.create] == ["Node", "ResourceSlice"]
    assert fix.create[1]["spec"]["nodeName"] == fix.create[0]["metadata"]["name"]


def test_selectors_of_devices_are_dropped_one_by_one_and_a_class_that_is_missing_is_replaced() -> None:
    expressions = ['device.attributes["gpu.example.com"].model == "b"', 'device.driver == "gpu.example.com"']
    selectors = [{"cel": {"expression": each}} for each in expressions]
    strict = a_pod_with_devices({"selectors": selectors}, is_template=False)
    fix = of_kind(found(a_node("n1"), *devices_of("n1", 1), *strict), FixKind.DEVICE_SELECTOR)
    left = fix.patches[0].merge_patch["spec"]["devices"]["requests"][0]["exactly"]["selectors"]
    assert left == selectors[1:]
    unknown = a_pod_with_devices({"deviceClassName": "tpu"}, is_template=False)
    classed = of_kind(found(a_node("n1"), *devices_of("n1", 1), *unknown), FixKind.DEVICE_CLASS)
    assert "from tpu to gpu" in classed.summary


def test_a_pod_that_a_quota_refused_is_explained_and_let_in() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team", "namespace": "default"}}
    cluster = [
        {**quota, "spec": {"hard": {"requests.cpu": "1200m"}}},
        codec.to_dict(a_node("n1").obj()),
        codec.to_dict(a_pod("a", "700m").node("n1").obj()),
        codec.to_dict(a_pod("web", "1").obj()),
    ]
    simulation = Simulation.load(*cluster, validate="ignore")
    assert "exceeded quota: team" in simulation.fork().run().explain("web").message
    explained = explain_pod(simulation, "web", ExplainOptions(loaded=simulation))
    assert explained.cause.code is CauseCode.NOT_ADMITTED
    assert "exceeded quota: team" in explained.cause.sentence
    fixes = list(explained.fixes or ())
    raised, lowered = of_kind(fixes, FixKind.QUOTA), of_kind(fixes, FixKind.REQUESTS)
    assert raised.patches[0].merge_patch == {"spec": {"hard": {"requests.cpu": "1700m"}}}
    assert raised.commands[1].startswith("printf '%s' '{"), "the pod is not in the cluster yet"
    assert lowered.summary.startswith("Lower the cpu request of container con0 from 1 to 500m")


def test_an_affinity_is_relaxed_by_one_value_or_to_the_nearest_bound() -> None:
    pods = [
        a_pod("web").required_node_affinity(is_in("zone", "c")),
        a_pod("web").required_node_affinity(not_in("zone", "a", "b")),
    ]
    values = []
    for pod in pods:
        fix = of_kind(found(a_node("n1").label("zone", "a"), pod), FixKind.NODE_AFFINITY_VALUES)
        required = fix.patches[0].merge_patch["spec"]["affinity"]["nodeAffinity"]
        (term,) = required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        values.append(term["matchExpressions"][0]["values"])
    assert values == [["c", "a"], ["b"]]


def test_a_new_node_leaves_room_for_its_daemons() -> None:
    template = {
        "metadata": {"labels": {"app": "d"}},
        "spec": {"containers": [{"name": "d", "image": "app", "resources": {"requests": {"cpu": "200m"}}}]},
    }
    metadata = {"name": "d", "namespace": "default"}
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
    daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}
    fix = of_kind(found(a_node("n1", "2"), daemons, a_pod("web", "3")), FixKind.ADD_NODE)
    assert fix.create[0]["status"]["allocatable"]["cpu"] == "3200m"
    assert fix.create[0]["metadata"]["labels"][HOSTNAME] == "new-node"
