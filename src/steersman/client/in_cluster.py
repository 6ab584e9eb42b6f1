# SPDX-License-Identifier: Apache-2.0
"""The cluster around a pod: address from the environment, token and authority from files that the kubelet keeps fresh."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from steersman.client.auth.credentials import TokenFile
from steersman.client.connection import Connection, fault_of_address
from steersman.client.foreign_input import LONGEST_SECRET, read_file
from steersman.client.tls import TlsSettings
from steersman.errors import InputError

HOST: Final = "KUBERNETES_SERVICE_HOST"
PORT: Final = "KUBERNETES_SERVICE_PORT"
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_available(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> bool:
    """Whether this is a pod with a service account."""
    return bool(environment.get(HOST) and environment.get(PORT)) and (folder / "token").exists()


def connection(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Connection:
    """InputError when the authority cannot be read."""
    host, authority = environment[HOST], folder / "ca.crt"
    address = f"[{host}]" if ":" in host else host
    try:
        settings = TlsSettings(read_file(authority, LONGEST_SECRET))
    except (OSError, ValueError) as cause:
        raise InputError(f"the cluster's authority cannot be read: {cause}", file=str(authority)) from cause
    server = f"https://{address}:{environment[PORT]}"
    if fault := fault_of_address(server):
        raise InputError(fault, object="environment", field=f"{HOST}, {PORT}", value=server)
    return Connection(server, settings, TokenFile(folder / "token"))


def namespace(folder: Path = SERVICE_ACCOUNT) -> str:
    """That of the pod."""
    try:
        return (folder / "namespace").read_text("utf-8").strip() or "default"
    except (OSError, UnicodeDecodeError):
        return "default"
