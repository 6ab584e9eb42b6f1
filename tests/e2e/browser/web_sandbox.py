# SPDX-License-Identifier: Apache-2.0
"""A sandbox with something to look at: three zones, a pool with taints, pods that run, and pods that wait for two reasons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.sandbox.sandbox_process import SandboxProcess

from steersman.testing.control_plane import Binaries, wait_until

TAINT = {"key": "example.com/gpu", "value": "present", "effect": "NoSchedule"}
PODS = "/api/v1/namespaces/default/pods"
#: Pods that get a node, and those that wait: for room, for a gate.
PLACED, WAITING = 18, 4


def node(name: str, zone: str, taints: list[dict[str, str]] | None = None, **more: str) -> dict[str, Any]:
    room = {
        "cpu": "4",
        "memory": "16Gi",
        "pods": "20",
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    labels = {"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints or []},
        "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name.rsplit("-", 1)[0]}},
        "spec": {"containers": [container], **spec},
    }


def objects() -> list[dict[str, Any]]:
    nodes = [node(f"{zone}-{number}", f"zone-{zone}") for zone in "abc" for number in range(3)]
    tainted = [node("gpu-0", "zone-a", [TAINT])]
    running = [pod(f"web-{number}", "500m") for number in range(PLACED)]
    huge = [pod(f"huge-{number}", "12") for number in range(WAITING - 1)]
    gated = [pod("gated-0", "1", schedulingGates=[{"name": "example.com/quota"}])]
    return [*nodes, *tainted, *running, *huge, *gated]


class WebSandbox(NamedTuple):
    """A running sandbox, the address of its page with the token, and kubectl on it."""

    process: SandboxProcess
    address: str
    kubectl: tuple[str, ...]

    def pods(self) -> dict[str, str]:
        """The node of every pod by its name, "" without."""
        code, found = self.process.request("GET", PODS)
        assert code == 200
        return {item["metadata"]["name"]: item["spec"].get("nodeName", "") for item in found["items"]}


@contextmanager
def web_sandbox(folder: Path, binaries: Binaries, *arguments: str) -> Iterator[WebSandbox]:
    """Starts it and waits until every pod that fits has its node."""
    manifests = folder / "objects.json"
    manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects()}))
    with SandboxProcess(folder, "-f", str(manifests), *arguments) as process:
        line = next(line for line in process.output.splitlines() if line.startswith("The page: "))
        kubectl = (str(binaries.program("kubectl")), "--kubeconfig", str(process.kubeconfig))
        sandbox = WebSandbox(process, line.removeprefix("The page: "), kubectl)
        wait_until(lambda: sum(map(bool, sandbox.pods().values())) == PLACED)
        yield sandbox
