# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v3 documents here and at a real kube-apiserver: the same schemas, fields, merge keys and list types."""

from __future__ import annotations

from typing import Any, Final

import pytest

from steersman.cluster.apiserver.openapi import OpenApiResource, group_version_document
from steersman.testing.control_plane import KubeClient

RESOURCES: Final = {
    "v1": [
        ("pods", "Pod", True),
        ("nodes", "Node", False),
        ("services", "Service", True),
        ("configmaps", "ConfigMap", True),
    ],
    "apps/v1": [
        ("deployments", "Deployment", True),
        ("statefulsets", "StatefulSet", True),
        ("daemonsets", "DaemonSet", True),
    ],
    "batch/v1": [("jobs", "Job", True), ("cronjobs", "CronJob", True)],
    "resource.k8s.io/v1": [("resourceclaims", "ResourceClaim", True)],
    "apiextensions.k8s.io/v1": [("customresourcedefinitions", "CustomResourceDefinition", False)],
}
EXTENSIONS: Final = (
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
)


@pytest.mark.parametrize("group_version", RESOURCES)
def test_schemas_have_the_same_fields(admin: KubeClient, group_version: str) -> None:
    prefix = "apis" if "/" in group_version else "api"
    theirs = admin.request("GET", f"/openapi/v3/{prefix}/{group_version}")["components"]["schemas"]
    served = [OpenApiResource(*resource) for resource in RESOURCES[group_version]]
    ours = group_version_document(group_version, served)["components"]["schemas"]
    common = ours.keys() & theirs.keys()
    assert len(common) > 10
    assert ours.keys() - theirs.keys() <= {"io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}
    differing = {name: difference for name in common if (difference := _difference(ours[name], theirs[name]))}
    assert differing == {}


def _difference(ours: dict[str, Any], theirs: dict[str, Any]) -> list[Any]:
    left, right = _fields(ours), _fields(theirs)
    return [(name, left.get(name), right.get(name)) for name in {**left, **right} if left.get(name) != right.get(name)]


def _fields(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [node.get(extension) for extension in EXTENSIONS] for name, node in schema.get("properties", {}).items()
    }
