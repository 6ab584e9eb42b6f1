# SPDX-License-Identifier: Apache-2.0
"""Names, ports and labels of the shipped objects fit each other and the code."""

from __future__ import annotations

import tomllib

import yaml
from tests.deploy.shipped import CHART, DEPLOY, Document, manifests

from steersman import config
from steersman.kube.serving import DEFAULT_PORT
from steersman.kube.serving.access import DEFAULT_OPEN_PATHS


def pod_spec() -> Document:
    spec: Document = manifests("manifests")["Deployment", "steersman"]["spec"]["template"]["spec"]
    return spec


def container() -> Document:
    (only,) = pod_spec()["containers"]
    assert isinstance(only, dict)
    return only


def test_the_shipped_configuration_is_valid_and_its_lease_is_the_permitted_one() -> None:
    objects = manifests("manifests")
    loaded = config.load(objects["ConfigMap", "steersman"]["data"]["config.yaml"])
    election, role = loaded.leader_election, objects["Role", "steersman"]
    assert election.leader_elect
    assert role["metadata"]["namespace"] == election.resource_namespace
    assert role["rules"][1]["resourceNames"] == [election.resource_name]
    assert [profile.scheduler_name for profile in loaded.profiles] == ["steersman"]


def test_the_configuration_is_mounted_where_the_command_looks_for_it() -> None:
    (mount,) = (mount for mount in container()["volumeMounts"] if mount["name"] == "config")
    (volume,) = (volume for volume in pod_spec()["volumes"] if volume["name"] == "config")
    config_map = manifests("manifests")["ConfigMap", volume["configMap"]["name"]]
    files = [f"--config={mount['mountPath']}/{name}" for name in config_map["data"]]
    assert set(files) <= set(container()["args"])


def test_everything_speaks_of_the_same_port() -> None:
    (port,) = container()["ports"]
    (service_port,) = manifests("manifests")["Service", "steersman"]["spec"]["ports"]
    (endpoint,) = manifests("monitoring")["ServiceMonitor", "steersman"]["spec"]["endpoints"]
    assert port["containerPort"] == service_port["port"] == DEFAULT_PORT
    assert service_port["targetPort"] == port["name"]
    assert endpoint["port"] == service_port["name"]
    assert f"--secure-port={DEFAULT_PORT}" in container()["args"]
    policy = manifests("manifests")["NetworkPolicy", "steersman"]["spec"]
    assert [rule["ports"] for rule in policy["ingress"]] == [[{"protocol": "TCP", "port": DEFAULT_PORT}]]


def test_probes_ask_open_paths_on_the_named_port() -> None:
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container()[probe]["httpGet"]
        assert asked["path"] in DEFAULT_OPEN_PATHS
        assert (asked["port"], asked["scheme"]) == ("https", "HTTPS")


def test_selectors_find_the_pods_and_the_service() -> None:
    objects = manifests("manifests", "monitoring")
    deployment, service = objects["Deployment", "steersman"]["spec"], objects["Service", "steersman"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert service["spec"]["selector"] == labels
    assert objects["ServiceMonitor", "steersman"]["spec"]["selector"]["matchLabels"] == service["metadata"]["labels"]
    spreading = pod_spec()["topologySpreadConstraints"]
    (away,) = pod_spec()["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    for selector in (
        *(constraint["labelSelector"] for constraint in spreading),
        away["podAffinityTerm"]["labelSelector"],
        objects["PodDisruptionBudget", "steersman"]["spec"]["selector"],
        objects["NetworkPolicy", "steersman"]["spec"]["podSelector"],
    ):
        assert selector == {"matchLabels": labels}


def test_a_drain_leaves_one_of_two_replicas() -> None:
    objects = manifests("manifests")
    assert objects["Deployment", "steersman"]["spec"]["replicas"] == 2
    assert objects["PodDisruptionBudget", "steersman"]["spec"]["maxUnavailable"] == 1


def test_its_own_pods_are_not_its_own_to_schedule() -> None:
    loaded = config.load(manifests("manifests")["ConfigMap", "steersman"]["data"]["config.yaml"])
    assert pod_spec()["schedulerName"] not in [profile.scheduler_name for profile in loaded.profiles]


def test_the_container_has_no_privileges_and_writes_only_to_memory() -> None:
    assert pod_spec()["securityContext"]["runAsNonRoot"] is True
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = {mount["name"] for mount in container()["volumeMounts"] if not mount.get("readOnly")}
    volumes = {volume["name"]: volume for volume in pod_spec()["volumes"]}
    assert [volumes[name]["emptyDir"]["medium"] for name in writable] == ["Memory"]
    (scratch,) = (mount["mountPath"] for mount in container()["volumeMounts"] if mount["name"] in writable)
    assert container()["env"] == [{"name": "TMPDIR", "value": scratch}]


def test_the_image_runs_as_the_user_of_the_deployment() -> None:
    security = pod_spec()["securityContext"]
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert f"USER {security['runAsUser']}:{security['runAsGroup']}" in lines
    assert f"EXPOSE {DEFAULT_PORT}" in lines


def test_the_image_is_built_in_two_stages_from_one_base_that_can_be_named_by_digest() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("FROM ")] == ["FROM ${BASE_IMAGE} AS build", "FROM ${BASE_IMAGE}"]
    assert len([line for line in lines if line.startswith("ARG BASE_IMAGE=")]) == 1


def test_the_image_has_nothing_but_the_locked_files_and_the_wheel() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert "--only-binary=:all: --require-hashes -r /build/run.lock" in text
    assert "--no-index /build/steersman-*.whl" in text
    (common,) = [line for line in text.splitlines() if " install " in line]
    assert "--no-deps" in common


def test_image_chart_and_package_have_one_version() -> None:
    package = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    (static,) = manifests("static-pod")["Pod", "steersman"]["spec"]["containers"]
    assert container()["image"] == static["image"] == f"steersman:{package}"
    assert (chart["version"], chart["appVersion"]) == (package, package)
