# SPDX-License-Identifier: Apache-2.0
"""Discovery of the resources of one API version, and whether a server serves a kind."""

from __future__ import annotations

import msgspec

from steersman import api
from steersman.kube.client.errors import ApiError, ClientError
from steersman.kube.client.foreign_input import decode_foreign
from steersman.kube.client.requests import Request, Transport


class ApiResource(msgspec.Struct, frozen=True):
    """A resource of an API version; `name` is its plural, with a slash for a subresource."""

    name: str = ""
    kind: str = ""
    namespaced: bool = False


class ApiResourceList(msgspec.Struct, frozen=True):
    """Answer to `/apis/GROUP/VERSION`: the resources of the version."""

    resources: tuple[ApiResource, ...] = ()


def version_path(api_version: str) -> str:
    """Return the path of the resources of an API version."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


async def is_absent(transport: Transport, kind: type[api.Object], refusal: ApiError) -> bool:
    """Return whether a list of the kind was refused because the server does not serve the kind.

    A server checks rights first, and its own roles do not name kinds of newer versions: it answers
    403 for a kind that it does not know.
    """
    if not refusal.is_forbidden:
        return refusal.is_not_found
    path = version_path(kind.API_VERSION)
    try:
        answer = await transport.request(Request("GET", path))
        served = decode_foreign(answer.body, ApiResourceList, path).resources
    except ApiError as unknown:
        return unknown.is_not_found
    except ClientError:
        return False
    return all(resource.name != kind.PLURAL for resource in served)
