# SPDX-License-Identifier: Apache-2.0
"""TLS of the server: reloads the certificate when files change, may request client certificates.

Created from `TlsOptions`; `server` listens with `context` (`openssl_context`), which is never
replaced. Versions and cipher suites have the names of Kubernetes' flags. The certificate comes from
files, or is self-signed and lives as long as the process.
"""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import logging
import os
import ssl
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.base import InputError

if TYPE_CHECKING:
    from cryptography import x509
    from OpenSSL import SSL

logger = logging.getLogger(__name__)

CHECK_SECONDS: Final = 10.0
#: Modification time, size and inode of a file.
Stamp = tuple[int, int, int]
VERSIONS: Final = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
#: TLS 1.3 suites cannot be selected, as in Go; naming them is no error.
ALWAYS_ON: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
SUITES: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}
#: Default suites of Python's ssl module. The security level applies to selected suites too.
DEFAULT_SUITES: Final = "ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:DHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
SECURITY_LEVEL: Final = "@SECLEVEL=2"
VERSION_FLAG: Final = "--tls-min-version"
SUITES_FLAG: Final = "--tls-cipher-suites"
VALID_DAYS: Final = 365
_CLOCK_SKEW: Final = datetime.timedelta(hours=1)


class TlsOptions(msgspec.Struct, frozen=True):
    """TLS options, by upstream's flags."""

    #: --tls-cert-file and --tls-private-key-file, both or neither.
    certificate_file: str = ""
    key_file: str = ""
    #: --tls-min-version: VersionTLS12, VersionTLS13
    min_version: str = ""
    #: --tls-cipher-suites, by Go's names.
    cipher_suites: Sequence[str] = ()


class ServerTls:
    """The TLS context, kept up to date. `own` creates the certificate of a server without files."""

    def __init__(self, options: TlsOptions, own: Callable[[], Certificate]) -> None:
        # Imported late: it imports cryptography, which is slow.
        from steersman.kube.serving.openssl_context import OpenSslContext

        self._options = options
        self._stamps = self._current_stamps()
        context = self._new_context()
        if options.certificate_file:
            load_files(context, options.certificate_file, options.key_file)
        else:
            load_certificate(context, own())
        self.context = OpenSslContext(context)

    def ask_for_certificates(self) -> None:
        """Request client certificates on new connections; `client_certificates` verifies them."""
        self.context.asks_for_certificates = True

    def reload(self) -> bool:
        """Reload changed files and return whether there is a new certificate. A mismatched pair, of
        which only one file has been replaced yet, is ignored."""
        stamps = self._current_stamps()
        if stamps == self._stamps:
            return False
        context = self._new_context()
        try:
            load_files(context, self._options.certificate_file, self._options.key_file)
        except InputError as fault:
            logger.warning("the certificate stays as it was: %s", fault)
            return False
        self._stamps, self.context.current = stamps, context
        logger.info("the certificate was read again from %s", self._options.certificate_file)
        return True

    async def keep_fresh(self, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        """Check the files periodically until cancelled."""
        while True:
            await sleep(CHECK_SECONDS)
            self.reload()

    def _new_context(self) -> SSL.Context:
        """Return a TLS context without a certificate."""
        from steersman.kube.serving.openssl_context import new_context

        context = new_context()
        context.set_min_proto_version(version_named(self._options.min_version))
        limit_suites(context, self._options.cipher_suites)
        return context

    def _current_stamps(self) -> tuple[Stamp | None, ...]:
        files = (self._options.certificate_file, self._options.key_file)
        return tuple(_stamp(file) for file in files if file)


def _stamp(file: str) -> Stamp | None:
    """Return the state of a file; None if it cannot be read."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


# -- versions and cipher suites ----------------------------------------------------------------------------------------


def version_named(name: str) -> ssl.TLSVersion:
    """Return the TLS version of a flag's value; TLS 1.2 for ""."""
    if not name:
        return ssl.TLSVersion.TLSv1_2
    if name not in VERSIONS:
        raise InputError("there is no such version", field=VERSION_FLAG, value=name, hint=f"use {', '.join(VERSIONS)}")
    return VERSIONS[name]


def limit_suites(context: SSL.Context, names: Sequence[str]) -> None:
    """Allow only these suites below TLS 1.3; the default ones if empty."""
    from OpenSSL import SSL

    from steersman.kube.serving.openssl_context import reason_of

    known = [name for name in names if name not in ALWAYS_ON]
    for name in known:
        if name not in SUITES:
            choices = f"use names such as {next(iter(SUITES))}"
            raise InputError("there is no such cipher suite", field=SUITES_FLAG, value=name, hint=choices)
    suites = ":".join(SUITES[name] for name in known) or DEFAULT_SUITES
    try:
        context.set_cipher_list(f"{SECURITY_LEVEL}:{suites}".encode())
    except SSL.Error as cause:
        raise InputError(f"cannot be used: {reason_of(cause)}", field=SUITES_FLAG, value=",".join(known)) from cause


# -- certificates ------------------------------------------------------------------------------------------------------


class Certificate(msgspec.Struct, frozen=True):
    """Certificate chain and key in PEM."""

    chain: bytes
    key: bytes


def load_files(context: SSL.Context, certificate_file: str, key_file: str) -> None:
    """Load certificate and key. Raise `InputError` if they cannot be used."""
    try:
        load_certificate(context, Certificate(Path(certificate_file).read_bytes(), Path(key_file).read_bytes()))
    except (OSError, ValueError) as cause:
        raise InputError(
            f"cannot be used as certificate and key: {cause}", file=certificate_file, value=key_file
        ) from cause


def load_certificate(context: SSL.Context, certificate: Certificate) -> None:
    """Load a certificate. Raise ValueError if chain or key are invalid or do not match."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from OpenSSL import SSL

    from steersman.kube.serving.openssl_context import reason_of

    try:
        own, *others = x509.load_pem_x509_certificates(certificate.chain)
        context.use_certificate(own)
        for other in others:
            context.add_extra_chain_cert(other)
        key = load_pem_private_key(certificate.key, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey):
            raise ValueError(f"{type(key).__name__} is no key of a server")
        context.use_privatekey(key)
        context.check_privatekey()
    except SSL.Error as cause:
        raise ValueError(reason_of(cause)) from cause
    except TypeError as cause:
        raise ValueError(str(cause)) from cause  # raised for an encrypted key


def self_signed(names: Sequence[str], now: datetime.datetime) -> Certificate:
    """Return a certificate for these host names and addresses, valid for a year."""
    # Imported late: the library is slow to import.
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
