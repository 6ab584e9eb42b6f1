# SPDX-License-Identifier: Apache-2.0
"""Instead of kube-scheduler: a Deployment that schedules itself does not come back, a static pod does.

No kubelet runs here. What it would do is done by hand: the static pod is started with its own command line, and shown to the
API server as a mirror pod, which has a node from the start.
"""

from __future__ import annotations

import http.client
import ssl
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.deploy.shipped import manifests
from tests.deploy.test_static_pod import KUBECONFIG

from steersman.kube.serving import DEFAULT_PORT
from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import (
    Component,
    ControlPlane,
    JsonObject,
    KubeClient,
    KubeScheduler,
    ServerRefusal,
    Steersman,
    bound_to,
    condition,
    manifest,
    wait_until,
)
from steersman.testing.control_plane.plane import free_ports

NAMESPACE: Final = "kube-system"
SCHEDULER_USER: Final = "system:kube-scheduler"
CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"


class StaticPod(Component):
    """The program of deploy/static-pod, as a kubelet starts it; only paths and port are those of the test."""

    def __init__(self, plane: ControlPlane) -> None:
        (container,) = manifests("static-pod")["Pod", "steersman"]["spec"]["containers"]
        [self._port] = free_ports(1)
        scratch = plane.directory / f"scratch-{self._port}"
        scratch.mkdir()
        (variable,) = container["env"]
        super().__init__(
            "static-pod",
            [sys.executable, "-m", "steersman", *self._arguments(container, plane.kubeconfig(SCHEDULER_USER))],
            plane.directory / f"static-pod-{self._port}.log",
            ready=lambda: all(self._answers(container[probe]) for probe in ("livenessProbe", "readinessProbe")),
            environment={variable["name"]: str(scratch)},
        )

    def _arguments(self, container: JsonObject, kubeconfig: Path) -> list[str]:
        here = {f"--secure-port={DEFAULT_PORT}": f"--secure-port={self._port}"}
        return [here.get(argument, argument.replace(KUBECONFIG, str(kubeconfig))) for argument in container["args"]]

    def _answers(self, probe: JsonObject) -> bool:
        asked = probe["httpGet"]
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(asked["host"], self._port, context=context, timeout=2)
        try:
            connection.request("GET", asked["path"])
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


@pytest.fixture
def cluster(plane: ControlPlane) -> ControlPlane:
    """With one control-plane node and the priority classes that every API server has."""
    node = make_node("control-0").capacity(cpu="4", memory="8Gi", pods="20")
    plane.admin.create_nodes(manifest(node.label(CONTROL_PLANE, "").taint(CONTROL_PLANE)))
    return plane


def replica(name: str, scheduler_name: str) -> JsonObject:
    """A pod of the shipped Deployment, as its ReplicaSet makes it."""
    template = manifests("manifests")["Deployment", "steersman"]["spec"]["template"]
    metadata = {**template["metadata"], "name": name, "namespace": NAMESPACE}
    spec = {**template["spec"], "schedulerName": scheduler_name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def mirror_pod() -> JsonObject:
    """What a kubelet shows the API server of the static pod."""
    pod = manifests("static-pod")["Pod", "steersman"]
    annotations = {"kubernetes.io/config.mirror": "0", "kubernetes.io/config.source": "file"}
    pod["metadata"] |= {"name": "steersman-control-0", "annotations": annotations}
    pod["spec"] |= {"nodeName": "control-0"}
    return pod


def wait_bound(admin: KubeClient, name: str) -> None:
    wait_until(lambda: bound_to(admin.get("Pod", name, NAMESPACE)), what=f"a node for {name}")


def test_its_command_line_starts_it_and_its_probes_are_answered(cluster: ControlPlane) -> None:
    with StaticPod(cluster) as steersman:
        cluster.admin.create(manifest(make_pod("web").toleration(CONTROL_PLANE)))
        wait_until(lambda: bound_to(cluster.admin.get("Pod", "web")), what="a node")
        assert steersman.stop() == 0


def test_as_the_only_scheduler_a_deployment_waits_for_itself_and_a_static_pod_does_not(cluster: ControlPlane) -> None:
    admin = cluster.admin
    # The Deployment schedules everything, its own second replica among it.
    with Steersman(cluster) as first:
        admin.create(replica("steersman-1", "default-scheduler"))
        wait_bound(admin, "steersman-1")
        assert first.stop() == 0
    # All replicas are gone, by a power cut for example; the ReplicaSet makes new ones.
    admin.delete("Pod", "steersman-1", NAMESPACE)
    admin.create(replica("steersman-2", "default-scheduler"))
    waiting = admin.get("Pod", "steersman-2", NAMESPACE)
    assert not bound_to(waiting)
    assert not condition(waiting, "PodScheduled"), "nobody has even looked at it, and nobody will"
    # The static pod is there without having been scheduled, and schedules the others.
    assert bound_to(admin.create(mirror_pod(), query={"fieldValidation": "Strict"})) == "control-0"
    with StaticPod(cluster):
        wait_bound(admin, "steersman-2")


def test_with_kube_system_left_to_kube_scheduler_the_deployment_comes_back(cluster: ControlPlane) -> None:
    shipped = manifests("manifests")["Deployment", "steersman"]["spec"]["template"]["spec"]["schedulerName"]
    cluster.admin.create(replica("steersman-1", shipped))
    with KubeScheduler(cluster):
        wait_bound(cluster.admin, "steersman-1")


def test_beside_kube_scheduler_it_stands_by_and_takes_over_when_that_ends(cluster: ControlPlane) -> None:
    """Changing over: the lease is the same one, so there is one scheduler at any time."""
    with KubeScheduler(cluster, leader_elect=True) as old:
        before = wait_until(lambda: holder(cluster.admin), what="a leader")
        with StaticPod(cluster):
            assert holder(cluster.admin) == before
            assert old.stop() == 0
            wait_until(lambda: holder(cluster.admin) not in ("", before), 60, what="another leader")
            cluster.admin.create(replica("steersman-1", "default-scheduler"))
            wait_bound(cluster.admin, "steersman-1")


def holder(admin: KubeClient) -> str:
    lease = admin.find("Lease", "kube-scheduler", NAMESPACE)
    return str(lease["spec"].get("holderIdentity", "")) if lease else ""


def test_the_static_pod_meets_no_standard_but_privileged(cluster: ControlPlane) -> None:
    """Why its own namespace must not be held to `baseline`: the host's network and one of its files."""
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    cluster.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "held", "labels": labels}})
    pod = manifests("static-pod")["Pod", "steersman"]
    pod["metadata"]["namespace"] = "held"
    for field in ("priority", "priorityClassName"):
        del pod["spec"][field]
    with pytest.raises(ServerRefusal, match=r"host namespaces \(hostNetwork=true\), hostPath volumes"):
        cluster.admin.create(pod, query={"dryRun": "All"})
