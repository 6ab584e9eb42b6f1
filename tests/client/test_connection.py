# SPDX-License-Identifier: Apache-2.0
"""Whom the client trusts, and what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web
from tests.client.serving import KeyPair, run, self_signed, serve, server_tls

from steersman.kube.client.auth import CertificateFiles
from steersman.kube.client.connection import Connection, TlsSettings
from steersman.kube.client.errors import ConnectionFailed
from steersman.kube.client.requests import Request
from steersman.kube.client.transport import http_transport


def test_a_server_is_trusted_by_its_authority(tmp_path: Path) -> None:
    server = self_signed(tmp_path, "server")
    assert run(_ask(server, TlsSettings(server.certificate))) == b"hello"


def test_a_server_of_another_authority_is_not_trusted(tmp_path: Path) -> None:
    server, other = self_signed(tmp_path, "server"), self_signed(tmp_path, "other")
    with pytest.raises(ConnectionFailed, match="certificate"):
        run(_ask(server, TlsSettings(other.certificate)))


def test_an_insecure_client_trusts_everybody(tmp_path: Path) -> None:
    assert run(_ask(self_signed(tmp_path, "server"), TlsSettings(insecure=True))) == b"hello"


def test_the_expected_name_may_differ_from_the_host(tmp_path: Path) -> None:
    server = self_signed(tmp_path, "server", "DNS:api.example")
    assert run(_ask(server, TlsSettings(server.certificate, server_name="api.example"))) == b"hello"
    with pytest.raises(ConnectionFailed):
        run(_ask(server, TlsSettings(server.certificate)))


def test_a_client_shows_its_certificate(tmp_path: Path) -> None:
    server, client = self_signed(tmp_path, "server"), self_signed(tmp_path, "client")
    assert run(_ask(server, TlsSettings(server.certificate), client)) == b"hello"


def test_a_certificate_that_was_replaced_is_shown_at_once(tmp_path: Path) -> None:
    server = self_signed(tmp_path, "server")
    accepted, shown = self_signed(tmp_path, "accepted"), self_signed(tmp_path, "shown")

    async def scenario() -> bytes:
        async with serve(_hello, server_tls(server, accepted)) as address:
            credentials = CertificateFiles(shown.certificate_file, shown.key_file)
            connection = Connection(address, TlsSettings(server.certificate), credentials)
            async with http_transport(connection) as transport:
                with pytest.raises(ConnectionFailed):
                    await transport.request(Request("GET", "/"))
                shown.certificate_file.write_bytes(accepted.certificate)
                shown.key_file.write_bytes(accepted.key)
                return (await transport.request(Request("GET", "/"))).body

    assert run(scenario()) == b"hello"


def test_an_authority_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectionFailed, match="certificate-authority-data"):
        run(_ask(self_signed(tmp_path, "server"), TlsSettings(b"nonsense")))


async def _hello(_: web.Request) -> web.Response:
    return web.Response(text="hello")


async def _ask(server: KeyPair, settings: TlsSettings, client: KeyPair | None = None) -> bytes:
    async with serve(_hello, server_tls(server, client)) as address:
        connection = Connection(address, settings)
        if client is not None:
            connection = Connection(address, settings, CertificateFiles(client.certificate, client.key))
        async with http_transport(connection) as transport:
            return (await transport.request(Request("GET", "/"))).body
