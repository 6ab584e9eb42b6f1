# SPDX-License-Identifier: Apache-2.0
"""One list of everything that the scheduler watches. In comes a transport, out go the objects.

Optional API groups that the server does not have are left out and named, and so are objects that cannot be read; any other
refusal ends the reading with an error that says what was not allowed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Sequence
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
from steersman.client.informers import UNFINISHED
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


class ReadCluster(msgspec.Struct, frozen=True):
    """A cluster as the API server showed it: pods that have not ended, and everything else that scheduling looks at."""

    objects: Sequence[api.Object]
    pods: dict[str, api.Pod]
    #: Kinds that the server does not know.
    missing: tuple[type[api.Object], ...]


async def read(
    transport: Transport, timing: Timing, server: str, kinds: Iterable[type[api.Object]] = WATCHED_KINDS
) -> ReadCluster:
    """`server` is its address, for messages. LiveError when something cannot be read."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {kind: group.create_task(_list(transport, timing, server, kind)) for kind in kinds}
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    missing = tuple(kind for kind, task in tasks.items() if task.result() is None)
    others = [obj for kind, task in tasks.items() if kind is not api.Pod for obj in task.result() or ()]
    pods = {api.key(pod): pod for pod in tasks[api.Pod].result() or ()}
    return ReadCluster(others, pods, missing)


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


async def _list(transport: Transport, timing: Timing, server: str, kind: type[Any]) -> list[Any] | None:
    """The objects of a kind; None: the server does not know it."""
    source: ListWatch[Any] = ListWatch(transport, kind, timing, UNFINISHED if kind is api.Pod else "")
    try:
        listing = await granted(source.list(), server, "list", resource_name(kind))
    except ApiError as refusal:
        if refusal.is_not_found and may_be_absent(kind):
            return None
        raise LiveError(f"cannot list {resource_name(kind)}: {refusal}") from refusal
    for one in listing.unreadable:
        logger.warning("%s %s cannot be used and is left out: %s", kind.KIND, one.identity.key, one.reason)
    return listing.objects


def resource_name(kind: type[api.Object]) -> str:
    """`pods`, `resourceclaims.resource.k8s.io`: as kubectl writes it."""
    group = kind.API_VERSION.rpartition("/")[0]
    return f"{kind.PLURAL}.{group}" if group else kind.PLURAL
