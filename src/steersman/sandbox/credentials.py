# SPDX-License-Identifier: Apache-2.0
"""Credentials of a sandbox: a self-signed certificate, a random token, and their kubeconfig.

Clients send tokens over TLS only, so the server supports nothing else, even on loopback.
"""

from __future__ import annotations

import base64
import datetime
import os
import secrets
import ssl
import tempfile
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from steersman.base import InputError
from steersman.kube.serving import Certificate, self_signed

NAME: Final = "steersman-sandbox"
NAMES: Final = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
OWNER_ONLY: Final = 0o600


class SandboxCredentials(msgspec.Struct, frozen=True):
    """The credentials of one sandbox; with a data directory they outlive the process."""

    certificate: Certificate
    token: str

    def tls(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load_certificate(context, self.certificate)
        return context


def _load_certificate(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Load a certificate through temporary files: the ssl module reads files only."""
    with tempfile.TemporaryDirectory() as folder:
        chain, key = Path(folder, "chain"), Path(folder, "key")
        chain.write_bytes(certificate.chain)
        key.write_bytes(certificate.key)
        context.load_cert_chain(chain, key)


def new_credentials(address: str) -> SandboxCredentials:
    names = dict.fromkeys((address, "127.0.0.1", "::1", *NAMES))
    if address in ("0.0.0.0", "::"):
        del names[address]
    return SandboxCredentials(self_signed(tuple(names), datetime.datetime.now(datetime.UTC)), secrets.token_urlsafe(32))


def kubeconfig_document(url: str, credentials: SandboxCredentials) -> dict[str, Any]:
    """Return a kubeconfig with one cluster, one user and one context."""
    authority = base64.b64encode(credentials.certificate.chain).decode()
    cluster = {"server": url, "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": credentials.token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }


def write_kubeconfig(path: Path, document: dict[str, Any]) -> None:
    """Write a file atomically with owner-only access, but never over a foreign kubeconfig."""
    _refuse_foreign(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with open(descriptor, "w", encoding="utf-8") as file:
            yaml.safe_dump(document, file, sort_keys=False)
        temporary.replace(path)
    except OSError as error:
        if not isinstance(error, FileExistsError):
            temporary.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from error


def _refuse_foreign(path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=str(path)) from error
    try:
        known = yaml.safe_load(text)
    except yaml.YAMLError:
        known = {}
    contexts = known.get("contexts") if isinstance(known, dict) else None
    names = {context.get("name") for context in contexts or () if isinstance(context, dict)}
    if text.strip() and names != {NAME}:
        hint = "give another file with --kubeconfig"
        raise InputError("is not a kubeconfig of a sandbox and would be overwritten", file=str(path), hint=hint)
