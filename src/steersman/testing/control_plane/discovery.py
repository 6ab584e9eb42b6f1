# SPDX-License-Identifier: Apache-2.0
"""API paths of kinds, from a server's aggregated discovery documents. Used by `client`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Self

import msgspec

from steersman.base import SteersmanError

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

    def __contains__(self, kind: str) -> bool:
        return kind in self._by_name

    def find(self, kind: str) -> DiscoveredResource:
        if kind not in self._by_name:
            raise SteersmanError(f"the API server has no kind {kind!r}; write Kind, group/Kind or group/version/Kind")
        return self._by_name[kind]

    def resource_of(self, obj: dict[str, Any]) -> DiscoveredResource:
        return self.find(f"{obj['apiVersion']}/{obj['kind']}")


def _add_version(by_name: dict[str, DiscoveredResource], group: str, version: dict[str, Any]) -> None:
    api_version = f"{group}/{version['version']}" if group else version["version"]
    for entry in version["resources"]:
        kind = entry["responseKind"]["kind"]
        resource = DiscoveredResource(api_version, entry["resource"], entry["scope"] == "Namespaced")
        for name in (kind, f"{group}/{kind}", f"{api_version}/{kind}"):
            by_name.setdefault(name, resource)
