"""Operations that go on while others run: churn, slow deletions, and what happens so many times a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from itertools import count

from steersman import api
from steersman.errors import SteersmanError
from steersman.perf.cluster import Cluster
from steersman.perf.operations import Churn, ChurnMode
from steersman.perf.templates import Draft, Templates, named

DEFAULT_INTERVAL_SECONDS = 0.5


async def ticks(seconds: float) -> AsyncIterator[int]:
    """0, 1, 2, … every so many seconds, the first one after that time; a tick that comes late is not made up for."""
    loop = asyncio.get_running_loop()
    due = loop.time() + seconds
    for number in count():
        await asyncio.sleep(max(0.0, due - loop.time()))
        yield number
        due = max(due + seconds, loop.time())


async def churn(operation: Churn, namespace: str, cluster: Cluster, templates: Templates) -> None:
    """Until it is cancelled, or has created as many objects as it is to create."""
    made = [_in_namespace(templates(file).draft(), namespace) for file in operation.template_paths]
    interval = operation.interval_milliseconds / 1000 or DEFAULT_INTERVAL_SECONDS
    if operation.mode == ChurnMode.CREATE:
        await _create(made, operation.number, interval, cluster)
    else:
        await _recreate(made, operation.number, interval, cluster)


async def _create(drafts: list[Draft], number: int, interval: float, cluster: Cluster) -> None:
    async for tick in ticks(interval):
        for draft in drafts:
            await _created(draft, cluster)
        if number and tick + 1 >= number:
            return


async def _recreate(drafts: list[Draft], number: int, interval: float, cluster: Cluster) -> None:
    """So many of each, created one after the other, then deleted, then created again."""
    alive: dict[tuple[int, int], str] = {}
    async for tick in ticks(interval):
        for position, draft in enumerate(drafts):
            place = position, tick % number
            if place in alive:
                await cluster.delete(type(draft.object), alive.pop(place))
            elif key := await _created(draft, cluster):
                alive[place] = key


async def _created(draft: Draft, cluster: Cluster) -> str:
    """The key; "" when the server refuses, which is nobody's concern here, as upstream."""
    with suppress(SteersmanError):
        return await cluster.create(draft)
    return ""


async def delete_pods(keys: Iterable[str], per_second: int, cluster: Cluster) -> None:
    """All at once, or one after the other so many times a second."""
    if not per_second:
        await cluster.delete_pods(keys)
        return
    remaining = list(keys)
    async for number in ticks(1 / per_second):
        if number >= len(remaining):
            return
        await cluster.delete(api.Pod, remaining[number])


def _in_namespace(draft: Draft, namespace: str) -> Draft:
    obj = draft.object
    return Draft(named(obj, namespace=namespace), draft.document) if obj.NAMESPACED else draft
