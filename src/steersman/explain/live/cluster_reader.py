# SPDX-License-Identifier: Apache-2.0
"""Lists all objects that the scheduler watches. The input is a transport, the output the objects.

Optional API groups that the server does not know and objects that cannot be decoded are left out
and reported; any other refusal raises a `LiveError` that says what was not permitted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Iterable, Sequence
from enum import Enum
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.base import SteersmanError, Timing
from steersman.explain.fixes import ObjectName
from steersman.framework import WATCHED_KINDS, resource_text
from steersman.kube.client import (
    UNFINISHED,
    ApiError,
    ClientError,
    ListWatch,
    Request,
    Transport,
    decode_foreign,
    may_be_absent,
    paths,
    server_problem,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")

PLANNED_KINDS: Final[tuple[type[api.Object], ...]] = (
    *WATCHED_KINDS[:-1],
    api.Deployment,
    api.DaemonSet,
    api.Job,
    api.CronJob,
    api.PriorityClass,
    api.RuntimeClass,
    api.LimitRange,
    api.ResourceQuota,
    api.ResourceClaimTemplate,
    WATCHED_KINDS[-1],
)
"""Kinds that a plan reads: those of a scheduler, workloads that recreate pods, and inputs of
admission. Pods come last."""


class LiveError(SteersmanError):
    """The cluster cannot be read."""


class _NotAllowed(Exception):
    """An optional kind may not be listed."""


class UnreadReason(Enum):
    """Why the objects of a kind were not read."""

    MISSING = "the server does not know the kind"
    NOT_ALLOWED = "it may not be listed"


class ReadCluster(msgspec.Struct, frozen=True):
    """Objects of a cluster: unfinished pods, and everything else that affects scheduling."""

    objects: Sequence[api.Object]
    pods: dict[str, api.Pod]
    #: Kinds that the server does not know.
    missing: tuple[type[api.Object], ...]
    #: Optional kinds that may not be listed.
    not_allowed: tuple[type[api.Object], ...] = ()


async def read(
    transport: Transport,
    timing: Timing,
    server: str,
    kinds: Iterable[type[api.Object]] = WATCHED_KINDS,
    optional: Collection[type[api.Object]] = (),
) -> ReadCluster:
    """Read all objects of the kinds; `server` is the address for messages.

    `optional` kinds are left out if the server does not know them or does not permit to list them.
    Raises `LiveError` if another kind cannot be read.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {kind: group.create_task(_list(transport, timing, server, kind, optional)) for kind in kinds}
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    lists = {kind: task.result() for kind, task in tasks.items()}
    others = [obj for kind, found in lists.items() if kind is not api.Pod and isinstance(found, list) for obj in found]
    pods = lists[api.Pod]
    return ReadCluster(
        others,
        {api.key(pod): pod for pod in pods} if isinstance(pods, list) else {},
        tuple(kind for kind, found in lists.items() if found is UnreadReason.MISSING and kind not in optional),
        tuple(kind for kind, found in lists.items() if found is UnreadReason.NOT_ALLOWED),
    )


async def read_pod(transport: Transport, server: str, namespace: str, name: str) -> api.Pod | None:
    """Read one pod in any phase; None if there is none."""
    path = paths.item(api.Pod, name, namespace)
    try:
        answer = await granted(transport.request(Request("GET", path)), server, "get", "pods")
    except ApiError as refusal:
        if refusal.is_not_found:
            return None
        raise
    return decode_foreign(answer.body, api.Pod, f"pod {namespace}/{name}")


async def granted(request: Awaitable[T], server: str, verb: str, resource: str) -> T:
    """Await the answer; network and TLS errors become a `LiveError` with advice."""
    try:
        return await request
    except ClientError as failure:
        trouble = server_problem(server, failure)
        if trouble is None:
            raise
        raise LiveError(trouble.line(f"{verb} {resource}: {failure}")) from failure


async def _list(
    transport: Transport, timing: Timing, server: str, kind: type[Any], optional: Collection[type[api.Object]]
) -> list[Any] | UnreadReason:
    """Return the objects of a kind, or why it was not read."""
    source: ListWatch[Any] = ListWatch(transport, kind, timing, UNFINISHED if kind is api.Pod else "")
    try:
        listing = await granted(_allowed(source.list(), kind in optional), server, "list", resource_text(kind))
    except _NotAllowed:
        return UnreadReason.NOT_ALLOWED
    except ApiError as refusal:
        if refusal.is_not_found and (kind in optional or may_be_absent(kind)):
            return UnreadReason.MISSING
        raise LiveError(f"cannot list {resource_text(kind)}: {refusal}") from refusal
    for one in listing.unreadable:
        logger.warning("%s %s cannot be used and is left out: %s", kind.KIND, one.identity.key, one.reason)
    return listing.objects


async def _allowed(request: Awaitable[T], is_optional: bool) -> T:
    """Await the answer. Raises `_NotAllowed` if an optional kind is forbidden."""
    try:
        return await request
    except ApiError as refusal:
        if is_optional and refusal.code == HTTPStatus.FORBIDDEN:
            raise _NotAllowed from refusal
        raise


# -- single objects ----------------------------------------------------------------------------------------------------


UNREADABLE: Final = "the API server's answer about {} {} cannot be read: {}"

Document = dict[str, Any]


async def served_documents(
    transport: Transport, server: str, names: Collection[ObjectName]
) -> dict[ObjectName, Document]:
    """Return the objects as the API server has them, without deleted ones. Raises `LiveError` if
    one cannot be read."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(_served(transport, server, name)) for name in names}
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    found = {name: task.result() for name, task in tasks.items()}
    return {name: document for name, document in found.items() if document is not None}


async def _served(transport: Transport, server: str, name: ObjectName) -> Document | None:
    kind: type[api.Object] = api.KINDS[name.kind]
    path = paths.collection(kind, name.namespace)
    query = {"fieldSelector": f"metadata.name={name.name}"}
    try:
        answer = await granted(transport.request(Request("GET", path, query)), server, "list", resource_text(kind))
    except ApiError as refusal:
        raise LiveError(f"cannot list {resource_text(kind)}: {refusal}") from refusal
    try:
        items = msgspec.json.decode(answer.body)["items"] or []
    except (msgspec.DecodeError, LookupError, TypeError) as wrong:
        raise LiveError(UNREADABLE.format(name.kind, name.name, wrong)) from wrong
    return {"apiVersion": kind.API_VERSION, "kind": kind.KIND, **items[0]} if items else None
