# SPDX-License-Identifier: Apache-2.0
"""Address, proxy, TLS settings and credentials (`auth`) of an API server.

`kubeconfig` creates them, `transport` uses them.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from steersman.base import InputError
from steersman.kube.client.auth.credentials import Anonymous, ClientCertificate, Credentials
from steersman.kube.http.url import Url

_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"[0-9A-Za-z._:%-]{1,253}")

NOT_A_SERVER: Final = "is not the URL of a server"


class TlsSettings(msgspec.Struct, frozen=True):
    """TLS settings of a connection. Without `authority`, those of the system are trusted."""

    authority: bytes = b""
    insecure: bool = False
    #: Expected name in the server's certificate; "" for the host.
    server_name: str = ""


class Connection(msgspec.Struct, frozen=True):
    """Connection settings. `server` is a URL, maybe with a path, without a trailing slash."""

    server: str
    tls: TlsSettings = msgspec.field(default_factory=TlsSettings)
    credentials: Credentials = msgspec.field(default_factory=Anonymous)
    #: URL of an HTTP proxy; "" for none.
    proxy: str = ""
    #: Whether HTTP/2 may be used if the server offers it.
    http2: bool = True
    #: Called with the server and each new client certificate of connections.
    on_certificate: Callable[[str, ClientCertificate], None] | None = None


# -- addresses and proxies ---------------------------------------------------------------------------------------------


def fault_of_address(text: str) -> str:
    """Return why the text is not a server's URL; "" if it is one, safe for headers."""
    try:
        parts = urlsplit(text)
        if parts.scheme not in _PORTS or not parts.hostname:
            return NOT_A_SERVER
        url = Url.parse(text)
    except ValueError as cause:
        return f"{NOT_A_SERVER}: {cause}"
    return "" if _HOST.fullmatch(url.host) else NOT_A_SERVER


def environment_proxy(server: str, environment: Mapping[str, str]) -> str:
    """Return the proxy of HTTPS_PROXY or HTTP_PROXY unless NO_PROXY exempts it; "" for none.

    Loopback addresses never use a proxy.
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
    """Return whether a NO_PROXY entry (`*`, address, range or domain, maybe with port) matches."""
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


# -- TLS ---------------------------------------------------------------------------------------------------------------


def tls_context(settings: TlsSettings, certificate: ClientCertificate | None) -> ssl.SSLContext:
    """Return the TLS context with the client certificate. Raise `InputError` if invalid."""
    context = _trusting(settings)
    if settings.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        try:
            load_certificate(context, certificate)
        except (ssl.SSLError, ValueError) as cause:
            raise InputError(f"cannot be used with its key: {cause}", field="client-certificate-data") from cause
    return context


def _trusting(settings: TlsSettings) -> ssl.SSLContext:
    if not settings.authority:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=settings.authority.decode("ascii"))
    except (ssl.SSLError, ValueError) as cause:
        raise InputError(f"is not a PEM certificate: {cause}", field="certificate-authority-data") from cause


def load_certificate(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    """Load a certificate through temporary files: the ssl module reads files only."""
    with tempfile.TemporaryDirectory() as folder:
        certificate_file, key_file = Path(folder, "certificate"), Path(folder, "key")
        certificate_file.write_bytes(certificate.certificate)
        key_file.write_bytes(certificate.key)
        context.load_cert_chain(certificate_file, key_file)
