# SPDX-License-Identifier: Apache-2.0
"""How a client says who it is: headers and a certificate, asked for before every request.

`kubeconfig` chooses, `transport` asks. Files are looked at again when they change, because tokens and certificates of
long-running programs are replaced under their feet.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from steersman.client.foreign_input import LONGEST_SECRET, read_file
from steersman.errors import InputError

AUTHORIZATION: Final = "Authorization"
HOLDS_CONTROL: Final = "holds a line end or another control character, and cannot be sent in a header"
Headers = tuple[tuple[str, str], ...]
"""Names and values; a name may come more than once."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_TOKEN_BYTES: Final = frozenset(b"!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate with its key, PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credential:
    """Headers and a certificate that go along with a request."""

    headers: Headers = field(default=(), repr=False)
    certificate: ClientCertificate | None = None


class Credentials(Protocol):
    """Where credentials come from."""

    async def current(self) -> Credential:
        """The credential to show now. Raises SteersmanError when there is none."""

    async def refused(self, shown: Credential) -> bool:
        """The server did not accept what was shown to it; True when there is something else to show by now."""


class Anonymous:
    async def current(self) -> Credential:
        return Credential()

    async def refused(self, shown: Credential) -> bool:
        return False


class Fixed:
    """Credentials that never change: a token, name and password, whom to impersonate."""

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
    """A bearer token in a file. One that cannot be read, or is empty, leaves the last good token, or `fallback`."""

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
    """A client certificate in files, or in data where given. Files that are being replaced leave the last good one."""

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
    """Several at once, for example a certificate and a token. Of two headers of one name, the first counts."""

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
    """The content of a file, read again when the file has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._content = b""

    def read(self) -> bytes:
        status = self.path.stat()
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            self._content = read_file(self.path, LONGEST_SECRET)
            self._stamp = stamp
        return self._content

    def forget(self) -> None:
        """Reads anew next time, whatever the file's date says."""
        self._stamp = None


class _Data:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self) -> bytes:
        return self._content

    def forget(self) -> None:
        """There is nothing else to read."""


def bearer(token: str) -> Credential:
    return Credential(((AUTHORIZATION, f"Bearer {token}"),))


def _token(content: bytes) -> str:
    """ValueError for what cannot be sent."""
    token = content.decode("utf-8").strip()
    if not is_header_value(token):
        raise ValueError(f"it {HOLDS_CONTROL}")
    return token


def _source(content: Path | bytes) -> WatchedFile | _Data:
    return _Data(content) if isinstance(content, bytes) else WatchedFile(content)


# -- what may stand in a header ----------------------------------------------------------------------------------------


def is_header_value(value: str) -> bool:
    """Whether a header may have the value, by the rules of Go's HTTP client: nothing that could begin another header.

    Tabs are allowed, other control characters are not; the rest is sent as UTF-8. Kubeconfigs and token files are written by
    others: whoever reads them refuses such a value, naming file and field, and `transport` looks again at what it sends.
    """
    return _CONTROL.search(value) is None


def escaped_header_key(key: str) -> str:
    """Part of a header's name, as client-go writes the keys of `as-user-extra`: bytes that a name must not have, and the
    percent sign, as `%2F`."""
    return "".join(chr(byte) if byte in _TOKEN_BYTES else f"%{byte:02X}" for byte in key.encode("utf-8", "replace"))
