# SPDX-License-Identifier: Apache-2.0
"""Process of `steersman shadow`, and the comparisons that it has made."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from steersman.testing.control_plane.component import Component
from steersman.testing.control_plane.manifests import JsonObject
from steersman.testing.control_plane.plane import LOOPBACK, ControlPlane, free_ports

_CHECK_SECONDS: Final = 2.0


class ShadowProcess(Component):
    """A shadow with the current interpreter; ready when it knows the cluster."""

    def __init__(self, plane: ControlPlane, *, kubeconfig: Path | None = None, flags: Sequence[str] = ()) -> None:
        [self._port] = free_ports(1)
        command = [sys.executable, "-m", "steersman", "shadow", "-o", "jsonl"]
        command += [f"--kubeconfig={kubeconfig or plane.kubeconfig()}", f"--metrics-address={LOOPBACK}:{self._port}"]
        log = plane.directory / f"shadow-{self._port}.log"
        super().__init__("shadow", [*command, *flags], log, ready=self._is_ready)

    def get(self, path: str) -> tuple[int, str]:
        """Return status and text of an HTTP page."""
        connection = http.client.HTTPConnection(LOOPBACK, self._port, timeout=_CHECK_SECONDS)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

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
