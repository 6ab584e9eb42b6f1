# SPDX-License-Identifier: Apache-2.0
"""Who shows a client certificate: a user, or a proxy in front that says in headers who the user is.

TLS has verified the certificate against all authorities that were ever trusted (`server_tls`); here counts who issued it now.
Comes before tokens in `server`. A certificate that names nobody is as good as none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import msgspec
from multidict import CIMultiDictProxy

from steersman.errors import InputError
from steersman.serving.access import User

if TYPE_CHECKING:
    from cryptography import x509

AUTHENTICATED: Final = "system:authenticated"
CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
_MOST_KNOWN: Final = 256

Headers = CIMultiDictProxy[str]


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
    def all(self) -> bytes:
        return b"\n".join(filter(None, (self.users, self.proxy.authorities)))


class CertificateUsers:
    """Tells users by the authorities that were last given."""

    def __init__(self, authorities: ClientAuthorities | None = None) -> None:
        self.authorities = ClientAuthorities()
        self.replace(authorities or ClientAuthorities())

    def replace(self, authorities: ClientAuthorities) -> None:
        """Believes these authorities from now on. InputError, and all as before, for what is no bundle of certificates."""
        users, proxies = _bundle(authorities.users), _bundle(authorities.proxy.authorities)
        self.authorities, self._users, self._proxies = authorities, users, proxies
        self._known: dict[bytes, _Shown] = {}

    def identify(self, certificate: bytes, headers: Headers) -> User | None:
        """`certificate` is DER. None: it says nothing about who asks."""
        shown = self._shown(certificate)
        proxy = self.authorities.proxy
        if shown.of_proxy and (not proxy.allowed_names or shown.name in proxy.allowed_names):
            user = user_in(headers, proxy)
            if user is not None:
                return user
        return shown.user if shown.of_user and shown.name else None

    def _shown(self, certificate: bytes) -> _Shown:
        key = hashlib.sha256(certificate).digest()
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = self._look_at(certificate, key.hex())
        return known

    def _look_at(self, certificate: bytes, digest: str) -> _Shown:
        from cryptography import x509

        parsed = x509.load_der_x509_certificate(certificate)
        name = "".join(_subject(parsed, x509.NameOID.COMMON_NAME)[:1])
        groups = _subject(parsed, x509.NameOID.ORGANIZATION_NAME)
        user = User(name, "", (*groups, AUTHENTICATED), ((CREDENTIAL, (f"X509SHA256={digest}",)),))
        return _Shown(name, user, _issued_by(parsed, self._users), _issued_by(parsed, self._proxies))


class _Shown(msgspec.Struct, frozen=True):
    """A certificate that a client has shown."""

    name: str
    user: User
    of_user: bool
    of_proxy: bool


def user_in(headers: Headers, proxy: ProxyHeaders) -> User | None:
    name = next((value for header in proxy.username if (value := headers.get(header, ""))), "")
    if not name:
        return None
    uid = next((value for header in proxy.uid if (value := headers.get(header, ""))), "")
    groups = [group for header in proxy.groups for group in headers.getall(header, [])]
    return User(name, uid, (*groups, AUTHENTICATED), tuple(sorted(_extra(headers, proxy).items())))


def _extra(headers: Headers, proxy: ProxyHeaders) -> Mapping[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for prefix in proxy.extra_prefixes:
        for header, value in headers.items():
            if header.lower().startswith(prefix.lower()):
                key = unquote(header[len(prefix) :].lower())
                extra[key] = (*extra.get(key, ()), value)
    return extra


def _bundle(pem: bytes) -> list[x509.Certificate]:
    if not pem.strip():
        return []
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as cause:
        raise InputError(f"is not a bundle of PEM certificates: {cause}", field="client CA") from cause


def _issued_by(certificate: x509.Certificate, authorities: Iterable[x509.Certificate]) -> bool:
    return any(_is_issuer(authority, certificate) for authority in authorities)


def _is_issuer(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _subject(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(oid)]
