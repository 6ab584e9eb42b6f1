# SPDX-License-Identifier: Apache-2.0
"""Credentials by OpenID Connect (auth-provider `oidc` in a kubeconfig), renewed when they expire.

Renewed tokens stay in memory; the kubeconfig is not written.
"""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

import msgspec

from steersman.base import Timing, hide_passwords
from steersman.kube.client.auth.credentials import (
    HOLDS_CONTROL,
    Credential,
    Credentials,
    Fixed,
    bearer,
    is_header_value,
)
from steersman.kube.client.auth.exec_plugin import CredentialError
from steersman.kube.client.connection import Connection, TlsSettings, fault_of_address
from steersman.kube.client.errors import ClientError, UnreadableAnswer
from steersman.kube.client.foreign_input import decode_foreign
from steersman.kube.client.requests import Request
from steersman.kube.client.transport import http_transport
from steersman.kube.http.url import Url

DISCOVERY: Final = "/.well-known/openid-configuration"
FORM: Final = "application/x-www-form-urlencoded"
MARGIN_SECONDS: Final = 10.0
"""A token with less remaining time counts as expired."""


@dataclass(frozen=True, slots=True)
class OidcSettings:
    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    id_token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    tls: TlsSettings = field(default_factory=TlsSettings)


class _Discovery(msgspec.Struct):
    token_endpoint: str


class _Tokens(msgspec.Struct):
    id_token: str = ""
    refresh_token: str = ""


class _Claims(msgspec.Struct):
    exp: float


class OidcProvider:
    """Credentials of one identity."""

    def __init__(self, settings: OidcSettings, timing: Timing) -> None:
        self._settings = settings
        self._clock = timing.clock
        self._lock = asyncio.Lock()
        self._id_token = settings.id_token
        self._refresh_token = settings.refresh_token

    async def current(self) -> Credential:
        async with self._lock:
            if not self._id_token or self._clock.now() >= _expiry(self._id_token) - MARGIN_SECONDS:
                await self._renew()
            return bearer(self._id_token)

    async def refused(self, shown: Credential) -> bool:
        async with self._lock:
            if set(bearer(self._id_token).headers) <= set(shown.headers):
                await self._renew()
            return True

    async def _renew(self) -> None:
        if not self._refresh_token:
            raise self._error("the identity token has expired and there is no refresh token")
        try:
            tokens = await self._fetch()
        except ClientError as cause:
            raise self._error(f"the token cannot be renewed: {cause}") from cause
        if not tokens.id_token:
            raise self._error("the answer holds no id_token")
        if not is_header_value(tokens.id_token):
            raise self._error(f"the id_token {HOLDS_CONTROL}")
        self._id_token = tokens.id_token
        self._refresh_token = tokens.refresh_token or self._refresh_token

    async def _fetch(self) -> _Tokens:
        settings = self._settings
        async with http_transport(Connection(settings.issuer, settings.tls)) as issuer:
            answer = await issuer.request(Request("GET", DISCOVERY))
        found = decode_foreign(answer.body, _Discovery, "the issuer's discovery document").token_endpoint
        if fault := fault_of_address(found):
            raise self._error(f"the token_endpoint {hide_passwords(found[:200])} {fault}")
        url = Url.parse(found)
        form = {
            "grant_type": "refresh_token",
            "refresh_token": self._refresh_token,
            "client_id": settings.client_id,
            "client_secret": settings.client_secret,
        }
        client: Credentials = Fixed.password(settings.client_id, settings.client_secret)
        async with http_transport(Connection(url.origin, settings.tls, client)) as endpoint:
            answer = await endpoint.request(
                Request("POST", url.target or "/", body=urlencode(form).encode(), content_type=FORM)
            )
        return decode_foreign(answer.body, _Tokens, "the issuer's answer")

    def _error(self, message: str) -> CredentialError:
        return CredentialError(f"OpenID Connect issuer {hide_passwords(self._settings.issuer)}: {message}")


def _expiry(token: str) -> float:
    """Return the expiry of a JSON web token in seconds since the epoch; 0 if it has none."""
    try:
        part = token.split(".")[1]
        payload = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        return decode_foreign(payload, _Claims, "the token").exp
    except (IndexError, ValueError, UnreadableAnswer):
        return 0.0
