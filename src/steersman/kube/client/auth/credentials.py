# SPDX-License-Identifier: Apache-2.0
"""Credentials of a client: headers and a certificate, read before every request.

`kubeconfig` chooses them, `transport` uses them. Files are read again when they change, because
tokens and certificates are rotated.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from steersman.base import InputError
from steersman.kube.client.foreign_input import MAX_SECRET_BYTES, read_file

AUTHORIZATION: Final = "Authorization"
HOLDS_CONTROL: Final = "holds a line end or another control character, and cannot be sent in a header"
Headers = tuple[tuple[str, str], ...]
"""Names and values; names may repeat."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_TOKEN_BYTES: Final = frozenset(b"!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate with its key, PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credential:
    """Headers and certificate of a request."""

    headers: Headers = field(default=(), repr=False)
    certificate: ClientCertificate | None = None


class Credentials(Protocol):
    """Source of credentials."""

    async def current(self) -> Credential:
        """Return the current credential. Raise `SteersmanError` if there is none."""

    async def refused(self, shown: Credential) -> bool:
        """Handle a 401 for `shown`; return whether there is another credential now."""


class Anonymous:
    async def current(self) -> Credential:
        return Credential()

    async def refused(self, shown: Credential) -> bool:
        return False


class Fixed:
    """Credentials that never change: a token, name and password, or impersonation."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    @classmethod
    def token(cls, token: str) -> Fixed:
        return cls(bearer(token))

    @classmethod
    def password(cls, username: str, password: str) -> Fixed:
        text = base64.b64encode(f"{username}:{password}".encode()).decode("ascii")
        return cls(Credential(((AUTHORIZATION, f"Basic {text}"),)))

    async def current(self) -> Credential:
        return self._credential

    async def refused(self, shown: Credential) -> bool:
        return False


class TokenFile:
    """Bearer token in a file; if it is unreadable, the last token or `fallback` is used."""

    def __init__(self, path: Path, fallback: str = "") -> None:
        self._file = WatchedFile(path)
        self._token = fallback

    async def current(self) -> Credential:
        try:
            self._token = _token(self._file.read()) or self._token
        except (OSError, ValueError) as cause:
            if not self._token:
                raise InputError(f"the token cannot be read: {cause}", file=str(self._file.path)) from cause
        if not self._token:
            raise InputError("holds no token", file=str(self._file.path))
        return bearer(self._token)

    async def refused(self, shown: Credential) -> bool:
        self._file.forget()
        return not set((await self.current()).headers) <= set(shown.headers)


class CertificateFiles:
    """Client certificate in files or data. While files are inconsistent, the last one is used."""

    def __init__(self, certificate: Path | bytes, key: Path | bytes) -> None:
        self._certificate = _source(certificate)
        self._key = _source(key)
        self._last: Credential | None = None

    async def current(self) -> Credential:
        try:
            self._last = Credential(certificate=ClientCertificate(self._certificate.read(), self._key.read()))
        except (OSError, ValueError) as cause:
            if self._last is None:
                raise InputError(f"the client certificate cannot be read: {cause}") from cause
        return self._last

    async def refused(self, shown: Credential) -> bool:
        self._certificate.forget()
        self._key.forget()
        return (await self.current()).certificate != shown.certificate


class Combined:
    """Several credentials, such as certificate and token. The first header of a name is used."""

    def __init__(self, parts: Sequence[Credentials]) -> None:
        self._parts = parts

    async def current(self) -> Credential:
        headers: Headers = ()
        certificate: ClientCertificate | None = None
        for part in self._parts:
            credential = await part.current()
            given = {name for name, _ in headers}
            headers += tuple(header for header in credential.headers if header[0] not in given)
            certificate = certificate or credential.certificate
        return Credential(headers, certificate)

    async def refused(self, shown: Credential) -> bool:
        answers = [await part.refused(shown) for part in self._parts]
        return any(answers)


class WatchedFile:
    """Content of a file, read again when the file has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._content = b""

    def read(self) -> bytes:
        status = self.path.stat()
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            self._content = read_file(self.path, MAX_SECRET_BYTES)
            self._stamp = stamp
        return self._content

    def forget(self) -> None:
        """Read again next time, even if the file's status is unchanged."""
        self._stamp = None


class _Data:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self) -> bytes:
        return self._content

    def forget(self) -> None:
        """Do nothing."""


def bearer(token: str) -> Credential:
    return Credential(((AUTHORIZATION, f"Bearer {token}"),))


def _token(content: bytes) -> str:
    """Return the token. Raise ValueError if it cannot be sent."""
    token = content.decode("utf-8").strip()
    if not is_header_value(token):
        raise ValueError(f"it {HOLDS_CONTROL}")
    return token


def _source(content: Path | bytes) -> WatchedFile | _Data:
    return _Data(content) if isinstance(content, bytes) else WatchedFile(content)


# -- valid header values --------------------------------------------------------------------------------------------------


def is_header_value(value: str) -> bool:
    """Return whether a header may have the value, by the rules of Go's HTTP client.

    Control characters other than tabs are forbidden; the rest is sent as UTF-8. Readers of
    kubeconfigs and token files check this to name file and field; `transport` checks again.
    """
    return _CONTROL.search(value) is None


def escaped_header_key(key: str) -> str:
    """Return a key of `as-user-extra` for a header name, with invalid bytes and the percent sign
    escaped as in client-go (`%2F`)."""
    return "".join(chr(byte) if byte in _TOKEN_BYTES else f"%{byte:02X}" for byte in key.encode("utf-8", "replace"))
