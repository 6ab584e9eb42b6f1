# SPDX-License-Identifier: Apache-2.0
"""etcd and kube-apiserver on loopback ports: a cluster without nodes and controllers.

From `Binaries` and an empty folder, it provides an address, kubeconfig files for any user, an
administrator's client, and the two programs as `Component`s that a test may kill or pause.
"""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, Self

from steersman.testing.control_plane.binaries import Binaries
from steersman.testing.control_plane.client import KubeClient
from steersman.testing.control_plane.component import Component, wait_until
from steersman.testing.control_plane.credentials import Authority, Identity, new_key, pem

Authorization = Literal["RBAC", "AlwaysAllow"]
LOOPBACK: Final = "127.0.0.1"
ADMIN: Final = "admin"
_MASTERS: Final = ("system:masters",)
_CONNECT_SECONDS: Final = 1.0


class ControlPlane:
    """A control plane with its own data, within a `with` block.

    No controllers run unless the test starts a `KubeControllerManager`: the test must do their work
    or do without, so the admission plugin ServiceAccount is disabled. New nodes have the not-ready
    taint until it is removed, as by `KubeClient.create_nodes`.
    """

    def __init__(
        self,
        binaries: Binaries,
        directory: Path,
        *,
        authorization: Authorization = "RBAC",
        extra_flags: Sequence[str] = (),
        disabled_admission: Sequence[str] = ("ServiceAccount",),
    ) -> None:
        self.binaries = binaries
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._authority = Authority()
        self.ca_file = directory / "ca.crt"
        self.ca_file.write_bytes(self._authority.certificate)
        #: Signs service account tokens; kube-controller-manager uses it too.
        self.service_account_key = directory / "service-accounts.key"
        self.service_account_key.write_bytes(pem(new_key()))
        self._kubeconfigs: dict[tuple[str, tuple[str, ...]], Path] = {}
        etcd_port, peer_port, api_port = free_ports(3)
        self.url = f"https://{LOOPBACK}:{api_port}"
        self.etcd = self._etcd(etcd_port, peer_port)
        flags = [f"--authorization-mode={authorization}", f"--disable-admission-plugins={','.join(disabled_admission)}"]
        #: Flags of the API server beyond those that every test needs.
        self.extra_flags = tuple(extra_flags)
        self.api_server = self._api_server(etcd_port, api_port, [*flags, *extra_flags])
        self.admin = self.client(ADMIN)

    def identity(self, user: str, groups: Sequence[str] | None = None) -> Identity:
        """Return a client certificate. `admin` is in system:masters unless groups are given."""
        return self._authority.user(user, _groups(user, groups))

    def kubeconfig(self, user: str = ADMIN, groups: Sequence[str] | None = None, *, server: str = "") -> Path:
        """Return a kubeconfig file for a user; `server` overrides the address."""
        key = (user + server, _groups(user, groups))
        if key not in self._kubeconfigs:
            path = self.directory / f"kubeconfig-{len(self._kubeconfigs)}"
            path.write_text(json.dumps(self._kubeconfig_document(self.identity(user, groups), server or self.url)))
            self._kubeconfigs[key] = path
        return self._kubeconfigs[key]

    def client(self, user: str, groups: Sequence[str] | None = None) -> KubeClient:
        """Return a client of this user, to be closed (`with`)."""
        return KubeClient(self.url, ca=self._authority.certificate, identity=self.identity(user, groups))

    def server_identity(self, *addresses: str) -> Identity:
        """Return a server certificate that the kubeconfigs trust, for proxies and extenders."""
        return self._authority.server(*addresses)

    def wait_ready(self) -> None:
        """Wait until the control plane is ready after a restart or pause."""
        self.etcd.wait_ready()
        self.api_server.wait_ready()

    def __enter__(self) -> Self:
        try:
            self.etcd.start()
            self.api_server.start()
            # The server creates the namespace some time after it is ready.
            wait_until(lambda: self.admin.find("Namespace", "default"), what="the namespace default")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.admin.close()
        self.api_server.__exit__()
        self.etcd.__exit__()

    def _etcd(self, port: int, peer_port: int) -> Component:
        url, peer = f"http://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{peer_port}"
        command = [
            str(self.binaries.etcd),
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]
        return Component("etcd", command, self.directory / "etcd.log", ready=lambda: listening(port))

    def _api_server(self, etcd_port: int, port: int, flags: Sequence[str]) -> Component:
        certificate, key = self._authority.server(LOOPBACK, "localhost").write(self.directory, "apiserver")
        accounts = self.service_account_key
        command = [
            str(self.binaries.kube_apiserver),
            f"--etcd-servers=http://{LOOPBACK}:{etcd_port}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            f"--secure-port={port}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self.ca_file}",
            f"--requestheader-client-ca-file={self.ca_file}",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={accounts}",
            f"--service-account-signing-key-file={accounts}",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Validation rejects a loopback endpoint, and the service `kubernetes` is not needed.
            "--endpoint-reconciler-type=none",
            *flags,
        ]
        return Component("kube-apiserver", command, self.directory / "kube-apiserver.log", ready=self._api_ready)

    def _api_ready(self) -> bool:
        try:
            return self.admin.raw("GET", "/readyz").status == 200
        except OSError:
            return False

    def _kubeconfig_document(self, identity: Identity, server: str) -> dict[str, object]:
        cluster = {"server": server, "certificate-authority-data": _base64(self._authority.certificate)}
        user = {"client-certificate-data": _base64(identity.certificate), "client-key-data": _base64(identity.key)}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "plane", "cluster": cluster}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "user"}}],
            "current-context": "plane",
        }


def free_ports(count: int) -> list[int]:
    """Return free loopback ports; all are held until all are found."""
    sockets = [socket.create_server((LOOPBACK, 0)) for _ in range(count)]
    ports = [held.getsockname()[1] for held in sockets]
    for held in sockets:
        held.close()
    return ports


def listening(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), timeout=_CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _groups(user: str, groups: Sequence[str] | None) -> tuple[str, ...]:
    if groups is not None:
        return tuple(groups)
    return _MASTERS if user == ADMIN else ()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
