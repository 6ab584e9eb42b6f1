# SPDX-License-Identifier: Apache-2.0
"""A control plane on which deploy/ has been applied, and Steersman as its service account: with those rights only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from tests.deploy.shipped import Objects, manifests
from tests.e2e.auditing import AuditLog

from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, Steersman

NAMESPACE: Final = "kube-system"
ACCOUNT: Final = "steersman"
USER: Final = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
GROUPS: Final = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated")


@dataclass(frozen=True, slots=True)
class ShippedCluster:
    plane: ControlPlane
    audit: AuditLog

    def steersman(self, server: str = "") -> Steersman:
        """With the shipped configuration and a token of the shipped service account."""
        configuration = manifests("manifests")["ConfigMap", "steersman"]["data"]["config.yaml"]
        return Steersman(
            self.plane, config=yaml.safe_load(configuration), kubeconfig=self.kubeconfig(server), leader_elect=None
        )

    def kubeconfig(self, server: str = "") -> Path:
        document = json.loads(self.plane.kubeconfig(server=server).read_text())
        token = self.plane.admin.token(ACCOUNT, NAMESPACE)
        path = self.plane.directory / "service-account.kubeconfig"
        path.write_text(json.dumps({**document, "users": [{"name": "user", "user": {"token": token}}]}))
        return path

    def as_steersman(self) -> KubeClient:
        """Asks the API server with the scheduler's rights."""
        return self.plane.client(USER, GROUPS)


def apply(admin: KubeClient, objects: Objects) -> list[JsonObject]:
    """Strictly: a field that the server does not know is an error. The answers."""
    return [admin.apply(obj) for obj in objects.values()]


def service_monitors() -> JsonObject:
    """The kind of the Prometheus operator, as far as it has to be known to accept one."""
    schema: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "ServiceMonitor", "plural": "servicemonitors", "singular": "servicemonitor"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
        "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
