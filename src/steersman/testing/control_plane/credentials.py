# SPDX-License-Identifier: Apache-2.0
"""Certificate authority of a control plane, which creates users on demand. Used by `plane`."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

VALID: Final = datetime.timedelta(days=7)
_CLOCK_SKEW: Final = datetime.timedelta(days=1)


class Identity(msgspec.Struct, frozen=True):
    """A certificate and its key in PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write certificate and key to files and return their paths."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_bytes(self.certificate)
        key.write_bytes(self.key)
        return certificate, key


class Authority:
    """Certificate authority for the API server and its users."""

    def __init__(self, name: str = "steersman-testing", parent: Authority | None = None) -> None:
        """Create an authority issued by `parent`, or a root if None."""
        self._key = new_key()
        self._name = _subject(name)
        issuer = self if parent is None else parent
        built = _draft(self._name, issuer._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.certificate = built.sign(issuer._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def server(self, *addresses: str) -> Identity:
        """Return a certificate for a server with these addresses or host names."""
        names = x509.SubjectAlternativeName([_general_name(address) for address in addresses])
        return self._issue(_subject(addresses[0]), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def user(self, name: str, groups: Sequence[str] = ()) -> Identity:
        """Return a client certificate; common name and organizations are user and groups."""
        return self._issue(_subject(name, groups), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(
        self, subject: x509.Name, usage: ObjectIdentifier, names: x509.SubjectAlternativeName | None = None
    ) -> Identity:
        key = new_key()
        draft = _draft(subject, self._name, key.public_key())
        draft = draft.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if names is not None:
            draft = draft.add_extension(names, critical=False)
        signed = draft.sign(self._key, hashes.SHA256())
        return Identity(signed.public_bytes(serialization.Encoding.PEM), pem(key))


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the key in PEM, not PKCS 8: kube-apiserver reads it for service accounts too."""
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _draft(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + VALID)
    )


def _subject(name: str, groups: Sequence[str] = ()) -> x509.Name:
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(address: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)
