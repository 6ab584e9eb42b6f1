# SPDX-License-Identifier: Apache-2.0
"""Verification of certificate chains like Go's `x509.Certificate.Verify` with usage `clientAuth`.

OpenSSL builds and verifies the chain: signatures, validity, path lengths, name constraints, unknown
critical extensions. This module adds Go's further checks. The input are certificates as sent by
clients, untrusted and in any order. Used by `client_certificates`.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from steersman.base import InputError, SteersmanError

if TYPE_CHECKING:
    from cryptography import x509

Extension = TypeVar("Extension", bound="x509.ExtensionType")

MAX_OTHER_CERTIFICATES: Final = 8
"""Maximum number of other certificates of a client that are used; chains are shorter."""
MIN_RSA_BITS: Final = 2048
HASHES: Final = frozenset({"sha256", "sha384", "sha512"})
CURVES: Final = frozenset({"secp224r1", "secp256r1", "secp384r1", "secp521r1"})
"""Curves that Go supports."""


class CertificateRejected(SteersmanError):
    """Error: no trusted authority has signed the certificate. The text has the reason."""


class TrustedAuthorities:
    """The authorities of a bundle, which need not be root certificates."""

    def __init__(self, bundle: Sequence[x509.Certificate]) -> None:
        from OpenSSL import crypto

        self._authorities = [crypto.X509.from_cryptography(authority) for authority in bundle]

    def chain(
        self, certificate: x509.Certificate, others: Sequence[x509.Certificate], now: datetime.datetime
    ) -> list[x509.Certificate]:
        """Return the chain to an authority. Raise `CertificateRejected` if there is none."""
        from OpenSSL import crypto

        # A store does not allow its time to be changed.
        store = crypto.X509Store()
        store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)
        store.set_time(now)
        for authority in self._authorities:
            store.add_cert(authority)
        untrusted = [crypto.X509.from_cryptography(other) for other in others[:MAX_OTHER_CERTIFICATES]]
        verification = crypto.X509StoreContext(store, crypto.X509.from_cryptography(certificate), untrusted)
        try:
            chain = [one.to_cryptography() for one in verification.get_verified_chain()]
        except (crypto.X509StoreContextError, crypto.Error) as fault:
            raise CertificateRejected(str(fault)) from fault
        _check_issuers(chain)
        _check_strength(chain)
        _check_usages(chain)
        return chain


def bundle_of(pem: bytes) -> list[x509.Certificate]:
    """Return the certificates of a PEM bundle, which may be empty."""
    if not pem.strip():
        return []
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as cause:
        raise InputError(f"is not a bundle of PEM certificates: {cause}", field="client CA") from cause


def _check_issuers(chain: Sequence[x509.Certificate]) -> None:
    """Reject issuers that are not marked as authorities, which OpenSSL accepts. A root may be X.509
    v1, which has no such mark."""
    from cryptography import x509

    for below, issuer in enumerate(chain[1:]):
        if issuer is chain[-1] and issuer.version is x509.Version.v1:
            continue
        constraints = _extension(issuer, x509.BasicConstraints)
        if constraints is None or not constraints.ca:
            raise CertificateRejected(f"{issuer.subject.rfc4514_string()} is not an authority")
        # OpenSSL does not count self-issued certificates; Go does.
        if constraints.path_length is not None and below > constraints.path_length:
            raise CertificateRejected(f"{issuer.subject.rfc4514_string()} may not be so far above it")


def _check_strength(chain: Sequence[x509.Certificate]) -> None:
    """Check keys and signatures; the root's signature does not matter, because it is trusted."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    for certificate in chain:
        key = certificate.public_key()
        if isinstance(key, rsa.RSAPublicKey) and key.key_size < MIN_RSA_BITS:
            raise CertificateRejected(f"its chain has an RSA key of {key.key_size} bits")
        if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name not in CURVES:
            raise CertificateRejected(f"its chain has a key on the curve {key.curve.name}")
        if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey):
            raise CertificateRejected(f"its chain has a key of another kind: {type(key).__name__}")
    for certificate in chain[:-1]:
        try:
            algorithm = certificate.signature_hash_algorithm
        except UnsupportedAlgorithm as cause:
            raise CertificateRejected(str(cause)) from cause
        if algorithm is not None and algorithm.name not in HASHES:
            raise CertificateRejected(f"its chain is signed with {algorithm.name}")


def _check_usages(chain: Sequence[x509.Certificate]) -> None:
    """Check that no certificate of the chain excludes client authentication."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    wanted = {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    for certificate in chain:
        usages = _extension(certificate, x509.ExtendedKeyUsage)
        if usages is not None and wanted.isdisjoint(usages):
            raise CertificateRejected("incompatible key usage")


def _extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    from cryptography import x509

    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
    except ValueError as cause:
        raise CertificateRejected(str(cause)) from cause
