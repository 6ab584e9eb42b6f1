# SPDX-License-Identifier: Apache-2.0
"""The server's certificate: from files, or a self-signed one that lives as long as the process. Used by `server_tls`."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from steersman.errors import InputError

if TYPE_CHECKING:
    from cryptography import x509

VALID_DAYS: Final = 365
_CLOCK_SKEW: Final = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A chain and its key, both PEM."""

    chain: bytes
    key: bytes


def load_files(context: ssl.SSLContext, certificate_file: str, key_file: str) -> None:
    """--tls-cert-file and --tls-private-key-file. InputError, and everything as before, when they cannot be used."""
    try:
        # A context that was half changed would show one certificate and sign with the key of another.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate_file, key_file)
        context.load_cert_chain(certificate_file, key_file)
    except (OSError, ssl.SSLError) as cause:
        raise InputError(
            f"cannot be used as certificate and key: {cause}", file=certificate_file, value=key_file
        ) from cause


def load_certificate(context: ssl.SSLContext, certificate: Certificate) -> None:
    """The ssl module reads certificates from files only; they pass through files that nobody else can read."""
    with tempfile.TemporaryDirectory() as folder:
        chain, key = Path(folder, "chain"), Path(folder, "key")
        chain.write_bytes(certificate.chain)
        key.write_bytes(certificate.key)
        context.load_cert_chain(chain, key)


def self_signed(names: Sequence[str], now: datetime.datetime) -> Certificate:
    """For these host names and addresses, valid for a year from now."""
    # The library costs start-up time that a server with a certificate of its own need not spend.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"{names[0]}@{int(now.timestamp())}"[:64])])
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain, unencrypted = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return Certificate(signed.public_bytes(pem), key.private_bytes(pem, plain, unencrypted))


def _general_name(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
