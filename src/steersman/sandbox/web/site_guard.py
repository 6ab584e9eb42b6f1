# SPDX-License-Identifier: Apache-2.0
"""Refuses cross-site requests.

A page of another site can make a browser send requests to a server on loopback, or resolve a
foreign name to it (DNS rebinding). Such requests do not reach a handler: `Host` has to be an
address of the server, and `Origin` and `Sec-Fetch-Site`, if sent, its own.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from steersman.kube.serving import Request

FOREIGN_HOST: Final = "the Host header names no address of this server"
FOREIGN_ORIGIN: Final = "the request comes from a page of another site"
OWN_SITES: Final = ("same-origin", "none")


class SiteGuard:
    """Names of a server. An empty collection allows any address, and names verified by TLS."""

    def __init__(self, hosts: Collection[str], scheme: str) -> None:
        """`hosts` without ports, in lower case."""
        self._hosts = frozenset(hosts)
        self._scheme = scheme

    def refusal(self, request: Request) -> str:
        """Return why the request is refused; "" if it is not."""
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
    """Return the names of a server bound to the address; empty for all names of the machine."""
    if address in ("", "0.0.0.0", "::"):
        return ()
    try:
        is_loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        return (address.lower(),)
    return ("127.0.0.1", "localhost", "::1", address.lower()) if is_loopback else (address.lower(),)
