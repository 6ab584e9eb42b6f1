# SPDX-License-Identifier: Apache-2.0
"""Operations that are spread over time: churn, slow deletions, pods in a steady state.

`workload_executor` awaits them, or lets them go on in the background while other operations run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from itertools import count
from typing import Final

from steersman import api
from steersman.errors import SteersmanError
from steersman.perf.host import BenchCluster, WorkloadError
from steersman.perf.operations import Churn, ChurnMode, PodStage
from steersman.perf.pod_barrier import PodBarrier
from steersman.perf.templates import Draft, Templates, named

DEFAULT_INTERVAL_SECONDS: Final = 0.5
NOTHING_SCHEDULED: Final = "no pod was scheduled; make the duration longer, or the pods fewer"


async def ticks(seconds: float) -> AsyncIterator[int]:
    """0, 1, 2, … every so many seconds, the first one after that time; a tick that comes late is not made up for."""
    loop = asyncio.get_running_loop()
    due = loop.time() + seconds
    for number in count():
        await asyncio.sleep(max(0.0, due - loop.time()))
        yield number
        due = max(due + seconds, loop.time())


async def churn(operation: Churn, namespace: str, cluster: BenchCluster, templates: Templates) -> None:
    """Creates objects, or creates and deletes them, until it is cancelled or has created as many as it is to create."""
    made = [_in_namespace(templates(file).draft(), namespace) for file in operation.template_paths]
    interval = operation.interval_milliseconds / 1000 or DEFAULT_INTERVAL_SECONDS
    if operation.mode == ChurnMode.CREATE:
        await _create(made, operation.number, interval, cluster)
    else:
        await _recreate(made, operation.number, interval, cluster)


async def _create(drafts: list[Draft], number: int, interval: float, cluster: BenchCluster) -> None:
    async for tick in ticks(interval):
        for draft in drafts:
            await _created(draft, cluster)
        if number and tick + 1 >= number:
            return


async def _recreate(drafts: list[Draft], number: int, interval: float, cluster: BenchCluster) -> None:
    """Creates so many of each draft, one after the other, then deletes them, then creates them again."""
    alive: dict[tuple[int, int], str] = {}
    async for tick in ticks(interval):
        for position, draft in enumerate(drafts):
            place = position, tick % number
            if place in alive:
                await cluster.delete(type(draft.object), alive.pop(place))
            elif key := await _created(draft, cluster):
                alive[place] = key


async def _created(draft: Draft, cluster: BenchCluster) -> str:
    """The key of the created object; "" when the server refuses, which is nobody's concern here, as upstream."""
    with suppress(SteersmanError):
        return await cluster.create(draft)
    return ""


async def delete_pods(keys: Iterable[str], per_second: int, cluster: BenchCluster) -> None:
    """Deletes pods all at once, or one after the other so many times a second."""
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


async def keep_steady(cluster: BenchCluster, drafts: Sequence[Sequence[Draft]], namespace: str, seconds: float) -> None:
    """Creates a batch of pods, waits until it is scheduled, deletes it and begins anew, for so many seconds.

    All pods of the namespace go with each batch.
    """
    batches = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                # Claims and volumes outlive their pods, and are created only once.
                await cluster.create_all(drafts if batches == 0 else [group[-1:] for group in drafts])
                await PodBarrier(cluster, namespace, {}, PodStage.SCHEDULED).reached(len(drafts))
                batches += 1
                doomed = [key for key, pod in cluster.pods().items() if pod.metadata.namespace == namespace]
                await cluster.delete_pods(doomed, grace_period_seconds=0)
                await asyncio.sleep(0)
    except TimeoutError:
        if not batches and not any(pod.spec.node_name for pod in cluster.pods().values()):
            raise WorkloadError(NOTHING_SCHEDULED) from None
