# SPDX-License-Identifier: Apache-2.0
"""etcd and kube-apiserver on loopback ports: what a cluster is without its nodes and controllers.

Comes in: `Binaries` and an empty folder. Goes out: an address, kubeconfig files for any user, an administrator's client, and
the two programs as `Component`s that a test may kill or pause. Neighbours: `schedulers` run against it.
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
from steersman.testing.control_plane.component import Component
from steersman.testing.control_plane.credentials import Authority, Identity, new_key, pem
from steersman.testing.control_plane.waiting import wait_until

Authorization = Literal["RBAC", "AlwaysAllow"]
LOOPBACK: Final = "127.0.0.1"
ADMIN: Final = "admin"
_MASTERS: Final = ("system:masters",)
_CONNECT_SECONDS: Final = 1.0


class ControlPlane:
    """A control plane with data of its own, from `with` to the end of the block.

    No controller runs unless the test starts a `KubeControllerManager`, so what controllers do must be done by the test or
    left out: the admission plugin ServiceAccount is off, since nobody would make the accounts. A new node carries the taint
    not-ready until somebody takes it away, as `KubeClient.create_nodes` does.
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
        #: Signs the tokens of service accounts; kube-controller-manager is given the same.
        self.service_account_key = directory / "service-accounts.key"
        self.service_account_key.write_bytes(pem(new_key()))
        self._kubeconfigs: dict[tuple[str, tuple[str, ...]], Path] = {}
        etcd_port, peer_port, api_port = free_ports(3)
        self.url = f"https://{LOOPBACK}:{api_port}"
        self.etcd = self._etcd(etcd_port, peer_port)
        flags = [f"--authorization-mode={authorization}", f"--disable-admission-plugins={','.join(disabled_admission)}"]
        self.api_server = self._api_server(etcd_port, api_port, [*flags, *extra_flags])
        self.admin = self.client(ADMIN)

    def identity(self, user: str, groups: Sequence[str] | None = None) -> Identity:
        """A client certificate. `admin` is of the group system:masters unless other groups are given."""
        return self._authority.user(user, _groups(user, groups))

    def kubeconfig(self, user: str = ADMIN, groups: Sequence[str] | None = None, *, server: str = "") -> Path:
        """A kubeconfig file for any user; `server` names another address, a proxy's for example."""
        key = (user + server, _groups(user, groups))
        if key not in self._kubeconfigs:
            path = self.directory / f"kubeconfig-{len(self._kubeconfigs)}"
            path.write_text(json.dumps(self._kubeconfig_document(self.identity(user, groups), server or self.url)))
            self._kubeconfigs[key] = path
        return self._kubeconfigs[key]

    def client(self, user: str, groups: Sequence[str] | None = None) -> KubeClient:
        """A client that acts as this user; close it when done (`with`)."""
        return KubeClient(self.url, ca=self._authority.certificate, identity=self.identity(user, groups))

    def server_identity(self, *addresses: str) -> Identity:
        """A server certificate that the kubeconfig files trust: for proxies and extenders in tests."""
        return self._authority.server(*addresses)

    def wait_ready(self) -> None:
        """Waits until the control plane is ready, after a restart without waiting, or a pause."""
        self.etcd.wait_ready()
        self.api_server.wait_ready()

    def __enter__(self) -> Self:
        try:
            self.etcd.start()
            self.api_server.start()
            # The namespace is made by a loop of the server, some time after it calls itself ready.
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
            # An endpoint on loopback is refused by validation; nobody needs the service `kubernetes` here.
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
    """Ports of the loopback interface that nobody listens on; all are held until all are found."""
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
