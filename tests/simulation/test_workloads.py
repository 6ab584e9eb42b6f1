# SPDX-License-Identifier: Apache-2.0
"""Workloads in simulations: their pods are made and placed, a dump is not doubled, and the reader is told what was done."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tests.controllers.world import template, workload
from tests.simulation.clusters import nodes

from steersman import api
from steersman.api import codec
from steersman.simulation import Simulation

_NOTE = "assumed of them: they are ready as soon as they start, and run until something ends them"


def _pod(name: str, owner: dict[str, Any], node: str = "n1", labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A pod as a dump has it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-of-{name}",
            "labels": {"app": "web", **(labels or {})},
            "creationTimestamp": "2026-03-01T12:00:00Z",
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {**template()["spec"], "nodeName": node},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _owner(kind: str, name: str, uid: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid}


def _with_uid(document: dict[str, Any], uid: str, **metadata: Any) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], "uid": uid, **metadata}}


def _names(simulation: Simulation, kind: type[api.Object] = api.Pod) -> list[str]:
    return sorted(obj.metadata.name for obj in simulation.cluster.objects(kind).values())


def test_the_pods_of_a_deployment_are_made_and_placed() -> None:
    result = Simulation.load(nodes("n1", "n2"), workload("Deployment", replicas=3)).run()
    assert len(result.placements) == 3
    assert {placement.node for placement in result.placements.values()} == {"n1", "n2"}
    assert result.notes == (f"3 pods were made for 1 Deployment; {_NOTE}",)


def test_statuses_are_those_of_a_cluster_that_came_to_rest() -> None:
    simulation = Simulation.load(nodes("n1"), workload("Deployment", replicas=2))
    simulation.run()
    status = simulation.cluster.get(api.Deployment, "default/web").status
    assert (status.replicas, status.available_replicas) == (2, 2)
    assert {c.type: c.reason for c in status.conditions} == {
        "Available": "MinimumReplicasAvailable",
        "Progressing": "NewReplicaSetAvailable",
    }


def test_pods_that_do_not_fit_are_pending_and_the_simulation_ends() -> None:
    huge = workload("Deployment", replicas=2)
    huge["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1000"}}
    result = Simulation.load(nodes("n1"), huge).run()
    assert result.summary.pending == 2
    assert result.summary.seconds < 60


def test_made_pods_can_be_explained_afterwards() -> None:
    simulation = Simulation.load(nodes("n1", "n2"), workload("Deployment", replicas=3), seed=3)
    result = simulation.run()
    for name, placement in result.placements.items():
        assert result.explain(name).node == placement.node


def test_the_same_input_gives_the_same_names_and_nodes() -> None:
    given = nodes("n1", "n2"), workload("Deployment", replicas=5), workload("StatefulSet", "db", "db", replicas=2)
    first, second = (Simulation.load(*given, seed=1).run() for _ in range(2))
    assert first.placements == second.placements
    copied = copy.deepcopy(Simulation.load(*given, seed=1))
    assert copied.run().placements == first.placements


def test_controllers_can_be_left_out() -> None:
    result = Simulation.load(nodes("n1"), workload("Deployment", replicas=2), controllers=False).run()
    assert not result.placements
    assert result.notes == ("controllers were not to run: no pods were made for 1 Deployment",)


def test_a_stateful_set_whose_pod_does_not_fit_says_that_others_wait() -> None:
    huge = workload("StatefulSet", "db", "db", replicas=3)
    huge["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1000"}}
    result = Simulation.load(nodes("n1"), huge).run()
    assert list(result.pending) == ["default/db-0"]
    assert result.notes[1:] == ("StatefulSet default/db has 1 of 3 pods: the next is made when those before are ready",)


def test_scaling_between_runs_makes_and_deletes_pods() -> None:
    simulation = Simulation.load(nodes("n1"), workload("ReplicaSet", replicas=2))
    simulation.run()
    assert len(_names(simulation)) == 2
    simulation.add(workload("ReplicaSet", "other", "other", replicas=1))
    assert len(simulation.run().placements) == 3


# -- dumps -------------------------------------------------------------------------------------------------------------


def test_pods_that_a_replica_set_owns_count_as_its_replicas() -> None:
    replica_set = _with_uid(workload("ReplicaSet", replicas=3), "rs-uid")
    pods = [_pod(f"web-{n}", _owner("ReplicaSet", "web", "rs-uid")) for n in range(2)]
    simulation = Simulation.load(nodes("n1"), replica_set, pods)
    result = simulation.run()
    assert len(_names(simulation)) == 3
    assert result.notes == (f"1 pod was made for 1 ReplicaSet; {_NOTE}",)


def _deployment_dump() -> list[dict[str, Any]]:
    """A Deployment, its ReplicaSet and its two pods, as a cluster that filled in everything would give them."""
    filled = {
        "metadata": {"creationTimestamp": None, "labels": {"app": "web"}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "nginx:1",
                    "imagePullPolicy": "IfNotPresent",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        },
    }
    hashed = {"app": "web", "pod-template-hash": "5d4f8c7b9"}
    deployment = _with_uid(workload("Deployment", replicas=2, template=filled), "d-uid")
    deployment["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "7"}
    set_template = {**filled, "metadata": {"creationTimestamp": None, "labels": hashed}}
    replica_set = _with_uid(
        workload("ReplicaSet", "web-5d4f8c7b9", replicas=2, selector={"matchLabels": hashed}, template=set_template),
        "rs-uid",
        labels=hashed,
        annotations={
            "deployment.kubernetes.io/revision": "7",
            "deployment.kubernetes.io/desired-replicas": "2",
            "deployment.kubernetes.io/max-replicas": "3",
        },
        ownerReferences=[{**_owner("Deployment", "web", "d-uid"), "controller": True}],
    )
    owner = _owner("ReplicaSet", "web-5d4f8c7b9", "rs-uid")
    pods = [_pod(f"web-5d4f8c7b9-{n}", owner, labels={"pod-template-hash": "5d4f8c7b9"}) for n in ("abcde", "fghij")]
    return [deployment, replica_set, *pods]


def test_a_dump_of_a_deployment_is_not_doubled_and_nothing_is_rolled() -> None:
    simulation = Simulation.load(nodes("n1"), _deployment_dump())
    result = simulation.run()
    assert _names(simulation) == ["web-5d4f8c7b9-abcde", "web-5d4f8c7b9-fghij"]
    assert _names(simulation, api.ReplicaSet) == ["web-5d4f8c7b9"]
    assert (result.notes, result.placements) == ((), {})
    replica_set = simulation.cluster.get(api.ReplicaSet, "default/web-5d4f8c7b9")
    assert replica_set.metadata.annotations["deployment.kubernetes.io/revision"] == "7"


def test_a_dump_without_replica_sets_is_not_doubled_either() -> None:
    without = [document for document in _deployment_dump() if document["kind"] != "ReplicaSet"]
    simulation = Simulation.load(nodes("n1"), without)
    result = simulation.run()
    assert _names(simulation) == ["web-5d4f8c7b9-abcde", "web-5d4f8c7b9-fghij"]
    assert result.notes == (
        "1 ReplicaSet not in the input: taken to be those of the Deployments that select their pods",
    )


def test_a_dump_of_a_stateful_set_without_revisions_is_left_as_it_is() -> None:
    stateful_set = _with_uid(workload("StatefulSet", "web", replicas=2, serviceName="web"), "s-uid", generation=4)
    stateful_set["status"] = {
        "observedGeneration": 4,
        "replicas": 2,
        "currentRevision": "web-69c4b9f7d8",
        "updateRevision": "web-69c4b9f7d8",
    }
    owner = _owner("StatefulSet", "web", "s-uid")
    pods = [_pod(f"web-{n}", owner, labels={"controller-revision-hash": "web-69c4b9f7d8"}) for n in range(2)]
    simulation = Simulation.load(nodes("n1"), stateful_set, pods)
    simulation.run()
    uids = {pod.metadata.uid for pod in simulation.cluster.objects(api.Pod).values()}
    assert uids == {"uid-of-web-0", "uid-of-web-1"}


def test_a_dump_of_a_daemon_set_without_revisions_gets_pods_for_new_nodes_only() -> None:
    daemon_set = _with_uid(
        workload("DaemonSet", "agent"), "ds-uid", annotations={"deprecated.daemonset.template.generation": "3"}
    )
    labels = {"controller-revision-hash": "6b8f", "pod-template-generation": "3"}
    pod = _pod("agent-x", _owner("DaemonSet", "agent", "ds-uid"), labels=labels)
    simulation = Simulation.load(nodes("n1", "n2"), daemon_set, pod)
    result = simulation.run(until=120)
    assert "agent-x" in _names(simulation)
    (placement,) = result.placements.values()
    assert placement.node == "n2"


def test_an_owner_that_is_not_in_the_input_changes_nothing() -> None:
    pod = _pod("web-x", _owner("ReplicaSet", "web", "elsewhere"))
    simulation = Simulation.load(nodes("n1"), pod)
    assert simulation.run().notes == ()
    assert _names(simulation) == ["web-x"]


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"])
def test_a_wrong_template_is_refused_with_its_field(kind: str) -> None:
    document = workload(kind)
    document["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "much"}}
    with pytest.raises(Exception, match=r"spec\.template\.spec\.containers\[0\]\.resources\.requests\.cpu"):
        Simulation.load(nodes("n1"), document)


# -- a real cluster's dump ---------------------------------------------------------------------------------------------

_DUMP = Path(__file__).parent / "data" / "dump_of_workloads.json"
"""A Deployment after a rollout, a StatefulSet with claims, a DaemonSet and a ReplicationController on three nodes, as
kube-apiserver and kube-controller-manager v1.36.4 left them."""


def _dump(*left_out: str) -> list[dict[str, Any]]:
    items = json.loads(_DUMP.read_text(encoding="utf-8"))["items"]
    return [item for item in items if item["kind"] not in left_out]


@pytest.mark.parametrize(
    "left_out", [(), ("ControllerRevision",), ("ReplicaSet",), ("ReplicaSet", "ControllerRevision")], ids="+".join
)
def test_the_pods_of_a_real_cluster_stay_as_they_are(left_out: tuple[str, ...]) -> None:
    dump = _dump(*left_out)
    simulation = Simulation.load(dump)
    result = simulation.run(until=120)
    assert result.placements == {}
    pods = {item["metadata"]["uid"] for item in dump if item["kind"] == "Pod"}
    assert {pod.metadata.uid for pod in simulation.cluster.objects(api.Pod).values()} == pods
    assert len(pods) == 9


def test_controllers_say_of_a_real_cluster_what_upstreams_said() -> None:
    dump = _dump()
    simulation = Simulation.load(dump)
    simulation.run(until=120)
    kinds = (api.Deployment, api.ReplicaSet, api.StatefulSet, api.DaemonSet, api.ReplicationController)
    for item in dump:
        kind = next((kind for kind in kinds if item["kind"] == kind.KIND), None)
        if kind is not None:
            ours = codec.to_dict(simulation.cluster.get(kind, f"default/{item['metadata']['name']}"))
            assert _said(ours["status"]) == _said(item["status"])
            assert ours["spec"] == item["spec"]
            assert ours["metadata"].get("annotations") == item["metadata"].get("annotations")


def _said(status: dict[str, Any]) -> dict[str, Any]:
    """A status without zeros, which some fields of upstream's have and others leave out."""
    return {name: value for name, value in status.items() if value not in (0, None)}


def test_the_note_about_pods_with_a_run_time_does_not_say_that_they_run_for_ever() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "batch"},
        "spec": {
            "template": {
                "metadata": {"annotations": {"steersman.dev/run-seconds": "30"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
            }
        },
    }
    (note,) = Simulation.load(nodes("n1"), job).run().notes
    assert note == "1 pod was made for 1 Job; assumed of them: they are ready as soon as they start"
