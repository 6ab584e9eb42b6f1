# SPDX-License-Identifier: Apache-2.0
"""URLs: `url("https://example.com/path")`, absolute URLs and paths, parsed as by Go."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Final
from urllib.parse import quote as percent_encode, unquote_to_bytes

from steersman.api.cel.comparison import Equatable
from steersman.api.cel.errors import CelError, no_such_overload
from steersman.api.cel.meter import MAX_CACHED
from steersman.api.cel.values import Value, register
from steersman.api.go_text import quote

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL)
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_NO_HOST_CHARACTER: Final = re.compile(r"[^%A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"\x80-\U0010ffff]")
_HOST_ESCAPE: Final = re.compile(r"%(?!25)[0-7][0-9a-fA-F]")
_VALID_PATH: Final = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]%]*")
_PATH_SAFE: Final = "$&+,/:;=@-_.~"


@dataclass(frozen=True, slots=True)
class Url(Equatable):
    """Parsed URL."""

    scheme: str
    opaque: str
    user: str
    host: str
    #: As written.
    path: str
    query: str
    fragment: str

    @property
    def text(self) -> str:
        """The URL as formatted by upstream."""
        scheme = f"{self.scheme}:" if self.scheme else ""
        query = f"?{self.query}" if self.query else ""
        fragment = f"#{self.fragment}" if self.fragment else ""
        if self.opaque:
            return f"{scheme}{self.opaque}{query}{fragment}"
        user = f"{self.user}@" if self.user else ""
        authority = f"//{user}{self.host}" if self.host or user else ""
        return f"{scheme}{authority}{escaped_path(self)}{query}{fragment}"

    def equals(self, other: Value) -> bool:
        """Return whether the formatted URLs are equal."""
        if not isinstance(other, Url):
            raise no_such_overload()
        return self.text == other.text


register(Url, "kubernetes.URL", "cel.URL")


def parse_request_uri(text: str) -> Url:
    """Parse an absolute URL or path. Raises with upstream's message."""
    try:
        return _parse(text, via_request=True)
    except CelError as error:
        raise CelError(f"parse {quote(text)}: {error}") from None


def _url(text: str) -> Url:
    return _short_url(text) if len(text) <= MAX_CACHED else _made_url(text)


@lru_cache(maxsize=4096)
def _short_url(text: str) -> Url:
    return _made_url(text)


def _made_url(text: str) -> Url:
    try:
        parse_request_uri(text)
    except CelError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None
    body, _, fragment = text.partition("#")
    try:
        parsed = _parse(body, via_request=False)
    except CelError as error:
        raise CelError(f"URL parse error during conversion from string: parse {quote(body)}: {error}") from None
    _check_escapes(fragment)
    return Url(parsed.scheme, parsed.opaque, parsed.user, parsed.host, parsed.path, parsed.query, fragment)


def _parse(text: str, *, via_request: bool) -> Url:
    if _CONTROL.search(text):
        raise CelError("net/url: invalid control character in URL")
    if not text and via_request:
        raise CelError("empty url")
    if text == "*":
        return Url("", "", "", "", "*", "", "")
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, rest, "", "", "", query, "")
        if via_request:
            raise CelError("invalid URI for request")
        if ":" in rest.split("/", 1)[0]:
            raise CelError("first path segment in URL cannot contain colon")
    user = host = ""
    if rest.startswith("//") and (scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _authority(scheme, authority)
    _check_escapes(rest)
    return Url(scheme, "", user, host, rest, query, "")


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise CelError("missing protocol scheme")
    match = _SCHEME.match(text)
    return (match[1].lower(), text[match.end() :]) if match else ("", text)


def _authority(scheme: str, authority: str) -> tuple[str, str]:
    user, at, host = authority.rpartition("@")
    host = _host(scheme, host)
    if at and not _USER.fullmatch(user):
        raise CelError("net/url: invalid userinfo")
    _check_escapes(user)
    return user, host


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise CelError("invalid IP-literal")
    if bracket == 0:
        closing = host.rfind("]")
        if closing < 0:
            raise CelError("missing ']' in host")
        _check_port(host[closing + 1 :])
        return _unescaped_host(host)
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        _check_port(host[first if scheme in ("http", "https") else last :])
    return _unescaped_host(host)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise CelError(f"invalid port {quote(port)} after host")


def _unescaped_host(host: str) -> str:
    _check_escapes(host)
    escape = _HOST_ESCAPE.search(host)
    if escape:
        raise CelError(f"invalid URL escape {quote(escape[0])}")
    bad = _NO_HOST_CHARACTER.search(host)
    if bad:
        raise CelError(f"invalid character {quote(bad[0])} in host name")
    return unquote_to_bytes(host).decode(errors="replace")


def _check_escapes(text: str) -> None:
    bad = _BAD_ESCAPE.search(text)
    if bad:
        raise CelError(f"invalid URL escape {quote(bad[0])}")


def escaped_path(url: Url) -> str:
    """Return the escaped path; as written if that is valid."""
    if _VALID_PATH.fullmatch(url.path):
        return url.path
    return percent_encode(unquote_to_bytes(url.path), safe=_PATH_SAFE)


def _split_host(host: str) -> tuple[str, str]:
    colon = host.rfind(":")
    port = ""
    if colon >= 0 and _PORT.fullmatch(host[colon:]):
        host, port = host[:colon], host[colon + 1 :]
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, port


def _query(url: Url) -> dict[Value, Value]:
    values: dict[Value, list[Value]] = {}
    for part in url.query.split("&"):
        if not part or ";" in part or _BAD_ESCAPE.search(part):
            continue
        key, _, value = part.partition("=")
        values.setdefault(_unescaped(key), []).append(_unescaped(value))
    return dict(values)


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode(errors="replace")


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except CelError:
        return False
    return True


def _host_name(url: Url) -> str:
    return _split_host(url.host)[0]


def _port(url: Url) -> str:
    return _split_host(url.host)[1]


_scheme: Final = attrgetter("scheme")
_url_host: Final = attrgetter("host")
