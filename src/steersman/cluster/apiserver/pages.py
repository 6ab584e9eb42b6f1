# SPDX-License-Identifier: Apache-2.0
"""Non-resource paths: discovery, version, health, OpenAPI, and the clock of the sandbox."""

from __future__ import annotations

import gzip
import platform
from collections.abc import Callable
from typing import Final

import msgspec

from steersman.cluster.apiserver import discovery, openapi_v2
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.custom_resources import CustomResources
from steersman.cluster.apiserver.media_types import AGGREGATED_DISCOVERY, JSON, accepted, decoded, encoded
from steersman.cluster.apiserver.openapi import PREFIX, OpenApi
from steersman.cluster.apiserver.requests import ApiAnswer, ApiRequest
from steersman.cluster.apiserver.statuses import method_not_allowed, path_not_found
from steersman.cluster.store import Document

OPEN_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version")
"""Paths that need no authentication."""
CLOCK: Final = "/steersman/v1/clock"
METRICS: Final = "/metrics"
JWKS: Final = "/openid/v1/jwks"
HEALTH_CHECKS: Final = ("ping", "etcd")
PAGE_NOT_FOUND: Final = ApiAnswer(404, b"404 page not found\n", "text/plain; charset=utf-8")

ClockPage = Callable[[Document | None], Document]
"""Applies a change to the clock, if any, and returns its state."""


class Pages:
    """Handler of non-resource paths at the public `address`; `clock`, if any, can be set."""

    def __init__(
        self, catalog: Catalog, customs: CustomResources, address: str, clock: ClockPage | None = None
    ) -> None:
        self._catalog = catalog
        self._openapi = OpenApi(catalog, customs)
        self._address = address
        self._clock = clock
        self._fixed: dict[str, Callable[[], Document]] = {
            "/": self._root,
            "/version": lambda: version(catalog.release),
            "/.well-known/openid-configuration": self._openid,
            JWKS: lambda: {"keys": []},  # tokens are not signed
        }

    def answer(self, request: ApiRequest) -> ApiAnswer | None:
        """Return the response; None for resource paths."""
        path = "/" + request.path.strip("/")
        first, _, check = path[1:].partition("/")
        if f"/{first}" in OPEN_PATHS[:3] and check in ("", *HEALTH_CHECKS):
            return _health(first, check, is_verbose="verbose" in request.query)
        if path in self._fixed:
            return _page(self._fixed[path]())
        if path == CLOCK and self._clock is not None:
            return self._clock_answer(request, self._clock)
        if path == openapi_v2.PATH:
            return self._swagger_answer(request)
        if path.startswith(PREFIX):
            return self._openapi_answer(path.removeprefix(PREFIX).strip("/"))
        parts = path.strip("/").split("/")
        if parts[0] in ("api", "apis") and len(parts) <= (2 if parts[0] == "api" else 3):
            if request.method not in ("GET", "HEAD"):
                raise method_not_allowed()
            return self._discovery(request, parts)
        if parts[0] not in ("api", "apis"):
            return PAGE_NOT_FOUND
        return None

    def _root(self) -> Document:
        groups = discovery.api_group_list(self._catalog)["groups"]
        served = [version["groupVersion"] for group in groups for version in group["versions"]]
        named = [*(group["name"] for group in groups), *served]
        fixed = (*self._fixed, *OPEN_PATHS[:3], METRICS, openapi_v2.PATH, PREFIX, "/api", "/api/v1", "/apis")
        health = [f"{page}/{check}" for page in OPEN_PATHS[:3] for check in HEALTH_CHECKS]
        return {"paths": sorted({*fixed, *health, *(f"/apis/{name}" for name in named)} - {"/"})}

    def _openid(self) -> Document:
        return {
            "issuer": "https://kubernetes.default.svc",
            "jwks_uri": f"https://{self._address}{JWKS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def _discovery(self, request: ApiRequest, parts: list[str]) -> ApiAnswer:
        media = accepted(request.header("accept"), has_protobuf=True)
        if media.form == AGGREGATED_DISCOVERY and len(parts) == 1:
            document = discovery.aggregated(self._catalog, media.version, core=parts[0] == "api")
            kind = f"{media.format};g=apidiscovery.k8s.io;v={media.version};as={AGGREGATED_DISCOVERY}"
            return ApiAnswer(200, encoded(document, media), kind)
        found = self._legacy(parts)
        if found is None and len(parts) == 2 and parts[0] == "apis":
            return PAGE_NOT_FOUND
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

    def _swagger_answer(self, request: ApiRequest) -> ApiAnswer:
        is_protobuf = any(offer in request.header("accept") for offer in openapi_v2.PROTOBUF_TYPES)
        if not is_protobuf:
            accepted(request.header("accept"))
        etag, body = self._openapi.swagger(is_protobuf=is_protobuf)
        headers = {"ETag": f'"{etag}"', "Vary": "Accept"}
        if etag in request.header("if-none-match"):
            return ApiAnswer(304, b"", headers=headers)
        if "gzip" in request.header("accept-encoding"):
            body, headers["Content-Encoding"] = gzip.compress(body, 1, mtime=0), "gzip"
        return ApiAnswer(200, body, openapi_v2.PROTOBUF_TYPES[-1] if is_protobuf else JSON, headers)

    def _clock_answer(self, request: ApiRequest, clock: ClockPage) -> ApiAnswer:
        if request.method == "GET":
            return _page(clock(None))
        if request.method != "POST":
            raise method_not_allowed()
        return _page(clock(decoded(request.body, JSON)))  # any content type: `curl -d` sends a form type


def version(release: str) -> Document:
    """Return `/version`: the version of the Kubernetes API, for a release such as v1.37.1."""
    major, minor, _ = release.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{release}+steersman",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": f"linux/{'arm64' if platform.machine() == 'aarch64' else 'amd64'}",
    }


def _health(page: str, check: str, *, is_verbose: bool) -> ApiAnswer:
    body = "".join(f"[+]{name} ok\n" for name in HEALTH_CHECKS) + f"{page} check passed\n"
    return ApiAnswer(200, body.encode() if is_verbose and not check else b"ok", "text/plain; charset=utf-8")


def _page(document: Document) -> ApiAnswer:
    return ApiAnswer(200, msgspec.json.encode(document), JSON)
