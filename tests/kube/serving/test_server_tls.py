# SPDX-License-Identifier: Apache-2.0
"""TLS of a server that runs: new certificates, versions, cipher suites."""

from __future__ import annotations

import datetime
import os
import ssl
from pathlib import Path

import aiohttp
import pytest
from tests.kube.serving.running import get_over_tls

from steersman.base.errors import InputError
from steersman.kube.serving import Certificate, ServerTls, TlsOptions, self_signed

NOW = datetime.datetime.now(datetime.UTC)


def made(*names: str) -> Certificate:
    return self_signed(names or ("127.0.0.1",), NOW)


def trusting(certificate: Certificate) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate.chain.decode())


def write(folder: Path, certificate: Certificate) -> TlsOptions:
    """Files that are newer than the ones before, whatever the clock of the file system says."""
    chain, key = folder / "tls.crt", folder / "tls.key"
    for file, content in ((chain, certificate.chain), (key, certificate.key)):
        before = file.stat().st_mtime_ns if file.exists() else 0
        file.write_bytes(content)
        os.utime(file, ns=(before + 10**9, before + 10**9))
    return TlsOptions(str(chain), str(key))


def test_new_files_are_shown_to_the_next_client(tmp_path: Path) -> None:
    old, new = made(), made()
    tls = ServerTls(write(tmp_path, old), made)
    assert get_over_tls("/livez", tls.context, trusting(old)).text == "ok"
    write(tmp_path, new)
    assert tls.reload()
    assert get_over_tls("/livez", tls.context, trusting(new)).text == "ok"
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        get_over_tls("/livez", tls.context, trusting(old))


def test_files_that_stay_are_not_read_again(tmp_path: Path) -> None:
    assert not ServerTls(write(tmp_path, made()), made).reload()


def test_a_pair_of_which_only_one_file_was_replaced_waits_for_the_other(tmp_path: Path) -> None:
    old, new = made(), made()
    tls = ServerTls(write(tmp_path, old), made)
    (tmp_path / "tls.crt").write_bytes(new.chain)
    assert not tls.reload()
    assert get_over_tls("/livez", tls.context, trusting(old)).text == "ok"
    write(tmp_path, new)
    assert tls.reload()
    assert get_over_tls("/livez", tls.context, trusting(new)).text == "ok"


def test_files_that_vanish_leave_the_certificate_as_it_was(tmp_path: Path) -> None:
    certificate = made()
    tls = ServerTls(write(tmp_path, certificate), made)
    (tmp_path / "tls.crt").unlink()
    assert not tls.reload()
    assert get_over_tls("/livez", tls.context, trusting(certificate)).text == "ok"


def test_a_client_of_an_older_version_is_refused() -> None:
    certificate = made()
    tls = ServerTls(TlsOptions(min_version="VersionTLS13"), lambda: certificate)
    client = trusting(certificate)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(aiohttp.ClientError):
        get_over_tls("/livez", tls.context, client)


def test_a_client_without_a_common_cipher_suite_is_refused() -> None:
    certificate = made()
    tls = ServerTls(TlsOptions(cipher_suites=["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"]), lambda: certificate)
    client = trusting(certificate)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
    assert get_over_tls("/livez", tls.context, client).text == "ok"
    client.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    with pytest.raises(aiohttp.ClientError):
        get_over_tls("/livez", tls.context, client)


def test_suites_of_tls_1_3_may_be_named_and_are_always_on() -> None:
    certificate = made()
    tls = ServerTls(TlsOptions(cipher_suites=["TLS_AES_128_GCM_SHA256"]), lambda: certificate)
    assert get_over_tls("/livez", tls.context, trusting(certificate)).text == "ok"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            TlsOptions(min_version="TLS1.2"),
            '--tls-min-version: there is no such version (got "TLS1.2"); use VersionTLS10',
        ),
        (
            TlsOptions(cipher_suites=["RC4"]),
            '--tls-cipher-suites: there is no such cipher suite (got "RC4"); use names',
        ),
    ],
)
def test_unknown_names_are_refused(options: TlsOptions, line: str) -> None:
    with pytest.raises(InputError) as fault:
        ServerTls(options, made)
    assert str(fault.value).startswith(line)
