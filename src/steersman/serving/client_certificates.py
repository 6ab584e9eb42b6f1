# SPDX-License-Identifier: Apache-2.0
"""Who shows a client certificate: a user, or a proxy in front that says in headers who the user is.

TLS has verified the certificate against all authorities that were ever trusted (`server_tls`); here counts who issued it now,
directly or through the intermediate authorities that the client shows with it. Comes before tokens in `server`. A certificate
that names nobody is as good as none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import msgspec

from steersman.errors import InputError
from steersman.serving.access import User
from steersman.serving.http import HeaderFields

if TYPE_CHECKING:
    from cryptography import x509

AUTHENTICATED: Final = "system:authenticated"
CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
_MOST_KNOWN: Final = 256
_MOST_INTERMEDIATES: Final = 8
"""Chains are shorter; a client may send as many certificates as it likes."""


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

    def identify(self, certificate: bytes, headers: HeaderFields, others: Sequence[bytes] = ()) -> User | None:
        """`certificate` is DER, and so are `others` that came with it. None: it says nothing about who asks."""
        shown = self._shown(certificate, others)
        proxy = self.authorities.proxy
        if shown.of_proxy and (not proxy.allowed_names or shown.name in proxy.allowed_names):
            user = user_in(headers, proxy)
            if user is not None:
                return user
        return shown.user if shown.of_user and shown.name else None

    def _shown(self, certificate: bytes, others: Sequence[bytes]) -> _Shown:
        key = hashlib.sha256(b"".join((certificate, *others))).digest()
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = self._look_at(certificate, others)
        return known

    def _look_at(self, certificate: bytes, others: Sequence[bytes]) -> _Shown:
        from cryptography import x509

        parsed, digest = x509.load_der_x509_certificate(certificate), hashlib.sha256(certificate).hexdigest()
        between = [x509.load_der_x509_certificate(other) for other in others[:_MOST_INTERMEDIATES]]
        name = "".join(_subject(parsed, x509.NameOID.COMMON_NAME)[:1])
        groups = _subject(parsed, x509.NameOID.ORGANIZATION_NAME)
        user = User(name, "", (*groups, AUTHENTICATED), ((CREDENTIAL, (f"X509SHA256={digest}",)),))
        of_user, of_proxy = (_vouched_for(parsed, between, bundle) for bundle in (self._users, self._proxies))
        return _Shown(name, user, of_user, of_proxy)


class _Shown(msgspec.Struct, frozen=True):
    """A certificate that a client has shown."""

    name: str
    user: User
    of_user: bool
    of_proxy: bool


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


def _bundle(pem: bytes) -> list[x509.Certificate]:
    if not pem.strip():
        return []
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as cause:
        raise InputError(f"is not a bundle of PEM certificates: {cause}", field="client CA") from cause


def _vouched_for(
    certificate: x509.Certificate, between: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate]
) -> bool:
    """Whether one of the authorities has issued the certificate, or an authority between that issued it."""
    if any(_is_issuer(authority, certificate) for authority in authorities):
        return True
    issuer = next((one for one in between if _is_authority(one) and _is_issuer(one, certificate)), None)
    return issuer is not None and _vouched_for(issuer, [one for one in between if one is not issuer], authorities)


def _is_authority(certificate: x509.Certificate) -> bool:
    from cryptography import x509

    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def _is_issuer(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _subject(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(oid)]
