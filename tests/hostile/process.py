# SPDX-License-Identifier: Apache-2.0
"""`steersman run` as a process of its own on the stub API server, as an operator would start it."""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.hostile.stub_api_server import ADMIN_TOKEN, NODES, PODS, StubApiServer

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import manifest, wait_until
from steersman.testing.control_plane.component import Component
from steersman.testing.control_plane.plane import LOOPBACK, free_ports

QUICK_BACKOFF: Final = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}


class SteersmanProcess(Component):
    """Started and ready inside of `with`; killed at its end. `config` are fields of a KubeSchedulerConfiguration."""

    def __init__(
        self,
        server: StubApiServer,
        folder: Path,
        *,
        config: Mapping[str, Any] | None = None,
        leader_elect: bool = False,
        flags: Sequence[str] = (),
        name: str = "steersman",
    ) -> None:
        [self.port] = free_ports(1)
        file = folder / f"{name}.yaml"
        file.write_text(json.dumps(_configuration(server.kubeconfig(folder), config or {})))
        command = [sys.executable, "-m", "steersman", "run", f"--config={file}", f"--bind-address={LOOPBACK}"]
        command += [f"--secure-port={self.port}", f"--leader-elect={str(leader_elect).lower()}", *flags]
        super().__init__(name, command, folder / f"{name}.log", ready=self._is_ready)

    def get(self, path: str, *, token: str = ADMIN_TOKEN, timeout: float = 10.0) -> tuple[int, str]:
        """Code and text of an answer; its certificate is not checked."""
        connection = http.client.HTTPSConnection(LOOPBACK, self.port, context=unchecked_tls(), timeout=timeout)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def is_alive(self, seconds: float = 5.0) -> bool:
        """Whether `/livez` says so within the time that a kubelet might give it."""
        try:
            return self.get("/livez", token="", timeout=seconds) == (200, "ok")
        except (OSError, http.client.HTTPException):
            return False

    def metric(self, series: str) -> float:
        """The value of a series as `/metrics` writes it, with its labels; 0 when there is none."""
        code, text = self.get("/metrics")
        assert code == 200, text
        values = [line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(f"{series} ")]
        return float(values[0]) if values else 0.0

    def _is_ready(self) -> bool:
        try:
            return self.get("/readyz", token="", timeout=2.0)[0] == 200
        except (OSError, http.client.HTTPException):
            return False


def unchecked_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def with_nodes(server: StubApiServer, count: int = 2, cpu: str = "8") -> StubApiServer:
    """The server with nodes n0, n1, …"""
    for index in range(count):
        server.put(NODES, manifest(make_node(f"n{index}").capacity(cpu=cpu, memory="16Gi", pods="110")))
    return server


def schedules_pods(server: StubApiServer, name: str, seconds: float = 20.0) -> str:
    """Creates an ordinary pod of that name and waits for its binding: the node."""
    server.put(PODS, manifest(make_pod(name).req(cpu="100m")))
    return wait_until(lambda: server.bindings().get(f"default/{name}", ""), seconds, what=f"a binding of {name}")


def _configuration(kubeconfig: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    connection = {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000, **fields.get("clientConnection", {})}
    return {**header, **QUICK_BACKOFF, **fields, "clientConnection": connection}
