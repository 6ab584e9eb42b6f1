# SPDX-License-Identifier: Apache-2.0
"""Scheduler processes under test: `Steersman`, and upstream's `KubeScheduler`."""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

import yaml

from steersman.testing.control_plane.binaries import KUBE_CONTROLLER_MANAGER
from steersman.testing.control_plane.component import Component
from steersman.testing.control_plane.manifests import JsonObject
from steersman.testing.control_plane.plane import LOOPBACK, ControlPlane, free_ports

SCHEDULER_USER: Final = "system:kube-scheduler"
"""User to whom the API server's default RBAC grants a scheduler's rights."""
_CHECK_SECONDS: Final = 2.0
Config = Mapping[str, Any] | Path | None


class SchedulerSettings(TypedDict, total=False):
    """Keyword arguments of scheduler processes."""

    config: Config
    kubeconfig: Path | None
    #: None leaves leader election to the configuration.
    leader_elect: bool | None
    flags: Sequence[str]


class SchedulerProcess(Component):
    """A scheduler process with a configuration file, a kubeconfig and an HTTPS port."""

    def __init__(
        self, name: str, program: Sequence[str], plane: ControlPlane, **settings: Unpack[SchedulerSettings]
    ) -> None:
        self.kubeconfig = settings.get("kubeconfig") or plane.kubeconfig(SCHEDULER_USER)
        [port] = free_ports(1)
        self.url = f"https://{LOOPBACK}:{port}"
        self._port = port
        self.config_file = plane.directory / f"{name}-{port}.yaml"
        self.config_file.write_text(json.dumps(_complete(settings.get("config"), self.kubeconfig), indent=2))
        command = [*program, f"--config={self.config_file}", f"--bind-address={LOOPBACK}", f"--secure-port={port}"]
        leader_elect = settings.get("leader_elect", False)
        if leader_elect is not None:
            command.append(f"--leader-elect={str(leader_elect).lower()}")
        command += settings.get("flags", ())
        super().__init__(name, command, plane.directory / f"{name}-{port}.log", ready=self._is_ready)

    def get(self, path: str, *, token: str = "", timeout: float = 10.0) -> tuple[int, str]:
        """Return status and text of an endpoint, without verifying the certificate."""
        return _get(_unchecked(self._port, timeout), path, {"Authorization": f"Bearer {token}"} if token else {})

    def _is_ready(self) -> bool:
        try:
            return self.get("/readyz", timeout=_CHECK_SECONDS)[0] == 200
        except (OSError, http.client.HTTPException):
            return False


class KubeScheduler(SchedulerProcess):
    """kube-scheduler process."""

    def __init__(self, plane: ControlPlane, **settings: Unpack[SchedulerSettings]) -> None:
        own = settings["kubeconfig"] = settings.get("kubeconfig") or plane.kubeconfig(SCHEDULER_USER)
        access = [f"--authentication-kubeconfig={own}", f"--authorization-kubeconfig={own}"]
        super().__init__("kube-scheduler", [str(plane.binaries.kube_scheduler), *access], plane, **settings)


class Steersman(SchedulerProcess):
    """`steersman run` process with the current interpreter, emulating the version of the control
    plane."""

    def __init__(self, plane: ControlPlane, **settings: Unpack[SchedulerSettings]) -> None:
        program = [sys.executable, "-m", "steersman", "run", f"--emulated-version={plane.binaries.version}"]
        super().__init__("steersman", program, plane, **settings)


def _complete(config: Config, kubeconfig: Path) -> dict[str, Any]:
    """Return the configuration with the kubeconfig, which kube-scheduler requires there."""
    given: Mapping[str, Any] = (yaml.safe_load(config.read_text()) if isinstance(config, Path) else config) or {}
    connection = {"kubeconfig": str(kubeconfig), **given.get("clientConnection", {})}
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**header, **given, "clientConnection": connection}


def _unchecked(port: int, timeout: float) -> http.client.HTTPSConnection:
    """Return a connection that does not verify the server's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(LOOPBACK, port, context=context, timeout=timeout)


def _get(connection: http.client.HTTPConnection, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """Return status and text of a page, and close the connection."""
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


# -- controller manager ------------------------------------------------------------------------------------------------


class KubeControllerManager(Component):
    """All default controllers of upstream, in one process without leader election."""

    def __init__(self, plane: ControlPlane, *, kubeconfig: Path | None = None, flags: Sequence[str] = ()) -> None:
        own = kubeconfig or plane.kubeconfig()
        [self._port] = free_ports(1)
        command = [
            str(plane.binaries.program(KUBE_CONTROLLER_MANAGER)),
            f"--kubeconfig={own}",
            f"--authentication-kubeconfig={own}",
            f"--authorization-kubeconfig={own}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={self._port}",
            "--leader-elect=false",
            "--use-service-account-credentials=false",
            f"--service-account-private-key-file={plane.service_account_key}",
            f"--root-ca-file={plane.ca_file}",
            # The default limit of 20 requests per second would slow tests down.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            *flags,
        ]
        log = plane.directory / f"kube-controller-manager-{self._port}.log"
        super().__init__("kube-controller-manager", command, log, ready=self._is_healthy)

    def _is_healthy(self) -> bool:
        try:
            return _get(_unchecked(self._port, _CHECK_SECONDS), "/healthz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


# -- shadow ------------------------------------------------------------------------------------------------------------


class ShadowProcess(Component):
    """A shadow with the current interpreter; ready when it knows the cluster."""

    def __init__(self, plane: ControlPlane, *, kubeconfig: Path | None = None, flags: Sequence[str] = ()) -> None:
        [self._port] = free_ports(1)
        command = [sys.executable, "-m", "steersman", "shadow", "-o", "jsonl"]
        command.append(f"--emulated-version={plane.binaries.version}")
        command += [f"--kubeconfig={kubeconfig or plane.kubeconfig()}", f"--metrics-address={LOOPBACK}:{self._port}"]
        log = plane.directory / f"shadow-{self._port}.log"
        super().__init__("shadow", [*command, *flags], log, ready=self._is_ready)

    def get(self, path: str) -> tuple[int, str]:
        """Return status and text of an HTTP page."""
        return _get(http.client.HTTPConnection(LOOPBACK, self._port, timeout=_CHECK_SECONDS), path)

    def comparisons(self) -> list[JsonObject]:
        """Return the comparisons so far."""
        whole_lines = self.log_text().rpartition("\n")[0].splitlines()
        return [json.loads(line) for line in whole_lines if line.startswith("{")]

    def bindings(self) -> list[JsonObject]:
        """Return the compared bindings."""
        return [one for one in self.comparisons() if one["decision"] == "binding"]

    def _is_ready(self) -> bool:
        try:
            return self.get("/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False
