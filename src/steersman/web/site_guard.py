# SPDX-License-Identifier: Apache-2.0
"""Which requests a browser may have sent for somebody else's page: those are refused.

A page of another site can make a browser send requests to a server on loopback, and a foreign name can be made to resolve to
it (DNS rebinding). Neither gets as far as a handler: `Host` has to be an address of the server, and `Origin` and
`Sec-Fetch-Site`, where they are sent, have to be its own.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from steersman.serving.http import Request

FOREIGN_HOST: Final = "the Host header names no address of this server"
FOREIGN_ORIGIN: Final = "the request comes from a page of another site"
OWN_SITES: Final = ("same-origin", "none")


class SiteGuard:
    """Knows the names of a server. An empty collection: any address, and the names that TLS has vouched for."""

    def __init__(self, hosts: Collection[str], scheme: str) -> None:
        """`hosts` without ports, in lower case."""
        self._hosts = frozenset(hosts)
        self._scheme = scheme

    def refusal(self, request: Request) -> str:
        """Why the request is refused; "" when it is not."""
        host = request.headers.get("Host").lower()
        if not self._is_own(host):
            return FOREIGN_HOST
        origin = request.headers.get("Origin").lower()
        if origin and origin != f"{self._scheme}://{host}":
            return FOREIGN_ORIGIN
        site = request.headers.get("Sec-Fetch-Site").lower()
        return FOREIGN_ORIGIN if site and site not in OWN_SITES else ""

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return bool(name) and (not self._hosts or name in self._hosts)


def names_of(address: str) -> tuple[str, ...]:
    """The names by which clients reach a server that is bound to the address; none: all of the machine's."""
    if address in ("", "0.0.0.0", "::"):
        return ()
    try:
        is_loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        return (address.lower(),)
    return ("127.0.0.1", "localhost", "::1", address.lower()) if is_loopback else (address.lower(),)
