# SPDX-License-Identifier: Apache-2.0
"""Paths that are not about objects: discovery, version, health, OpenAPI, and the clock of the sandbox."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Final

import msgspec

from steersman.apiserver import discovery
from steersman.apiserver.catalog import Catalog
from steersman.apiserver.custom_resources import CustomResources
from steersman.apiserver.media_types import AGGREGATED_DISCOVERY, JSON, accepted, decoded, encoded
from steersman.apiserver.openapi import PREFIX, OpenApi
from steersman.apiserver.requests import ApiAnswer, ApiRequest
from steersman.apiserver.statuses import method_not_allowed, path_not_found
from steersman.embedded import Document

KUBERNETES_VERSION: Final = "v1.36.4"
OPEN_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version")
"""Anybody may ask for these."""
CLOCK: Final = "/steersman/v1/clock"

ClockPage = Callable[[Document | None], Document]
"""The state of the clock, after a change that was asked for, if any."""


class Pages:
    """Answers requests for such paths. `address` is what clients reach the server at; `clock` None: there is none to be set."""

    def __init__(
        self, catalog: Catalog, customs: CustomResources, address: str, clock: ClockPage | None = None
    ) -> None:
        self._catalog = catalog
        self._openapi = OpenApi(catalog, customs)
        self._address = address
        self._clock = clock

    def answer(self, request: ApiRequest) -> ApiAnswer | None:
        """None: the path is about objects."""
        path = "/" + request.path.strip("/")
        if path.startswith(OPEN_PATHS[:3]):
            return ApiAnswer(200, b"ok", "text/plain")
        if path == "/version":
            return _page(version())
        if path == CLOCK and self._clock is not None:
            return self._clock_answer(request, self._clock)
        if path.startswith(PREFIX):
            return self._openapi_answer(path.removeprefix(PREFIX).strip("/"))
        parts = path.strip("/").split("/")
        if parts[0] in ("api", "apis") and len(parts) <= (2 if parts[0] == "api" else 3):
            if request.method not in ("GET", "HEAD"):
                raise method_not_allowed()
            return self._discovery(request, parts)
        if parts[0] not in ("api", "apis"):
            raise path_not_found()
        return None

    def _discovery(self, request: ApiRequest, parts: list[str]) -> ApiAnswer:
        media = accepted(request.header("accept"))
        if media.form == AGGREGATED_DISCOVERY and len(parts) == 1:
            document = discovery.aggregated(self._catalog, media.version, core=parts[0] == "api")
            kind = f"{JSON};g=apidiscovery.k8s.io;v={media.version};as={AGGREGATED_DISCOVERY}"
            return ApiAnswer(200, msgspec.json.encode(document), kind)
        found = self._legacy(parts)
        if found is None:
            raise path_not_found()
        return ApiAnswer(200, encoded(found, media), media.format)

    def _legacy(self, parts: list[str]) -> Document | None:
        if parts == ["api"]:
            return discovery.api_versions(self._address)
        if parts == ["apis"]:
            return discovery.api_group_list(self._catalog)
        if parts[0] == "api":
            return discovery.api_resource_list(self._catalog, parts[1])
        if len(parts) == 2:
            return discovery.api_group(self._catalog, parts[1])
        return discovery.api_resource_list(self._catalog, f"{parts[1]}/{parts[2]}")

    def _openapi_answer(self, path: str) -> ApiAnswer:
        if not path:
            return _page(self._openapi.index())
        found = self._openapi.document(path)
        if found is None:
            raise path_not_found()
        return ApiAnswer(200, found, JSON)

    def _clock_answer(self, request: ApiRequest, clock: ClockPage) -> ApiAnswer:
        if request.method == "GET":
            return _page(clock(None))
        if request.method != "POST":
            raise method_not_allowed()
        return _page(clock(decoded(request.body, JSON)))  # whatever its type: `curl -d` calls it a form


def version() -> Document:
    """`/version`: that of the Kubernetes whose API this is."""
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{KUBERNETES_VERSION}+steersman",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": f"linux/{'arm64' if platform.machine() == 'aarch64' else 'amd64'}",
    }


def _page(document: Document) -> ApiAnswer:
    return ApiAnswer(200, msgspec.json.encode(document), JSON)
