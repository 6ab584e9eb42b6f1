# SPDX-License-Identifier: Apache-2.0
"""Client certificates of every kind: expired, for another usage, by somebody who may not issue any."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from steersman.testing.control_plane import Identity

NOW = datetime.datetime.now(datetime.UTC)
HOUR = datetime.timedelta(hours=1)
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Issuer:
    """A certificate with its key; whether it may issue others is for those to say who look at them."""

    def __init__(
        self,
        name: str,
        issuer: Issuer | None = None,
        *,
        ca: bool | None = None,
        path_length: int | None = None,
        usages: Sequence[x509.ObjectIdentifier] | None = (CLIENT,),
        begins: datetime.datetime = NOW - HOUR,
        ends: datetime.datetime = NOW + HOUR,
        key: Key | None = None,
        former_name: str = "",
    ) -> None:
        """`ca` None: the certificate does not say whether it is an authority. `usages` None: it may be used for anything.
        `former_name` is another common name, before the name."""
        self.key: Key = key or ec.generate_private_key(ec.SECP256R1())
        names = [former_name, name] if former_name else [name]
        self.subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each) for each in names])
        signer = issuer or self
        draft = (
            x509.CertificateBuilder()
            .subject_name(self.subject)
            .issuer_name(signer.subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
        )
        if ca is not None:
            draft = draft.add_extension(x509.BasicConstraints(ca=ca, path_length=path_length), critical=True)
        if usages is not None:
            draft = draft.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        self.certificate = draft.sign(signer.key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def identity(self, *others: Issuer) -> Identity:
        """What a client shows: this certificate, and `others` behind it."""
        form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        key = self.key.private_bytes(serialization.Encoding.PEM, form, plain)
        return Identity(b"".join(one.pem for one in (self, *others)), key)


def root(name: str = "users") -> Issuer:
    return Issuer(name, ca=True, usages=None)


def der(pem: bytes) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem.decode())
