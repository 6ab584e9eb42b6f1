"""Pods in a steady state: a batch is scheduled, deleted, and created anew, until the time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from steersman import api
from steersman.perf.cluster import Cluster
from steersman.perf.operations import Stage
from steersman.perf.waiting import Tally, WorkloadError

NOTHING_SCHEDULED: Final = "no pod was scheduled; make the duration longer, or the pods fewer"


async def keep_steady(
    cluster: Cluster, objects: Sequence[Sequence[api.Object]], namespace: str, seconds: float
) -> None:
    """For so many seconds. All pods of the namespace go with each batch."""
    batches = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                await _create(cluster, objects, is_first=batches == 0)
                await Tally(cluster, namespace, {}, Stage.SCHEDULED).reached(len(objects))
                batches += 1
                for key in [key for key, pod in cluster.pods().items() if pod.metadata.namespace == namespace]:
                    await cluster.delete(api.Pod, key, grace_period_seconds=0)
                await asyncio.sleep(0)
    except TimeoutError:
        if not batches and not any(pod.spec.node_name for pod in cluster.pods().values()):
            raise WorkloadError(NOTHING_SCHEDULED) from None


async def _create(cluster: Cluster, objects: Sequence[Sequence[api.Object]], *, is_first: bool) -> None:
    """Claims and volumes outlive their pods, and are created only once."""
    for together in objects:
        for obj in together if is_first else together[-1:]:
            await cluster.create(obj)
        await asyncio.sleep(0)
