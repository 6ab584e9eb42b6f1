# SPDX-License-Identifier: Apache-2.0
"""Warnings about accepted objects are those of kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.api.validation.warnings import find_warnings

STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
INGRESS_CLASS = "kubernetes.io/ingress.class"


@pytest.mark.parametrize(
    ("api_version", "kind", "fields", "warning"),
    [
        ("v1", "Endpoints", {}, "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        (
            "v1",
            "Service",
            {"spec": {"type": "ClusterIP", "externalIPs": ["10.1.2.3"]}},
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            {"metadata": {"annotations": {STORAGE_CLASS: "a"}}},
            f'metadata.annotations[{STORAGE_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead',
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            {"spec": {"resources": {"requests": {"storage": "1500m"}}}},
            'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
        ),
        (
            "networking.k8s.io/v1",
            "Ingress",
            {"metadata": {"annotations": {INGRESS_CLASS: "a"}}},
            f"annotation \"{INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead",
        ),
        (
            "node.k8s.io/v1",
            "RuntimeClass",
            {"scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}},
            'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead',
        ),
    ],
)
def test_what_is_deprecated_is_warned_of(api_version: str, kind: str, fields: dict[str, Any], warning: str) -> None:
    assert find_warnings({"apiVersion": api_version, "kind": kind, "metadata": {}, **fields}, None) == [warning]


def test_a_plain_object_has_no_warnings() -> None:
    assert (
        find_warnings({"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"type": "ClusterIP"}}, None)
        == []
    )


def pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", **(container or {})}], **spec}}


PORT = {"containerPort": 80, "protocol": "TCP"}
FILES = [{"key": "a", "path": "t"}, {"key": "b", "path": "t/x"}]
NO_SELECTOR = "a null labelSelector results in matching no pod"
POD_WARNINGS: list[tuple[dict[str, Any], str]] = [
    (pod(imagePullSecrets=[{}]), 'spec.imagePullSecrets[0].name: invalid empty name ""'),
    (pod(imagePullSecrets=[{"name": "a"}, {"name": "a"}]), 'spec.imagePullSecrets[1].name: duplicate name "a"'),
    (pod(hostAliases=[{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]), 'spec.hostAliases[1].ip: duplicate ip "1.1.1.1"'),
    (
        pod({"ports": [PORT, PORT]}),
        "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
    ),
    (
        pod({"ports": [PORT, PORT | {"hostPort": 80}]}),
        "spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
    ),
    (
        pod({"ports": [PORT | {"hostPort": 80}, PORT | {"hostPort": 80, "hostIP": "1.1.1.1"}]}),
        "spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]",
    ),
    (
        pod({"ports": [PORT | {"name": "http", "hostIP": "127.0.0.1"}]}),
        "spec.containers[0].ports[0]: hostIP set without hostPort: "
        "{Name:http HostPort:0 ContainerPort:80 Protocol:TCP HostIP:127.0.0.1}",
    ),
    (
        pod({"env": [{"name": "A", "value": "x"}, {"name": "A", "value": "y"}]}),
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
    ),
    (
        pod({"resources": {"limits": {"memory": "100m"}}}),
        'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
    ),
    (pod(topologySpreadConstraints=[{}]), f"spec.topologySpreadConstraints[0].labelSelector: {NO_SELECTOR}"),
    (
        pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": {}}]}}),
        "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: "
        f"{NO_SELECTOR}",
    ),
    (
        pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
        'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    ),
    (
        pod(volumes=[{"name": "v", "configMap": {"name": "m", "items": FILES}}]),
        'volume "v" (ConfigMap "m"): overlapping paths: "t/x" with "t"',
    ),
    (
        pod(volumes=[{"name": "v", "gitRepo": {}}]),
        "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    ),
]


@pytest.mark.parametrize(("document", "warning"), POD_WARNINGS, ids=[warning[:60] for _, warning in POD_WARNINGS])
def test_a_questionable_field_of_a_new_pod_or_of_a_template_is_warned_about(
    document: dict[str, Any], warning: str
) -> None:
    new = {"apiVersion": "v1", "kind": "Pod", **document}
    assert find_warnings(new, None) == [warning]
    assert find_warnings(new, new) == []
    workload = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": {"template": document}}
    assert find_warnings(workload, None) == [warning.replace("spec.", "spec.template.spec.")]
    assert find_warnings(workload, workload) == []


def test_a_variable_that_extends_an_earlier_one_is_not_warned_about() -> None:
    extended = pod({"env": [{"name": "A", "value": "x"}, {"name": "A", "value": "$(A):y"}]})
    assert find_warnings({"apiVersion": "v1", "kind": "Pod", **extended}, None) == []


@pytest.mark.parametrize(
    ("api_version", "kind", "used_in"),
    [("v1", "Pod", "the Pod's hostname"), ("apps/v1", "Deployment", "Pod names and hostnames")],
)
def test_a_name_with_dots_is_warned_about_where_host_names_are_made_of_it(
    api_version: str, kind: str, used_in: str
) -> None:
    (found,) = find_warnings({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a.b"}, "spec": {}}, None)
    why = "which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"
    assert found == f"metadata.name: this is used in {used_in}, {why}"
