# SPDX-License-Identifier: Apache-2.0
"""Whom client certificates are believed: from files, and from what the API server tells every component of its own.

Flags ─► files ─┐
cluster ─► ConfigMap extension-apiserver-authentication ─┴─► ClientAuthorities ─► `serving.CertificateUsers`, TLS

Looked up again and again, because authorities are rotated. What flags say is not looked up in the cluster.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

import msgspec

from steersman.app.settings import AuthenticationOptions
from steersman.client import ApiError, Timing, Transport, UnreadableAnswer, decode_foreign
from steersman.errors import InputError, SteersmanError
from steersman.serving import CertificateUsers, ClientAuthorities, ProxyHeaders, ServerTls

logger = logging.getLogger(__name__)

PATH: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
WHERE: Final = "ConfigMap kube-system/extension-apiserver-authentication"
LOOK_SECONDS: Final = 60.0
NOT_LOOKED_UP: Final = "whom to believe client certificates cannot be looked up in the cluster: %s"


class Authorities:
    """Keeps `users` and `tls` up to date."""

    def __init__(
        self, options: AuthenticationOptions, cluster: Transport, users: CertificateUsers, tls: ServerTls
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._users = users
        self._tls = tls

    async def prepare(self) -> None:
        """Before anything is served. InputError for files that cannot be used; other errors if the cluster has to be asked
        and does not answer."""
        self._apply(self._from_files())
        if not self._options.tolerate_lookup_failure:
            self._apply(await self._current())

    async def keep_fresh(self, timing: Timing) -> None:
        """Looks authorities up again and again until it is cancelled. What keeps going wrong is said once."""
        said = ""
        while True:
            try:
                self._apply(await self._current())
                said = ""
            except SteersmanError as failure:
                if str(failure) != said:
                    said = str(failure)
                    logger.warning(NOT_LOOKED_UP, said)
            await timing.sleep(LOOK_SECONDS)

    def _apply(self, authorities: ClientAuthorities) -> None:
        if authorities == self._users.authorities:
            return
        self._users.replace(authorities)
        if authorities.is_any:
            self._tls.ask_for_certificates()

    async def _current(self) -> ClientAuthorities:
        given, options = self._from_files(), self._options
        if options.skip_lookup or (options.client_ca_file and options.proxy_ca_file):
            return given
        found = await look_up(self._cluster)
        return ClientAuthorities(
            given.users if options.client_ca_file else found.users,
            given.proxy if options.proxy_ca_file else found.proxy,
        )

    def _from_files(self) -> ClientAuthorities:
        options = self._options
        proxy = msgspec.structs.replace(
            options.proxy, authorities=_content(options.proxy_ca_file, "--requestheader-client-ca-file")
        )
        return ClientAuthorities(_content(options.client_ca_file, "--client-ca-file"), proxy)


async def look_up(cluster: Transport) -> ClientAuthorities:
    """The authorities that the API server publishes; none where it publishes nothing."""
    try:
        answer = await cluster.request("GET", PATH)
    except ApiError as refusal:
        if refusal.is_not_found:
            return ClientAuthorities()
        raise
    return published(decode_foreign(answer.body, _ConfigMap, WHERE).data or {})


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


def published(data: dict[str, str]) -> ClientAuthorities:
    proxy = ProxyHeaders(
        authorities=data.get("requestheader-client-ca-file", "").encode(),
        allowed_names=_names(data, "requestheader-allowed-names"),
        username=_names(data, "requestheader-username-headers"),
        uid=_names(data, "requestheader-uid-headers"),
        groups=_names(data, "requestheader-group-headers"),
        extra_prefixes=_names(data, "requestheader-extra-headers-prefix"),
    )
    return ClientAuthorities(data.get("client-ca-file", "").encode(), proxy)


def _names(data: dict[str, str], key: str) -> tuple[str, ...]:
    """A list as JSON."""
    try:
        return decode_foreign((data.get(key) or "[]").encode(), tuple[str, ...], key)
    except UnreadableAnswer as cause:
        raise InputError(f"is not a list: {cause}", object=WHERE, field=f"data.{key}", value=data[key]) from cause


def _content(file: str, flag: str) -> bytes:
    if not file:
        return b""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file, field=flag) from error
