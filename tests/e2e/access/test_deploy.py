# SPDX-License-Identifier: Apache-2.0
"""Everything in deploy/ is accepted by a real API server, with strict validation, and so is the rendered chart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.deploy.shipped import manifests, rendered
from tests.e2e.access.shipped_cluster import ShippedCluster, apply, service_monitors

from steersman.testing.control_plane import JsonObject, KubeClient, ServerRefusal, wait_until


@pytest.fixture
def admin(shipped_cluster: ShippedCluster) -> Iterator[KubeClient]:
    """One who knows ServiceMonitors."""
    shipped_cluster.plane.admin.apply(service_monitors())
    with shipped_cluster.plane.client("admin") as client:
        wait_until(lambda: client.raw("GET", "/apis/monitoring.coreos.com/v1/servicemonitors").status == 200)
        yield client


def test_the_manifests_are_accepted(admin: KubeClient) -> None:
    objects = manifests("manifests", "monitoring")
    answers = apply(admin, objects)
    assert {(answer["kind"], answer["metadata"]["name"]) for answer in answers} == set(objects)


def test_the_chart_is_accepted_beside_them_as_another_release(admin: KubeClient) -> None:
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "batch"}})
    objects = rendered({"monitoring": {"enabled": True}}, release="night", namespace="batch")
    assert len(apply(admin, objects)) == len(objects)


def test_the_chart_with_all_its_values_is_accepted(admin: KubeClient) -> None:
    values = {
        "config": {"percentageOfNodesToScore": 100, "extenders": [{"urlPrefix": "https://e", "filterVerb": "f"}]},
        "extraArgs": ["--kube-api-qps=500"],
        "extraVolumes": [{"name": "ca", "secret": {"secretName": "ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca", "readOnly": True}],
        "record": {"enabled": True},
        "web": {"enabled": True},
        "plugins": {"cheap.py": "import steersman\n"},
        "extraRules": [{"apiGroups": ["example.com"], "resources": ["quotas"], "verbs": ["list"]}],
        "nodeSelector": {"pool": "system"},
        "imagePullSecrets": [{"name": "registry"}],
        "podAnnotations": {"team": "a"},
    }
    objects = rendered(values, release="full")
    assert len(apply(admin, objects)) == len(objects)


def test_the_chart_changes_nothing_about_the_manifests(admin: KubeClient) -> None:
    before = apply(admin, manifests("manifests", "monitoring"))
    after = apply(admin, rendered({"monitoring": {"enabled": True}}))
    unchanged = {_identity(obj): _without_layout(obj) for obj in before}
    assert {_identity(obj): _without_layout(obj) for obj in after} == unchanged


def test_its_pods_meet_the_restricted_standard(admin: KubeClient) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "strict", "labels": labels}})
    template = manifests("manifests")["Deployment", "steersman"]["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] = {**template["metadata"], "name": "steersman", "namespace": "strict"}
    admin.create(pod, query={"dryRun": "All", "fieldValidation": "Strict"})
    pod["spec"] = {**pod["spec"], "hostNetwork": True}
    with pytest.raises(ServerRefusal, match="hostNetwork"):
        admin.create(pod, query={"dryRun": "All", "fieldValidation": "Strict"})


def test_a_misspelt_field_would_be_noticed(admin: KubeClient) -> None:
    service = manifests("manifests")["Service", "steersman"]
    service["spec"]["selektor"] = {}
    with pytest.raises(ServerRefusal, match="selektor"):
        admin.apply(service)


def _identity(obj: JsonObject) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def _without_layout(obj: JsonObject) -> JsonObject:
    """Of a text in a ConfigMap, and of who wrote what when."""
    metadata = {key: obj["metadata"].get(key) for key in ("labels", "annotations", "namespace")}
    if obj["kind"] == "ConfigMap":
        return {"metadata": metadata}
    if obj["kind"] == "Deployment":  # only the chart knows the checksum of its configuration
        obj["spec"]["template"]["metadata"].pop("annotations", None)
    return {**obj, "metadata": metadata, "status": None}
