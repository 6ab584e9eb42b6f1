# SPDX-License-Identifier: Apache-2.0
"""Pool of keep-alive connections to an API server, used by one thread at a time."""

from __future__ import annotations

import http.client
import queue
import select
import ssl
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

import msgspec

from steersman.base import SteersmanError
from steersman.testing.control_plane.credentials import Identity


class ServerRefusal(SteersmanError):
    """Error: a response outside 2xx."""

    def __init__(self, method: str, path: str, code: int, status: dict[str, Any]) -> None:
        self.code = code
        #: Reason of the Status object, such as `AlreadyExists`; "" without a Status.
        self.reason = str(status.get("reason", ""))
        self.status = status
        super().__init__(f"{method} {path}: {code} {self.reason}: {status.get('message', '')}")


# -- connections -------------------------------------------------------------------------------------------------------


TIMEOUT_SECONDS: Final = 60.0


class Connections:
    """Connection pool that grows on demand; failed connections are not reused."""

    def __init__(self, url: str, context: ssl.SSLContext) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port
        self._context = context
        self._idle: queue.LifoQueue[http.client.HTTPSConnection] = queue.LifoQueue()

    @contextmanager
    def borrow(self) -> Iterator[http.client.HTTPSConnection]:
        connection = self._take()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle.put(connection)

    def close(self) -> None:
        while not self._idle.empty():
            self._idle.get().close()

    def new(self, timeout: float = TIMEOUT_SECONDS) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._host, self._port, context=self._context, timeout=timeout)

    def _take(self) -> http.client.HTTPSConnection:
        while not self._idle.empty():
            connection = self._idle.get()
            if not _stale(connection):
                return connection
            connection.close()
        return self.new()


def _stale(connection: http.client.HTTPSConnection) -> bool:
    """Return whether the server has closed the idle connection, which makes it readable."""
    if connection.sock is None:
        return True
    return bool(select.select([connection.sock], [], [], 0)[0])


def tls_context(ca: bytes, identity: Identity) -> ssl.SSLContext:
    """Return a context that trusts only this authority and uses this client certificate."""
    context = ssl.create_default_context(cadata=ca.decode())
    # Strict checks require key identifiers, which these certificates lack.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    with tempfile.TemporaryDirectory() as folder:
        context.load_cert_chain(*identity.write(Path(folder), "client"))
    return context


# -- discovery ---------------------------------------------------------------------------------------------------------


#: Requests the documents of all groups at once.
ACCEPT: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class DiscoveredResource(msgspec.Struct, frozen=True):
    """A discovered kind."""

    api_version: str
    plural: str
    namespaced: bool

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        root = "/apis/" if "/" in self.api_version else "/api/"
        inside = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        rest = "".join(f"/{part}" for part in (self.plural, name, subresource) if part)
        return f"{root}{self.api_version}{inside}{rest}"


class Resources:
    """All kinds of a server, as `Kind`, `group/Kind` and `group/version/Kind`."""

    def __init__(self, by_name: dict[str, DiscoveredResource]) -> None:
        self._by_name = by_name

    @classmethod
    def read(cls, documents: Iterable[dict[str, Any]]) -> Self:
        """Read the documents. The first group and version of a bare kind wins; core is first."""
        by_name: dict[str, DiscoveredResource] = {}
        for document in documents:
            for group in document["items"]:
                for version in group["versions"]:
                    _add_version(by_name, group["metadata"].get("name", ""), version)
        return cls(by_name)

    def find(self, kind: str) -> DiscoveredResource:
        if kind not in self._by_name:
            raise SteersmanError(f"the API server has no kind {kind!r}; write Kind, group/Kind or group/version/Kind")
        return self._by_name[kind]

    def __contains__(self, kind: str) -> bool:
        return kind in self._by_name

    def resource_of(self, obj: dict[str, Any]) -> DiscoveredResource:
        return self.find(f"{obj['apiVersion']}/{obj['kind']}")


def _add_version(by_name: dict[str, DiscoveredResource], group: str, version: dict[str, Any]) -> None:
    api_version = f"{group}/{version['version']}" if group else version["version"]
    for entry in version["resources"]:
        kind = entry["responseKind"]["kind"]
        resource = DiscoveredResource(api_version, entry["resource"], entry["scope"] == "Namespaced")
        for name in (kind, f"{group}/{kind}", f"{api_version}/{kind}"):
            by_name.setdefault(name, resource)
