# SPDX-License-Identifier: Apache-2.0
"""Whether authorities vouch for a certificate, by the rules of Go's `x509.Certificate.Verify` with the usage `clientAuth`.

OpenSSL finds and verifies the chain: signatures, times, path lengths, name constraints, critical extensions that it does not
know. What Go asks for beyond that is checked here. Comes in: certificates as clients show them, in any order and by anybody.
Used by `client_certificates`.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from steersman.errors import InputError, SteersmanError

if TYPE_CHECKING:
    from cryptography import x509

Extension = TypeVar("Extension", bound="x509.ExtensionType")

MOST_OTHERS: Final = 8
"""Chains are shorter; a client may send as many certificates as it likes."""
LEAST_RSA_BITS: Final = 2048
HASHES: Final = frozenset({"sha256", "sha384", "sha512"})
CURVES: Final = frozenset({"secp224r1", "secp256r1", "secp384r1", "secp521r1"})
"""Those that Go knows, and takes."""


class CertificateRejected(SteersmanError):
    """Nobody who is trusted vouches for the certificate; the text says why."""


class TrustedAuthorities:
    """The authorities of a bundle. An authority need not be a root to be trusted."""

    def __init__(self, bundle: Sequence[x509.Certificate]) -> None:
        from OpenSSL import crypto

        self._authorities = [crypto.X509.from_cryptography(authority) for authority in bundle]

    def chain(
        self, certificate: x509.Certificate, others: Sequence[x509.Certificate], now: datetime.datetime
    ) -> list[x509.Certificate]:
        """The certificates from the given one to one of the authorities. CertificateRejected: there is no such chain."""
        from OpenSSL import crypto

        # A store keeps the first time that it is given.
        store = crypto.X509Store()
        store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)
        store.set_time(now)
        for authority in self._authorities:
            store.add_cert(authority)
        untrusted = [crypto.X509.from_cryptography(other) for other in others[:MOST_OTHERS]]
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
    """The certificates of a PEM bundle, which may be empty."""
    if not pem.strip():
        return []
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as cause:
        raise InputError(f"is not a bundle of PEM certificates: {cause}", field="client CA") from cause


def _check_issuers(chain: Sequence[x509.Certificate]) -> None:
    """OpenSSL also takes issuers that may sign and do not say that they are authorities. A root may be as old as X.509 v1,
    which could not say it."""
    from cryptography import x509

    for below, issuer in enumerate(chain[1:]):
        if issuer is chain[-1] and issuer.version is x509.Version.v1:
            continue
        constraints = _extension(issuer, x509.BasicConstraints)
        if constraints is None or not constraints.ca:
            raise CertificateRejected(f"{issuer.subject.rfc4514_string()} is not an authority")
        # OpenSSL does not count those that have their issuer's name; Go counts all.
        if constraints.path_length is not None and below > constraints.path_length:
            raise CertificateRejected(f"{issuer.subject.rfc4514_string()} may not be so far above it")


def _check_strength(chain: Sequence[x509.Certificate]) -> None:
    """The signature of the last one is not relied on: it is trusted as it is."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    for certificate in chain:
        key = certificate.public_key()
        if isinstance(key, rsa.RSAPublicKey) and key.key_size < LEAST_RSA_BITS:
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
    """Nobody in the chain restricts usages to others than that of clients."""
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
