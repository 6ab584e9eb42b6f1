# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.make_dump FILE [nodes] [pods]`: a JSON dump as `kubectl get nodes,services,pods -o json` makes it.

Nodes in three zones; pods of deployments in twenty namespaces, each with a service that selects them, with the fields that a
real API server fills in, sorted by namespace and name as kubectl lists them. For `steersman simulate -f FILE`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NODES = 5_000
PODS = 20_000
NAMESPACES = 20
DEPLOYMENTS = 200
ZONES = ("zone-a", "zone-b", "zone-c")
CREATED = "2026-01-01T00:00:00Z"

Document = dict[str, Any]


def node(index: int) -> Document:
    name = f"node-{index:05d}"
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "200Gi"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m6i.4xlarge",
        "topology.kubernetes.io/zone": ZONES[index % len(ZONES)],
        "topology.kubernetes.io/region": "region-1",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-uid-{index}", "labels": labels, "creationTimestamp": CREATED},
        "spec": {"podCIDR": f"10.{index >> 8}.{index & 255}.0/24"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def service(deployment: int) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": f"app-{deployment}",
            "namespace": namespace(deployment),
            "uid": f"service-uid-{deployment}",
        },
        "spec": {"selector": {"app": f"app-{deployment}"}, "ports": [{"port": 80}]},
    }


def pod(index: int) -> Document:
    deployment = index % DEPLOYMENTS
    name = f"app-{deployment}-{deployment * 7919:x}-{index:05d}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace(deployment),
            "uid": f"pod-uid-{index}",
            "labels": {"app": f"app-{deployment}", "pod-template-hash": f"{deployment * 7919:x}"},
            "creationTimestamp": CREATED,
        },
        "spec": {
            "containers": [container(deployment)],
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{what}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for what in ("not-ready", "unreachable")
            ],
            "priority": 0,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def container(deployment: int) -> Document:
    return {
        "name": "app",
        "image": f"registry.example/app-{deployment}:1.4.2",
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": "LOG_LEVEL", "value": "info"}],
        "resources": {
            "requests": {"cpu": f"{100 + deployment % 8 * 100}m", "memory": f"{256 << deployment % 4}Mi"},
            "limits": {"memory": f"{512 << deployment % 4}Mi"},
        },
    }


def namespace(deployment: int) -> str:
    return f"team-{deployment % NAMESPACES}"


def main() -> None:
    path = Path(sys.argv[1])
    nodes, pods = (int(text) for text in sys.argv[2:4]) if len(sys.argv) > 3 else (NODES, PODS)
    listed = sorted(map(pod, range(pods)), key=lambda item: (item["metadata"]["namespace"], item["metadata"]["name"]))
    items = [*map(node, range(nodes)), *map(service, range(DEPLOYMENTS)), *listed]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    print(f"{path}: {nodes} nodes, {DEPLOYMENTS} services, {pods} pods, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
