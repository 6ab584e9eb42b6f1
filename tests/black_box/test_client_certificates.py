# SPDX-License-Identifier: Apache-2.0
"""Client certificates as `steersman run` takes them: issued by an intermediate authority, or by a stranger."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.process import SteersmanProcess, unchecked_tls
from tests.hostile.stub_api_server import StubApiServer
from tests.kube.serving.client_identities import Issuer, root

from steersman.testing.control_plane import Identity

USERS, STRANGERS = root("users"), root("strangers")


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteersmanProcess]:
    folder = tmp_path_factory.mktemp("certificates")
    (folder / "users.crt").write_bytes(USERS.pem)
    flags = (f"--client-ca-file={folder / 'users.crt'}",)
    with StubApiServer() as server, SteersmanProcess(server, folder, flags=flags) as running:
        yield running


def status_for(process: SteersmanProcess, identity: Identity, folder: Path) -> int:
    tls: ssl.SSLContext = unchecked_tls()
    tls.load_cert_chain(*identity.write(folder, "client"))
    connection = http.client.HTTPSConnection("127.0.0.1", process.port, context=tls, timeout=10)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_user_of_an_intermediate_authority_is_known(process: SteersmanProcess, tmp_path: Path) -> None:
    branch = Issuer("branch", USERS, ca=True, usages=None)
    assert status_for(process, Issuer("alice", branch).identity(branch), tmp_path) == 200


def test_a_stranger_is_answered_with_401(process: SteersmanProcess, tmp_path: Path) -> None:
    assert status_for(process, Issuer("alice", STRANGERS).identity(), tmp_path) == 401
