# SPDX-License-Identifier: Apache-2.0
"""HTTPS with a certificate from files, or with one of its own."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path

import aiohttp
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.kube.serving.running import get_over_tls

from steersman.base.errors import InputError
from steersman.kube.serving import Certificate, ServerTls, TlsOptions, self_signed
from steersman.testing.control_plane import Authority, Identity


def made(*names: str) -> Certificate:
    return self_signed(names, datetime.datetime.now(datetime.UTC))


def context_for(certificate: Certificate) -> ssl.SSLContext:
    return ServerTls(TlsOptions(), lambda: certificate).context


def from_files(chain: str, key: str) -> ssl.SSLContext:
    return ServerTls(TlsOptions(chain, key), lambda: made("unused")).context


def trusting(certificate: Certificate) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate.chain.decode())


def test_clients_that_trust_the_self_signed_certificate_can_connect() -> None:
    certificate = made("localhost", "127.0.0.1")
    assert get_over_tls("/healthz", context_for(certificate), trusting(certificate)).text == "ok"


def test_clients_that_trust_another_certificate_do_not_connect() -> None:
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        get_over_tls("/healthz", context_for(made("127.0.0.1")), trusting(made("127.0.0.1")))


def test_a_certificate_is_for_its_names_only() -> None:
    certificate = made("elsewhere")
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        get_over_tls("/healthz", context_for(certificate), trusting(certificate))


def test_certificate_and_key_may_come_from_files(tmp_path: Path) -> None:
    certificate = made("127.0.0.1")
    chain, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    chain.write_bytes(certificate.chain)
    key.write_bytes(certificate.key)
    assert get_over_tls("/livez", from_files(str(chain), str(key)), trusting(certificate)).text == "ok"


def test_files_that_are_no_certificate_are_named(tmp_path: Path) -> None:
    chain = tmp_path / "tls.crt"
    chain.write_text("nothing")
    with pytest.raises(InputError, match=r"tls\.crt"):
        from_files(str(chain), str(tmp_path / "missing.key"))


def test_a_key_that_is_encrypted_or_belongs_to_another_certificate_is_refused(tmp_path: Path) -> None:
    """Nobody sits there to be asked for a password."""
    chain, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    chain.write_bytes(made("127.0.0.1").chain)
    key.write_bytes(made("127.0.0.1").key)
    with pytest.raises(InputError, match="key values mismatch"):
        from_files(str(chain), str(key))
    secret = serialization.BestAvailableEncryption(b"secret")
    own = ec.generate_private_key(ec.SECP256R1())
    key.write_bytes(own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret))
    with pytest.raises(InputError, match="encrypted"):
        from_files(str(chain), str(key))


def test_the_whole_chain_is_shown(tmp_path: Path) -> None:
    root = Authority("root")
    branch = Authority("branch", root)
    server = branch.server("127.0.0.1")
    files = Identity(server.certificate + branch.certificate, server.key).write(tmp_path, "tls")
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(cadata=root.certificate.decode())
    assert get_over_tls("/livez", from_files(*map(str, files)), client).text == "ok"


def test_old_versions_of_tls_are_refused() -> None:
    certificate = made("127.0.0.1")
    client = trusting(certificate)
    client.set_ciphers("DEFAULT@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        client.minimum_version = ssl.TLSVersion.TLSv1_1
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        client.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(aiohttp.ClientError):
        get_over_tls("/livez", context_for(certificate), client)
