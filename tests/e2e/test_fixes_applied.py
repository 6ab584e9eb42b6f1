# SPDX-License-Identifier: Apache-2.0
"""Fixes of a live cluster, carried out as they are printed on a real API server with real controllers: the pod gets its node,
and keeps everything that has nothing to do with scheduling. Once as a program would, by the JSON, and once by the commands."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from tests.cli.commands import steersman

from steersman.testing.control_plane import Binaries, ControlPlane, KubeClient, KubeControllerManager, Steersman
from steersman.testing.control_plane.binaries import KUBECTL

Json = dict[str, Any]

#: Nobody here sends the heartbeats of nodes.
CONTROLLERS: Final = "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"
IMAGE: Final = "registry.example/app:1.4.2"
ENV: Final = [{"name": "LOG_LEVEL", "value": "info"}]
PORTS: Final = [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]
TAINT: Final = {"key": "team", "value": "other", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with kube-controller-manager and Steersman, for all tests of the module."""
    with (
        ControlPlane(binaries, tmp_path_factory.mktemp("plane"), disabled_admission=()) as plane,
        KubeControllerManager(plane, flags=(CONTROLLERS,)),
        Steersman(plane),
    ):
        plane.admin.wait_until(lambda: plane.admin.find("ServiceAccount", "default"), timeout=120)
        yield plane


# -- what is pending ---------------------------------------------------------------------------------------------------


def node(name: str, *taints: Json) -> Json:
    amounts = {"cpu": "2", "memory": "4Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"case": name, "kubernetes.io/hostname": name}},
        "spec": {"taints": list(taints)},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def spec_for(case: str, cpu: str = "3") -> Json:
    """A pod for the node of the case, with fields that no scheduler looks at, in two containers."""
    main = {"name": "app", "image": IMAGE, "env": ENV, "ports": PORTS, "resources": {"requests": {"cpu": cpu}}}
    sidecar = {"name": "proxy", "image": "registry.example/proxy:2", "args": ["--quiet"]}
    return {"containers": [main, sidecar], "nodeSelector": {"case": case}, "terminationGracePeriodSeconds": 0}


def workload(kind: str, case: str, **more: Any) -> Json:
    version, labels = ("batch/v1", {}) if kind == "Job" else ("apps/v1", {"app": case})
    template = {"metadata": {"labels": {"app": case}}, "spec": spec_for(case)}
    selected = {"selector": {"matchLabels": labels}, "replicas": 1} if labels else {}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    metadata = {"name": case, "namespace": "default"}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": metadata,
        "spec": {**selected, "template": template, **more},
    }


def bare(case: str, cpu: str = "3", **spec: Any) -> Json:
    metadata = {"name": case, "namespace": "default", "labels": {"app": case}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec_for(case, cpu), **spec}}


def storage(name: str, storage_class: str) -> list[Json]:
    """A claim of a class that nobody provides volumes of, and a volume of another class."""
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "kubernetes.io/no-provisioner"}
    classes = [
        {**kind, "metadata": {"name": each}, "volumeBindingMode": "WaitForFirstConsumer"}
        for each in (storage_class, f"{storage_class}-full")
    ]
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": {"example.com/owner": "team-a"}},
        "spec": {**asked, "storageClassName": storage_class},
    }
    volume_spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/data"},
        "storageClassName": f"{storage_class}-full",
    }
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume_spec}
    return [*classes, claim, volume]


def volume_pod(case: str) -> list[Json]:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": case}}]
    return [*storage(case, f"class-of-{case}"), bare(case, "1", volumes=volumes)]


#: By case: what is created, and the kind of the fix that is carried out.
CASES: Final[dict[str, tuple[Callable[[str], list[Json]], str]]] = {
    "pod": (lambda case: [node(case), bare(case)], "LowerRequests"),
    "priority": (
        lambda case: [node(case), bare(f"{case}-rival", "2", nodeName=case), bare(case, "1")],
        "RaisePriority",
    ),
    "toleration": (lambda case: [node(case, TAINT), bare(case, "1")], "AddToleration"),
    "taint": (lambda case: [node(case, TAINT), bare(case, "1")], "RemoveTaint"),
    "deployment": (lambda case: [node(case), workload("Deployment", case)], "LowerRequests"),
    "replicaset": (lambda case: [node(case), workload("ReplicaSet", case)], "LowerRequests"),
    "statefulset": (lambda case: [node(case), workload("StatefulSet", case, serviceName=case)], "LowerRequests"),
    "daemonset": (lambda case: [node(case), without_replicas(workload("DaemonSet", case))], "LowerRequests"),
    "job": (lambda case: [node(case), workload("Job", case)], "LowerRequests"),
    "claim": (lambda case: [node(case), *volume_pod(case)], "ChangeStorageClass"),
}


def without_replicas(daemon_set: Json) -> Json:
    del daemon_set["spec"]["replicas"]
    return daemon_set


# -- carrying out ------------------------------------------------------------------------------------------------------


def by_json(plane: ControlPlane, fix: Json) -> None:
    """As a program does that knows nothing but the fields of a fix."""
    admin = plane.admin
    for patch in fix["patches"]:
        admin.patch(patch["kind"], patch["name"], patch["mergePatch"], patch["namespace"])
    for gone in fix["delete"]:
        path = admin.path(gone["kind"], gone["name"], gone["namespace"])
        admin.request("DELETE", path, {"propagationPolicy": gone["propagationPolicy"]})
    for manifest in fix["create"]:
        name, namespace = manifest["metadata"]["name"], manifest["metadata"].get("namespace", "")
        admin.wait_until(lambda kind=manifest["kind"], name=name, at=namespace: admin.find(kind, name, at) is None)  # type: ignore[misc]
        admin.create(manifest)


def by_commands(plane: ControlPlane, fix: Json) -> None:
    """As a person does who copies the commands into a shell."""
    folder = plane.binaries.program(KUBECTL).parent
    kubeconfig = plane.kubeconfig()
    own = {"PATH": f"{folder}:{os.environ['PATH']}", "KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent)}
    for command in fix["commands"]:
        done = subprocess.run(
            ["sh", "-c", command], env={**os.environ, **own}, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def pods_of(admin: KubeClient, case: str) -> list[Json]:
    return [pod for pod in admin.list("Pod", "default", labels=f"app={case}") if is_there(pod)]


def is_there(pod: Json) -> bool:
    return "deletionTimestamp" not in pod["metadata"]


def is_held(pod: Json) -> bool:
    """Whether a scheduler has tried the pod in vain, or may not try it."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)


def fix_of(plane: ControlPlane, pod: Json, kind: str) -> Json:
    name = pod["metadata"]["name"]
    result = steersman("explain", name, "--kubeconfig", plane.kubeconfig(), "-o", "json")
    assert result.exit_code == 1, result.output
    fixes: list[Json] = json.loads(result.stdout)["fixes"]
    found = [fix for fix in fixes if fix["kind"] == kind]
    assert found, [fix["summary"] for fix in fixes]
    return found[0]


@pytest.mark.parametrize("way", [by_json, by_commands])
@pytest.mark.parametrize("reason", CASES)
def test_the_pod_gets_its_node_and_keeps_the_rest(
    cluster: ControlPlane, reason: str, way: Callable[[ControlPlane, Json], None]
) -> None:
    admin, case = cluster.admin, f"{reason}-{way.__name__.replace('_', '-')}"
    objects, kind = CASES[reason]
    made, *others = objects(case)
    admin.create_nodes(made)
    admin.create_many(others, connections=1)
    pending = admin.wait_until(lambda: [pod for pod in pods_of(admin, case) if is_held(pod)], timeout=90)[0]
    way(cluster, fix_of(cluster, pending, kind))

    def placed() -> list[Json]:
        """A Deployment keeps the old pod until the new one is ready, which no kubelet says here."""
        return [pod for pod in pods_of(admin, case) if pod["spec"].get("nodeName")]

    [pod] = admin.wait_until(placed, timeout=90)
    assert pod["spec"]["nodeName"] == case
    main, sidecar = pod["spec"]["containers"]
    assert (main["image"], main["env"], main["ports"]) == (IMAGE, ENV, PORTS)
    assert (sidecar["name"], sidecar["args"]) == ("proxy", ["--quiet"])
    if reason in ("toleration", "taint"):
        assert pod["metadata"]["uid"] == pending["metadata"]["uid"], "changed in place"
    if reason == "claim":
        claim = admin.get("PersistentVolumeClaim", case)
        assert claim["metadata"]["annotations"]["example.com/owner"] == "team-a"


@pytest.mark.parametrize("way", [by_json, by_commands])
def test_a_job_begins_again_and_the_fix_names_the_pods_that_end(
    cluster: ControlPlane, way: Callable[[ControlPlane, Json], None]
) -> None:
    admin, case = cluster.admin, f"half-job-{way.__name__.replace('_', '-')}"
    job = workload("Job", case, parallelism=2, completions=2)
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1500m"
    admin.create_nodes(node(case))
    admin.create(job)

    def placed() -> dict[str, str]:
        found = (pod["metadata"] for pod in pods_of(admin, case) if pod["spec"].get("nodeName"))
        return {metadata["uid"]: metadata["name"] for metadata in found}

    pending = admin.wait_until(lambda: [pod for pod in pods_of(admin, case) if is_held(pod)], timeout=90)[0]
    before = admin.wait_until(placed, timeout=90)
    fix = fix_of(cluster, pending, "LowerRequests")
    assert fix["evicts"] == [f"default/{name}" for name in before.values()]
    assert f"restart Job {case}, so that 1 running pod ends" in fix["summary"]
    way(cluster, fix)
    admin.wait_until(lambda: len(placed()) == 2, timeout=90)
    assert before.keys().isdisjoint(placed()), "both are new"
