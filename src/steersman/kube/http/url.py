# SPDX-License-Identifier: Apache-2.0
"""URLs of HTTP servers, in the parts that a request needs."""

from __future__ import annotations

import base64
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import msgspec

_PORTS: Final = {"http": 80, "https": 443}
_SAFE: Final = "/%:@!$&'()*+,;=~-._?"


class Url(msgspec.Struct, frozen=True):
    """An `http` or `https` URL."""

    scheme: str
    #: ASCII; an IPv6 address has no brackets.
    host: str
    port: int
    #: Path and query, percent-encoded; "" or beginning with a slash.
    target: str = ""
    #: `name:password`, decoded; "" without any.
    user: str = ""

    @classmethod
    def parse(cls, text: str) -> Url:
        """Parse a URL. Raise ValueError if it is not that of an HTTP server."""
        parts = urlsplit(text)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("not the URL of an HTTP server")
        host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode("ascii")
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        user = parts.netloc.rpartition("@")[0]
        return cls(parts.scheme, host, port, quote(target, safe=_SAFE), unquote(user))

    @property
    def is_tls(self) -> bool:
        return self.scheme == "https"

    @property
    def address(self) -> str:
        """Host and port, as a CONNECT request names them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """Value of the Host header: without the default port, name and password."""
        return self.address.removesuffix(f":{_PORTS[self.scheme]}")

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def basic_credentials(self) -> str:
        """Value of an Authorization header for `user`; "" without one."""
        return f"Basic {base64.b64encode(self.user.encode()).decode()}" if self.user else ""
