# SPDX-License-Identifier: Apache-2.0
"""Authentication by client certificate: of a user, or of a proxy that names the user in headers.

TLS accepts any certificate (`openssl_context`). A request verifies it against the authorities and
the intermediate ones that the client sends (`certificate_chains`), before tokens.
"""

from __future__ import annotations

import datetime
import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import msgspec

from steersman.base import LruCache
from steersman.kube.serving.access import User
from steersman.kube.serving.certificate_chains import (
    MAX_OTHER_CERTIFICATES,
    CertificateRejected,
    TrustedAuthorities,
    bundle_of,
)
from steersman.kube.serving.http import HeaderFields

if TYPE_CHECKING:
    from cryptography import x509

logger = logging.getLogger(__name__)

AUTHENTICATED: Final = "system:authenticated"
CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
_MAX_CACHED: Final = 256


class ProxyHeaders(msgspec.Struct, frozen=True):
    """Trusted proxies and their headers: --requestheader-… flags."""

    #: PEM bundle.
    authorities: bytes = b""
    #: Common names of proxies; empty to allow every certificate of the authorities.
    allowed_names: Sequence[str] = ()
    username: Sequence[str] = ("x-remote-user",)
    uid: Sequence[str] = ("x-remote-uid",)
    groups: Sequence[str] = ("x-remote-group",)
    extra_prefixes: Sequence[str] = ("x-remote-extra-",)


class ClientAuthorities(msgspec.Struct, frozen=True):
    """Authorities of client certificates; none by default."""

    #: --client-ca-file, PEM.
    users: bytes = b""
    proxy: ProxyHeaders = ProxyHeaders()

    @property
    def is_any(self) -> bool:
        return bool(self.users or self.proxy.authorities)


class CertificateUsers:
    """Identifies users by their certificates and the current authorities."""

    def __init__(
        self,
        authorities: ClientAuthorities | None = None,
        clock: Callable[[], float] = time.time,
        on_lifetime: Callable[[float], object] = lambda seconds: None,
    ) -> None:
        """`clock` returns seconds since 1970. `on_lifetime` is called with the remaining lifetime,
        in seconds, of each verified certificate."""
        self._clock = clock
        self._on_lifetime = on_lifetime
        self.authorities = ClientAuthorities()
        self.replace(authorities or ClientAuthorities())

    def replace(self, authorities: ClientAuthorities) -> None:
        """Replace the authorities. For an invalid bundle, raise `InputError` and change nothing."""
        users, proxies = bundle_of(authorities.users), bundle_of(authorities.proxy.authorities)
        self._users = TrustedAuthorities(users) if users else None
        self._proxies = TrustedAuthorities(proxies) if proxies else None
        self.authorities = authorities
        #: Verified certificates by the digest of the chain.
        self._known: LruCache[bytes, _VerifiedCertificate] = LruCache(_MAX_CACHED)

    def identify(self, certificates: Sequence[bytes], headers: HeaderFields) -> User | None:
        """Return the user of the certificates (DER, the client's own first), or None."""
        vouched = self._vouched(certificates)
        if vouched.until:
            self._on_lifetime(vouched.until - self._clock())
        proxy = self.authorities.proxy
        if vouched.of_proxy and (not proxy.allowed_names or vouched.name in proxy.allowed_names):
            user = user_in(headers, proxy)
            if user is not None:
                return user
        return vouched.user if vouched.of_user and vouched.name else None

    def _vouched(self, certificates: Sequence[bytes]) -> _VerifiedCertificate:
        now, key = self._clock(), hashlib.sha256(b"".join(certificates)).digest()
        known = self._known.get(key)
        if known is not None and now < known.until:
            return known
        try:
            found = self._verify(certificates, now)
        except Exception as fault:  # the libraries raise various errors for invalid input
            logger.debug("a client certificate cannot be judged: %r", fault)
            return _NO_USER
        if found.of_user or found.of_proxy:
            self._known.put(key, found)
        return found

    def _verify(self, certificates: Sequence[bytes], now: float) -> _VerifiedCertificate:
        from cryptography import x509

        try:
            own, *others = (x509.load_der_x509_certificate(one) for one in certificates[: 1 + MAX_OTHER_CERTIFICATES])
            name = "".join(_subject(own, x509.NameOID.COMMON_NAME)[-1:])  # of several, Go uses the last
            groups = _subject(own, x509.NameOID.ORGANIZATION_NAME)
        except ValueError as fault:
            logger.debug("a client certificate cannot be read: %s", fault)
            return _NO_USER
        digest = hashlib.sha256(certificates[0]).hexdigest()
        user = User(name, "", (*groups, AUTHENTICATED), ((CREDENTIAL, (f"X509SHA256={digest}",)),))
        of_user, of_proxy = (_end(by, own, others, now) for by in (self._users, self._proxies))
        return _VerifiedCertificate(
            name, user, of_user > 0, of_proxy > 0, min(filter(None, (of_user, of_proxy)), default=0.0)
        )


class _VerifiedCertificate(msgspec.Struct, frozen=True):
    """A parsed certificate, and whether the authorities of users or proxies signed it."""

    name: str
    user: User
    of_user: bool
    of_proxy: bool
    #: Expiry of the chain in seconds since 1970.
    until: float


_NO_USER: Final = _VerifiedCertificate("", User(""), False, False, 0.0)


def _end(
    authorities: TrustedAuthorities | None,
    certificate: x509.Certificate,
    others: Sequence[x509.Certificate],
    now: float,
) -> float:
    """Return the expiry of the certificate's chain; 0 if the authorities have not signed it."""
    if authorities is None:
        return 0.0
    try:
        chain = authorities.chain(certificate, others, datetime.datetime.fromtimestamp(now, datetime.UTC))
    except CertificateRejected as reason:
        logger.debug("the client certificate of %s: %s", certificate.subject.rfc4514_string(), reason)
        return 0.0
    return min(one.not_valid_after_utc.timestamp() for one in chain)


def user_in(headers: HeaderFields, proxy: ProxyHeaders) -> User | None:
    name = next((value for header in proxy.username if (value := headers.get(header, ""))), "")
    if not name:
        return None
    uid = next((value for header in proxy.uid if (value := headers.get(header, ""))), "")
    groups = [group for header in proxy.groups for group in headers.getall(header, [])]
    return User(name, uid, (*groups, AUTHENTICATED), tuple(sorted(_extra(headers, proxy).items())))


def _extra(headers: HeaderFields, proxy: ProxyHeaders) -> Mapping[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for prefix in proxy.extra_prefixes:
        for header, value in headers.items():
            if header.lower().startswith(prefix.lower()):
                key = unquote(header[len(prefix) :].lower())
                extra[key] = (*extra.get(key, ()), value)
    return extra


def _subject(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(oid)]
