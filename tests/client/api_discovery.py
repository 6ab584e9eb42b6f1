# SPDX-License-Identifier: Apache-2.0
"""What the API server of the tests says of itself: its version, the kinds that it serves, and who may do what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from steersman import api

_AUTHORIZATION = "/apis/authorization.k8s.io/v1"


@dataclass
class Discovery:
    """Everybody may do everything, unless a right is in `refused`: "list pods", "patch pods/status"."""

    kinds: Iterable[type[api.Object]]
    #: Kinds that are left out; shared with the server's faults.
    missing: set[type[api.Object]]
    version: str = "v1.37.1"
    refused: set[str] = field(default_factory=set)
    #: Specs of all reviews of rights.
    reviews: list[dict[str, Any]] = field(default_factory=list)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/version", self._version),
            web.get("/api/{version}", self._resources),
            web.get("/apis/{group}/{version}", self._resources),
            web.post(f"{_AUTHORIZATION}/selfsubjectaccessreviews", self._review),
            web.post(f"{_AUTHORIZATION}/subjectaccessreviews", self._review),
        ]

    async def _version(self, request: web.Request) -> web.Response:
        return web.json_response({"major": "1", "minor": "37", "gitVersion": self.version})

    async def _resources(self, request: web.Request) -> web.Response:
        version = "/".join(filter(None, (request.match_info.get("group"), request.match_info["version"])))
        served = [kind for kind in self.kinds if version == kind.API_VERSION and kind not in self.missing]
        if not served:
            return web.Response(text="404 page not found", status=404)
        resources = [{"name": kind.PLURAL, "kind": kind.KIND, "namespaced": kind.NAMESPACED} for kind in served]
        return web.json_response({"kind": "APIResourceList", "groupVersion": version, "resources": resources})

    async def _review(self, request: web.Request) -> web.Response:
        document = await request.json()
        spec = document["spec"]
        self.reviews.append(spec)
        asked = spec["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked["subresource"])))
        allowed = f"{asked['verb']} {resource}" not in self.refused
        return web.json_response({**document, "status": {"allowed": allowed}}, status=201)
