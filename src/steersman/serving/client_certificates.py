# SPDX-License-Identifier: Apache-2.0
"""Who shows a client certificate: a user, or a proxy in front that says in headers who the user is.

TLS takes any certificate (`openssl_context`). Here counts who vouches for it at the time of the request, directly or through
the intermediate authorities that the client shows with it (`certificate_chains`). Comes before tokens in `server`.
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

from steersman.bounded_table import RecentTable
from steersman.serving.access import User
from steersman.serving.certificate_chains import MOST_OTHERS, CertificateRejected, TrustedAuthorities, bundle_of
from steersman.serving.http import HeaderFields

if TYPE_CHECKING:
    from cryptography import x509

logger = logging.getLogger(__name__)

AUTHENTICATED: Final = "system:authenticated"
CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
_MOST_KNOWN: Final = 256


class ProxyHeaders(msgspec.Struct, frozen=True):
    """--requestheader-…: whom to believe what headers say."""

    #: PEM.
    authorities: bytes = b""
    #: Common names of proxies; none: every certificate of the authorities.
    allowed_names: Sequence[str] = ()
    username: Sequence[str] = ("x-remote-user",)
    uid: Sequence[str] = ("x-remote-uid",)
    groups: Sequence[str] = ("x-remote-group",)
    extra_prefixes: Sequence[str] = ("x-remote-extra-",)


class ClientAuthorities(msgspec.Struct, frozen=True):
    """Who may vouch for clients. Nothing is known of anybody by default."""

    #: --client-ca-file, PEM.
    users: bytes = b""
    proxy: ProxyHeaders = ProxyHeaders()

    @property
    def is_any(self) -> bool:
        return bool(self.users or self.proxy.authorities)


class CertificateUsers:
    """Tells users by the authorities that were last given, as of the time of each request."""

    def __init__(self, authorities: ClientAuthorities | None = None, clock: Callable[[], float] = time.time) -> None:
        """`clock` says the seconds since 1970."""
        self._clock = clock
        self.authorities = ClientAuthorities()
        self.replace(authorities or ClientAuthorities())

    def replace(self, authorities: ClientAuthorities) -> None:
        """Believes these authorities from now on. InputError, and all as before, for what is no bundle of certificates."""
        users, proxies = bundle_of(authorities.users), bundle_of(authorities.proxy.authorities)
        self._users = TrustedAuthorities(users) if users else None
        self._proxies = TrustedAuthorities(proxies) if proxies else None
        self.authorities = authorities
        #: Certificates that somebody vouches for, by the digest of all that was shown.
        self._known: RecentTable[bytes, _Vouched] = RecentTable(_MOST_KNOWN)

    def identify(self, certificates: Sequence[bytes], headers: HeaderFields) -> User | None:
        """`certificates` are DER, the client's own first. None: they say nothing about who asks."""
        vouched = self._vouched(certificates)
        proxy = self.authorities.proxy
        if vouched.of_proxy and (not proxy.allowed_names or vouched.name in proxy.allowed_names):
            user = user_in(headers, proxy)
            if user is not None:
                return user
        return vouched.user if vouched.of_user and vouched.name else None

    def _vouched(self, certificates: Sequence[bytes]) -> _Vouched:
        now, key = self._clock(), hashlib.sha256(b"".join(certificates)).digest()
        known = self._known.get(key)
        if known is not None and now < known.until:
            return known
        try:
            found = self._verify(certificates, now)
        except Exception as fault:  # the libraries raise all sorts of errors for what strangers show
            logger.debug("a client certificate cannot be judged: %r", fault)
            return _NOBODY
        if found.of_user or found.of_proxy:
            self._known.put(key, found)
        return found

    def _verify(self, certificates: Sequence[bytes], now: float) -> _Vouched:
        from cryptography import x509

        try:
            own, *others = (x509.load_der_x509_certificate(one) for one in certificates[: 1 + MOST_OTHERS])
            name = "".join(_subject(own, x509.NameOID.COMMON_NAME)[-1:])  # of several, Go takes the last
            groups = _subject(own, x509.NameOID.ORGANIZATION_NAME)
        except ValueError as fault:
            logger.debug("a client certificate cannot be read: %s", fault)
            return _NOBODY
        digest = hashlib.sha256(certificates[0]).hexdigest()
        user = User(name, "", (*groups, AUTHENTICATED), ((CREDENTIAL, (f"X509SHA256={digest}",)),))
        of_user, of_proxy = (_end(by, own, others, now) for by in (self._users, self._proxies))
        return _Vouched(name, user, of_user > 0, of_proxy > 0, min(filter(None, (of_user, of_proxy)), default=0.0))


class _Vouched(msgspec.Struct, frozen=True):
    """A certificate that was read, and who vouches for it."""

    name: str
    user: User
    of_user: bool
    of_proxy: bool
    #: Seconds since 1970; then a certificate of the chain runs out.
    until: float


_NOBODY: Final = _Vouched("", User(""), False, False, 0.0)


def _end(
    authorities: TrustedAuthorities | None,
    certificate: x509.Certificate,
    others: Sequence[x509.Certificate],
    now: float,
) -> float:
    """The moment until which the authorities vouch for the certificate; 0: they do not."""
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
