# SPDX-License-Identifier: Apache-2.0
"""Scheduler processes under test: `Steersman`, and upstream's `KubeScheduler`."""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from steersman.testing.control_plane.component import Component
from steersman.testing.control_plane.plane import LOOPBACK, ControlPlane, free_ports

SCHEDULER_USER: Final = "system:kube-scheduler"
"""User to whom the API server's default RBAC grants a scheduler's rights."""
_CHECK_SECONDS: Final = 2.0
Config = Mapping[str, Any] | Path | None


class SchedulerProcess(Component):
    """A scheduler process with a configuration file, a kubeconfig and an HTTPS port."""

    def __init__(
        self,
        name: str,
        program: Sequence[str],
        plane: ControlPlane,
        *,
        config: Config = None,
        kubeconfig: Path | None = None,
        leader_elect: bool | None = False,
        flags: Sequence[str] = (),
    ) -> None:
        """Prepare the process; `leader_elect=None` leaves leader election to the configuration."""
        self.kubeconfig = kubeconfig or plane.kubeconfig(SCHEDULER_USER)
        [port] = free_ports(1)
        self.url = f"https://{LOOPBACK}:{port}"
        self._port = port
        self.config_file = plane.directory / f"{name}-{port}.yaml"
        self.config_file.write_text(json.dumps(_complete(config, self.kubeconfig), indent=2))
        command = [*program, f"--config={self.config_file}", f"--bind-address={LOOPBACK}", f"--secure-port={port}"]
        if leader_elect is not None:
            command.append(f"--leader-elect={str(leader_elect).lower()}")
        super().__init__(name, [*command, *flags], plane.directory / f"{name}-{port}.log", ready=self._is_ready)

    def get(self, path: str, *, token: str = "", timeout: float = 10.0) -> tuple[int, str]:
        """Return status and text of an endpoint, without verifying the certificate."""
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, context=_unchecked(), timeout=timeout)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def _is_ready(self) -> bool:
        try:
            return self.get("/readyz", timeout=_CHECK_SECONDS)[0] == 200
        except (OSError, http.client.HTTPException):
            return False


class KubeScheduler(SchedulerProcess):
    """kube-scheduler process."""

    def __init__(
        self,
        plane: ControlPlane,
        *,
        config: Config = None,
        kubeconfig: Path | None = None,
        leader_elect: bool | None = False,
        flags: Sequence[str] = (),
    ) -> None:
        own = kubeconfig or plane.kubeconfig(SCHEDULER_USER)
        access = [f"--authentication-kubeconfig={own}", f"--authorization-kubeconfig={own}"]
        super().__init__(
            "kube-scheduler",
            [str(plane.binaries.kube_scheduler), *access],
            plane,
            config=config,
            kubeconfig=own,
            leader_elect=leader_elect,
            flags=flags,
        )


class Steersman(SchedulerProcess):
    """`steersman run` process with the current interpreter, emulating the version of the control plane."""

    def __init__(
        self,
        plane: ControlPlane,
        *,
        config: Config = None,
        kubeconfig: Path | None = None,
        leader_elect: bool | None = False,
        flags: Sequence[str] = (),
    ) -> None:
        super().__init__(
            "steersman",
            [sys.executable, "-m", "steersman", "run", f"--emulated-version={plane.binaries.version}"],
            plane,
            config=config,
            kubeconfig=kubeconfig,
            leader_elect=leader_elect,
            flags=flags,
        )


def _complete(config: Config, kubeconfig: Path) -> dict[str, Any]:
    """Return the configuration with the kubeconfig, which kube-scheduler requires there."""
    given: Mapping[str, Any] = (yaml.safe_load(config.read_text()) if isinstance(config, Path) else config) or {}
    connection = {"kubeconfig": str(kubeconfig), **given.get("clientConnection", {})}
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**header, **given, "clientConnection": connection}


def _unchecked() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
