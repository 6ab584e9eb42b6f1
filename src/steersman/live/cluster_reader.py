# SPDX-License-Identifier: Apache-2.0
"""One list of everything that the scheduler watches. In comes a transport, out go the objects.

Optional API groups that the server does not have are left out and named, and so are objects that cannot be read; any other
refusal ends the reading with an error that says what was not allowed.
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
from steersman.client import (
    ApiError,
    ClientError,
    ListWatch,
    Timing,
    Transport,
    decode_foreign,
    may_be_absent,
    paths,
    trouble_with,
)
from steersman.client.reflector import UNFINISHED
from steersman.errors import SteersmanError
from steersman.framework.watching import WATCHED_KINDS

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
"""What a plan needs of a cluster: also the workloads whose controllers replace pods, and what admission looks at. Pods last."""


class LiveError(SteersmanError):
    """The cluster cannot be read, or does not have what was asked for."""


class _NotAllowed(Exception):
    """A kind may not be listed that could be done without."""


class Unread(Enum):
    """Why the objects of a kind were not read."""

    MISSING = "the server does not know the kind"
    NOT_ALLOWED = "it may not be listed"


class ReadCluster(msgspec.Struct, frozen=True):
    """A cluster as the API server showed it: pods that have not ended, and everything else that scheduling looks at."""

    objects: Sequence[api.Object]
    pods: dict[str, api.Pod]
    #: Kinds that the server does not know.
    missing: tuple[type[api.Object], ...]
    #: Kinds that could be done without and that may not be listed.
    not_allowed: tuple[type[api.Object], ...] = ()


async def read(
    transport: Transport,
    timing: Timing,
    server: str,
    kinds: Iterable[type[api.Object]] = WATCHED_KINDS,
    optional: Collection[type[api.Object]] = (),
) -> ReadCluster:
    """`server` is its address, for messages. Kinds that are `optional` are done without where the server does not have them, or
    does not allow it. LiveError when another one cannot be read."""
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
        tuple(kind for kind, found in lists.items() if found is Unread.MISSING and kind not in optional),
        tuple(kind for kind, found in lists.items() if found is Unread.NOT_ALLOWED),
    )


async def read_pod(transport: Transport, server: str, namespace: str, name: str) -> api.Pod | None:
    """One pod, whatever its phase; None: there is none."""
    path = paths.item(api.Pod, name, namespace)
    try:
        answer = await granted(transport.request("GET", path), server, "get", "pods")
    except ApiError as refusal:
        if refusal.is_not_found:
            return None
        raise
    return decode_foreign(answer.body, api.Pod, f"pod {namespace}/{name}")


async def granted(request: Awaitable[T], server: str, verb: str, resource: str) -> T:
    """The answer; what stands between us and the server becomes an error for people."""
    try:
        return await request
    except ClientError as failure:
        trouble = trouble_with(server, failure)
        if trouble is None:
            raise
        raise LiveError(trouble.line(f"{verb} {resource}: {failure}")) from failure


async def _list(
    transport: Transport, timing: Timing, server: str, kind: type[Any], optional: Collection[type[api.Object]]
) -> list[Any] | Unread:
    """The objects of a kind, or why there are none."""
    source: ListWatch[Any] = ListWatch(transport, kind, timing, UNFINISHED if kind is api.Pod else "")
    try:
        listing = await granted(_allowed(source.list(), kind in optional), server, "list", resource_name(kind))
    except _NotAllowed:
        return Unread.NOT_ALLOWED
    except ApiError as refusal:
        if refusal.is_not_found and (kind in optional or may_be_absent(kind)):
            return Unread.MISSING
        raise LiveError(f"cannot list {resource_name(kind)}: {refusal}") from refusal
    for one in listing.unreadable:
        logger.warning("%s %s cannot be used and is left out: %s", kind.KIND, one.identity.key, one.reason)
    return listing.objects


async def _allowed(request: Awaitable[T], is_optional: bool) -> T:
    """The answer. Raises `_NotAllowed` where it could be done without what is forbidden."""
    try:
        return await request
    except ApiError as refusal:
        if is_optional and refusal.code == HTTPStatus.FORBIDDEN:
            raise _NotAllowed from refusal
        raise


def resource_name(kind: type[api.Object]) -> str:
    """`pods`, `resourceclaims.resource.k8s.io`: as kubectl writes it."""
    group = kind.API_VERSION.rpartition("/")[0]
    return f"{kind.PLURAL}.{group}" if group else kind.PLURAL
