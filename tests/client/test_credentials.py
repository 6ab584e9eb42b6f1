# SPDX-License-Identifier: Apache-2.0
"""What the users of a kubeconfig show to the server."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from tests.client.kubeconfigs import kubeconfig, load
from tests.client.serving import run

from steersman.base.errors import InputError
from steersman.kube.client.auth import CertificateFiles, Credential, Credentials, TokenFile


def test_a_user_without_anything_is_anonymous(tmp_path: Path) -> None:
    assert run(_credentials(tmp_path, {}).current()) == Credential()


def test_a_token_is_shown_as_bearer(tmp_path: Path) -> None:
    assert _headers(_credentials(tmp_path, {"token": "secret"})) == {"Authorization": "Bearer secret"}


def test_a_password_is_shown_in_base64(tmp_path: Path) -> None:
    credentials = _credentials(tmp_path, {"username": "jane", "password": "secret"})
    assert _headers(credentials) == {"Authorization": "Basic amFuZTpzZWNyZXQ="}


def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    credentials = _credentials(tmp_path, {"tokenFile": "token"})
    assert _headers(credentials) == {"Authorization": "Bearer first"}
    (tmp_path / "token").write_text("second one\n")
    assert _headers(credentials) == {"Authorization": "Bearer second one"}


def test_a_token_file_that_vanishes_leaves_the_last_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first")
    credentials = _credentials(tmp_path, {"tokenFile": "token"})
    _headers(credentials)
    (tmp_path / "token").unlink()
    assert _headers(credentials) == {"Authorization": "Bearer first"}


def test_a_refused_token_is_worth_another_try_only_if_the_file_has_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first")
    credentials = _credentials(tmp_path, {"tokenFile": "token"})
    shown = run(credentials.current())
    assert not run(credentials.refused(shown))
    (tmp_path / "token").write_text("fresh")
    assert run(credentials.refused(shown))


def test_a_certificate_may_go_along_with_a_token(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"key")
    data = base64.b64encode(b"certificate").decode()
    user = {"client-certificate-data": data, "client-key": "key", "token": "secret"}
    credential = run(_credentials(tmp_path, user).current())
    assert credential.certificate is not None
    assert (credential.certificate.certificate, credential.certificate.key) == (b"certificate", b"key")
    assert credential.headers == (("Authorization", "Bearer secret"),)


def test_another_user_may_be_impersonated(tmp_path: Path) -> None:
    user = {"token": "t", "as": "jane", "as-groups": ["a", "b"], "as-user-extra": {"reason": ["test"]}}
    assert run(_credentials(tmp_path, user).current()).headers[1:] == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-reason", "test"),
    )


@pytest.mark.parametrize(
    ("user", "complaint"),
    [
        ({"client-key-data": "YQ=="}, "client-certificate: is missing"),
        ({"client-certificate-data": "YQ=="}, "client-key: is missing"),
        ({"client-certificate": "nowhere"}, "client-certificate: cannot be read"),
        ({"tokenFile": "nowhere"}, "tokenFile: cannot be read"),
        ({"token": "t", "username": "u"}, "token: cannot be combined with a password"),
        ({"token": 7}, "token: "),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, "exec.command: is missing"),
        ({"exec": {"command": "x", "apiVersion": "v2"}}, "exec.apiVersion: is not supported"),
        ({"exec": {}, "auth-provider": {}}, "exec: cannot be combined with auth-provider"),
        ({"auth-provider": {"name": "gcp"}}, "auth-provider.name: is not supported"),
        ({"auth-provider": {"name": "oidc"}}, "auth-provider.config.idp-issuer-url: is missing"),
    ],
)
def test_a_complaint_names_file_and_field(tmp_path: Path, user: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=rf"{tmp_path}/config: users\[0\]\.user\.{complaint}"):
        _credentials(tmp_path, user)


def test_a_complaint_does_not_show_secrets(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        _credentials(tmp_path, {"username": "jane", "password": 12345})
    assert "users[0].user.password" in str(caught.value)
    assert "12345" not in str(caught.value)


def _credentials(folder: Path, user: dict[str, Any]) -> Credentials:
    return load(kubeconfig(folder, user=user)).connection.credentials


def _headers(credentials: Credentials) -> dict[str, str]:
    return dict(run(credentials.current()).headers)


@pytest.mark.parametrize("content", [b"a\nb", b"\xff", b"x" * (2 << 20)], ids=["line end", "no UTF-8", "too long"])
def test_a_token_file_that_cannot_be_sent_leaves_the_last_token(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"good")
    source = TokenFile(file)
    assert run(source.current()).headers == (("Authorization", "Bearer good"),)
    file.write_bytes(content)
    assert run(source.current()).headers == (("Authorization", "Bearer good"),)
    with pytest.raises(InputError, match=str(file)):
        run(TokenFile(file).current())


def test_a_certificate_that_is_being_replaced_leaves_the_last_one(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    certificate.write_bytes(b"c")
    key.write_bytes(b"k")
    source = CertificateFiles(certificate, key)
    shown = run(source.current())
    key.unlink()
    assert run(source.current()) == shown
