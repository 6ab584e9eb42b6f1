# SPDX-License-Identifier: Apache-2.0
"""The static pod is kubeadm's kube-scheduler.yaml with another program in it."""

from __future__ import annotations

from tests.deploy.shipped import Document, manifests

from steersman import config
from steersman.kube.serving import DEFAULT_PORT
from steersman.kube.serving.access import DEFAULT_OPEN_PATHS

KUBECONFIG = "/etc/kubernetes/scheduler.conf"
#: What kubeadm v1.36 gives kube-scheduler.
KUBEADM_FLAGS = {
    f"--authentication-kubeconfig={KUBECONFIG}",
    f"--authorization-kubeconfig={KUBECONFIG}",
    "--bind-address=127.0.0.1",
    f"--kubeconfig={KUBECONFIG}",
    "--leader-elect=true",
}


def pod() -> Document:
    return manifests("static-pod")["Pod", "steersman"]


def container() -> Document:
    (only,) = pod()["spec"]["containers"]
    assert isinstance(only, dict)
    return only


def test_it_has_the_flags_of_kubeadm() -> None:
    program, *flags = container()["args"]
    assert program == "run"
    assert set(flags) == {*KUBEADM_FLAGS, f"--secure-port={DEFAULT_PORT}", "-v=2"}


def test_without_a_configuration_file_it_has_the_name_and_the_lease_of_kube_scheduler() -> None:
    defaults = config.load("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    lease = defaults.leader_election
    assert [profile.scheduler_name for profile in defaults.profiles] == ["default-scheduler"]
    assert (lease.resource_namespace, lease.resource_name) == ("kube-system", "kube-scheduler")


def test_it_needs_no_scheduler_and_no_object_of_the_api_server() -> None:
    spec = pod()["spec"]
    assert spec["hostNetwork"] is True
    assert (spec["priorityClassName"], spec["priority"]) == ("system-node-critical", 2_000_001_000)
    kinds = {kind for volume in spec["volumes"] for kind in volume if kind != "name"}
    assert kinds == {"hostPath", "emptyDir"}
    assert "serviceAccountName" not in spec


def test_probes_ask_the_address_it_listens_on() -> None:
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container()[probe]["httpGet"]
        assert (asked["host"], asked["port"], asked["scheme"]) == ("127.0.0.1", "probe-port", "HTTPS")
        assert asked["path"] in DEFAULT_OPEN_PATHS
    assert container()["ports"] == [{"name": "probe-port", "containerPort": DEFAULT_PORT, "protocol": "TCP"}]


def test_root_reads_its_kubeconfig_and_can_do_nothing_else() -> None:
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod()["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    mounts = {mount["name"]: mount for mount in container()["volumeMounts"]}
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in pod()["spec"]["volumes"] if "hostPath" in volume}
    assert paths == {"kubeconfig": KUBECONFIG}
    assert mounts["kubeconfig"] == {"name": "kubeconfig", "mountPath": KUBECONFIG, "readOnly": True}


def test_its_memory_is_bounded_as_that_of_the_deployment() -> None:
    (deployed,) = manifests("manifests")["Deployment", "steersman"]["spec"]["template"]["spec"]["containers"]
    assert container()["resources"]["limits"] == deployed["resources"]["limits"]
    assert container()["env"] == deployed["env"]
