# SPDX-License-Identifier: Apache-2.0
"""Read-only client of plugins on an API server: `framework.reading.ApiReader` by GET requests only.

Requests share the transport and rate limit of bindings, and are retried when the server is
overloaded. Discovery maps a kind's name to its plural and scope.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import InputError, Timing
from steersman.framework import ApiReadError, check_place, resource_text
from steersman.kube.client import paths
from steersman.kube.client.discovery import ApiResource, ApiResourceList, version_path
from steersman.kube.client.errors import ApiError, ClientError
from steersman.kube.client.foreign_input import decode_foreign
from steersman.kube.client.invalid_objects import Unreadable
from steersman.kube.client.list_watch import LIST_SECONDS, PAGE, pages
from steersman.kube.client.pacing import RetryPolicy, retrying
from steersman.kube.client.requests import NO_QUERY, Query, Request, Response, Transport

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)
AnswerT = TypeVar("AnswerT")

SINGLE_REQUEST: Final = RetryPolicy()
LIST_REQUEST: Final = RetryPolicy(deadline=LIST_SECONDS, attempt_seconds=LIST_SECONDS)
UNKNOWN: Final = "the API server does not serve {}"
NO_RIGHT: Final = "a role has to grant it to the scheduler"
LEFT_OUT: Final = "%s %s cannot be used and is left out of what a plugin reads: %s"
_FORBIDDEN, _NOT_FOUND = 403, 404


class ApiServerReader:
    """Reads for a scheduler's plugins. Discovery is cached, and repeated when a kind is missing."""

    def __init__(self, transport: Transport, timing: Timing) -> None:
        self._transport = transport
        self._timing = timing
        self._served: dict[str, tuple[ApiResource, ...]] = {}

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        body = await self._body(kind, name, namespace)
        if body is None:
            return None
        try:
            return codec.decode(body, kind)
        except InputError as cause:
            raise ApiReadError(f"{kind.KIND} {name} cannot be read: {cause}") from cause

    async def list(
        self, kind: type[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[T]:
        raws = await self._raws(kind, namespace, label_selector, field_selector)
        return [obj for raw in raws if (obj := _readable(raw, kind)) is not None]

    async def get_document(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        found = await self._kind(api_version, kind)
        body = await self._body(found, name, namespace)
        return None if body is None else _document(body, found)

    async def list_documents(
        self, api_version: str, kind: str, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[dict[str, Any]]:
        found = await self._kind(api_version, kind)
        raws = await self._raws(found, namespace, label_selector, field_selector)
        return [_document(raw, found) for raw in raws]

    # -- requests ----------------------------------------------------------------------------------------------------

    async def _body(self, kind: type[api.Object], name: str, namespace: str) -> bytes | None:
        """Return the object's body; None if it does not exist."""
        check_place(kind, namespace, name)
        return await _with_context(f"get {resource_text(kind)}", self._found(paths.item(kind, name, namespace)))

    async def _found(self, path: str) -> bytes | None:
        try:
            return (await self._ask(path)).body
        except ApiError as refusal:
            # A 404 of an unknown kind has no reason.
            if refusal.is_not_found and refusal.reason:
                return None
            raise

    async def _raws(self, kind: type[api.Object], namespace: str, labels: str, fields: str) -> Sequence[msgspec.Raw]:
        check_place(kind, namespace)
        path = paths.collection(kind, namespace)
        selectors = {"labelSelector": labels, "fieldSelector": fields}
        query = {name: text for name, text in selectors.items() if text}
        return await _with_context(f"list {resource_text(kind)}", self._all_pages(path, query))

    async def _all_pages(self, path: str, query: dict[str, str]) -> Sequence[msgspec.Raw]:
        """Return the items of all pages; lists again without pages if the continuation expires."""
        try:
            return await self._pages(path, {**query, "limit": str(PAGE)})
        except ApiError as refusal:
            if not refusal.is_expired:
                raise
            return await self._pages(path, query)

    async def _pages(self, path: str, query: dict[str, str]) -> Sequence[msgspec.Raw]:
        found: list[msgspec.Raw] = []
        async with aclosing(pages(self._ask_for_list, path, query)) as listed:
            async for page in listed:
                found += page.items or ()
        return found

    async def _ask(self, path: str, query: Query = NO_QUERY, policy: RetryPolicy = SINGLE_REQUEST) -> Response:
        def attempt(seconds: float) -> Awaitable[Response]:
            return self._transport.request(Request("GET", path, query, timeout=seconds))

        return await retrying(attempt, self._timing, policy, idempotent=True)

    async def _ask_for_list(self, path: str, query: Query) -> Response:
        return await self._ask(path, query, LIST_REQUEST)

    # -- discovery ---------------------------------------------------------------------------------------------------

    async def _kind(self, api_version: str, name: str) -> type[api.Object]:
        """Return the served kind with this kind or plural."""
        found = _named(self._served.get(api_version, ()), name)
        if found is None:
            self._served[api_version] = await self._resources(api_version)
            found = _named(self._served[api_version], name)
        if found is None:
            raise ApiReadError(UNKNOWN.format(f"{name} of {api_version}"), _NOT_FOUND)
        return api.custom_kind(api_version, found.kind, found.name, namespaced=found.namespaced)

    async def _resources(self, api_version: str) -> tuple[ApiResource, ...]:
        path = version_path(api_version)
        answer = await _with_context(f"discover {api_version}", self._ask(path))
        try:
            return decode_foreign(answer.body, ApiResourceList, path).resources
        except ClientError as cause:
            raise ApiReadError(str(cause)) from cause


def _named(resources: Sequence[ApiResource], name: str) -> ApiResource | None:
    main = (resource for resource in resources if "/" not in resource.name)
    return next((resource for resource in main if name in (resource.kind, resource.name)), None)


def _readable(raw: msgspec.Raw, kind: type[T]) -> T | None:
    try:
        return codec.decode(raw, kind)
    except InputError as cause:
        one = Unreadable.from_text(raw, kind, str(cause))
        logger.warning(LEFT_OUT, kind.KIND, one.identity.key, one.reason)
        return None


def _document(text: bytes | msgspec.Raw, kind: type[api.Object]) -> dict[str, Any]:
    """Return the object with `apiVersion` and `kind`, which list items lack."""
    try:
        content = codec.convert(codec.plain(text), dict[str, Any])
    except InputError as cause:
        raise ApiReadError(f"{kind.KIND} cannot be read: {cause}") from cause
    return {**content, "apiVersion": kind.API_VERSION, "kind": kind.KIND}


async def _with_context(what: str, request: Awaitable[AnswerT]) -> AnswerT:
    """Await the request and convert its failure to an error that names the operation."""
    try:
        return await request
    except ClientError as failure:
        raise _read_error(what, failure) from failure


def _read_error(what: str, failure: ClientError) -> ApiReadError:
    code = failure.code if isinstance(failure, ApiError) else 0
    if code == _NOT_FOUND:
        return ApiReadError(UNKNOWN.format(what.partition(" ")[2]), code)
    advice = f"; {NO_RIGHT}" if code == _FORBIDDEN else ""
    return ApiReadError(f"{what}: {failure}{advice}", code)
