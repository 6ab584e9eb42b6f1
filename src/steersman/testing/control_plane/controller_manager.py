# SPDX-License-Identifier: Apache-2.0
"""kube-controller-manager process: creates pods of workloads, collects garbage, ends namespaces.

Runs against a `ControlPlane`, as its administrator.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from steersman.testing.control_plane.binaries import KUBE_CONTROLLER_MANAGER
from steersman.testing.control_plane.component import Component
from steersman.testing.control_plane.plane import LOOPBACK, ControlPlane, free_ports

_CHECK_SECONDS: Final = 2.0


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
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, context=context, timeout=_CHECK_SECONDS)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
