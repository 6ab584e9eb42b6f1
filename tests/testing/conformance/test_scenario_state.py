# SPDX-License-Identifier: Apache-2.0
"""What a replayed scenario remembers from one cycle to the next."""

from __future__ import annotations

from tests.testing.conformance.documents import Document, both_engines, node, nominated, placed, pod, replay, running


def volume(name: str, host: str | None = None) -> Document:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "late"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {**spec, **(affinity if host else {})},
        "status": {"phase": "Available"},
    }


CLAIM: Document = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "shared", "namespace": "default"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
CLASS: Document = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "late"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}


@both_engines
def test_a_volume_stays_reserved_when_another_pod_shares_the_claim(scalar: bool) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "shared"}}]
    pods = [
        pod("first", volumes=volumes, nodeSelector={"kubernetes.io/hostname": "n2"}),
        pod("second", volumes=volumes),
    ]
    objects = [node("n1"), node("n2"), CLASS, CLAIM, volume("v1", host="n1"), volume("v2")]
    results = replay(objects, pods, [placed("first", "n2"), placed("second", "n1")], scalar)
    assert [result["volumeBindings"] for result in results] == [{"shared": "v2"}, {"shared": "v2"}]


@both_engines
def test_a_pod_that_lost_its_nomination_examines_all_nodes(scalar: bool) -> None:
    pods = [pod("greater", cpu="1", priority=100), nominated(pod("lesser", priority=10), to="n1")]
    preempted: Document = {
        "pod": "default/greater",
        "profile": "default-scheduler",
        "outcome": "unschedulable",
        "postFilter": {
            "nominating": "set",
            "nominatedNode": "n1",
            "victims": ["default/victim"],
            "clearedNominations": ["default/lesser"],
        },
    }
    objects = [
        node("n1"),
        node("n2"),
        running(pod("victim", cpu="1"), on="n1"),
        running(pod("other", priority=200), on="n2"),
    ]
    results = replay(objects, pods, [preempted, placed("lesser", "n2")], scalar)
    assert "nominatedPath" not in results[1]
    assert results[1]["feasible"] == ["n1", "n2"]


@both_engines
def test_nothing_is_excluded_by_a_restriction_to_all_nodes(scalar: bool) -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    (result,) = replay([node("n1")], [pod("p", affinity={"nodeAffinity": terms})], [placed("p", "n1")], scalar)
    assert result["preFilter"]["restricted"]
    assert "excluded" not in result
