# SPDX-License-Identifier: Apache-2.0
"""TLS as a connection wants it: whom to trust, what to show, which name to expect. `kubeconfig` makes it for `transport`."""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from steersman.errors import InputError


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client certificate with its key, PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Without an authority those of the system are trusted."""

    authority: bytes = b""
    insecure: bool = False
    #: Expected in the server's certificate instead of the host; "": the host.
    server_name: str = ""


def context_for(settings: TlsSettings, certificate: Certificate | None) -> ssl.SSLContext:
    """InputError for certificates that cannot be used."""
    context = _trusting(settings)
    if settings.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        try:
            load_certificate(context, certificate)
        except (ssl.SSLError, ValueError) as cause:
            raise InputError(f"cannot be used with its key: {cause}", field="client-certificate-data") from cause
    return context


def _trusting(settings: TlsSettings) -> ssl.SSLContext:
    if not settings.authority:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=settings.authority.decode("ascii"))
    except (ssl.SSLError, ValueError) as cause:
        raise InputError(f"is not a PEM certificate: {cause}", field="certificate-authority-data") from cause


def load_certificate(context: ssl.SSLContext, certificate: Certificate) -> None:
    """The ssl module reads certificates from files only; data pass through files that nobody else can read."""
    with tempfile.TemporaryDirectory() as folder:
        certificate_file, key_file = Path(folder, "certificate"), Path(folder, "key")
        certificate_file.write_bytes(certificate.certificate)
        key_file.write_bytes(certificate.key)
        context.load_cert_chain(certificate_file, key_file)
