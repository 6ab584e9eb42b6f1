# SPDX-License-Identifier: Apache-2.0
"""Where the API server is and how to speak to it: what `kubeconfig` finds out and `transport` needs."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from yarl import URL

from steersman.client.auth.credentials import Anonymous, Credentials
from steersman.client.tls import TlsSettings

_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"[0-9A-Za-z._:%-]{1,253}")

NOT_A_SERVER: Final = "is not the URL of a server"


@dataclass(frozen=True, slots=True)
class Connection:
    """`server` is a URL without a slash at its end; it may have a path."""

    server: str
    tls: TlsSettings = field(default_factory=TlsSettings)
    credentials: Credentials = field(default_factory=Anonymous)
    #: URL of an HTTP proxy; "": none.
    proxy: str = ""


def fault_of_address(text: str) -> str:
    """Why no server can have this URL; "" if one can. Nothing in it can end up in a header."""
    try:
        url = URL(text)
    except ValueError as cause:
        return f"{NOT_A_SERVER}: {cause}"
    is_usable = url.scheme in _PORTS and _HOST.fullmatch(url.raw_host or "") is not None
    return "" if is_usable else NOT_A_SERVER


def environment_proxy(server: str, environment: Mapping[str, str]) -> str:
    """The proxy that HTTPS_PROXY or HTTP_PROXY names, unless NO_PROXY excepts the server; "" for none.

    The machine itself is never reached through a proxy.
    """
    url = urlsplit(server)
    host = url.hostname or ""
    name = f"{url.scheme}_proxy"
    proxy = environment.get(name) or environment.get(name.upper()) or ""
    if not proxy or _is_local(host):
        return ""
    excepted = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    port = url.port or _PORTS.get(url.scheme, 0)
    if any(_excepts(entry.strip(), host, port) for entry in excepted.split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _excepts(entry: str, host: str, port: int) -> bool:
    """An entry is `*`, an address, a range of addresses, or a domain, perhaps with a port."""
    if not entry:
        return False
    if entry == "*":
        return True
    address = _address(host)
    if address is not None and "/" in entry:
        return _in_range(address, entry)
    name, separator, number = entry.rpartition(":")
    if separator and number.isdecimal() and ":" not in name:
        if int(number) != port:
            return False
        entry = name
    domain = entry.removeprefix("*").lower()
    if domain.startswith("."):
        return host.lower().endswith(domain)
    return host.lower() == domain or host.lower().endswith(f".{domain}")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _in_range(address: ipaddress.IPv4Address | ipaddress.IPv6Address, entry: str) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
