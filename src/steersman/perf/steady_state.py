"""Pods in a steady state: a batch is scheduled, deleted, and created anew, until the time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from steersman.perf.cluster import Cluster
from steersman.perf.operations import Stage
from steersman.perf.templates import Draft
from steersman.perf.waiting import Tally, WorkloadError

NOTHING_SCHEDULED: Final = "no pod was scheduled; make the duration longer, or the pods fewer"


async def keep_steady(cluster: Cluster, drafts: Sequence[Sequence[Draft]], namespace: str, seconds: float) -> None:
    """For so many seconds. All pods of the namespace go with each batch."""
    batches = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                # Claims and volumes outlive their pods, and are created only once.
                await cluster.create_all(drafts if batches == 0 else [group[-1:] for group in drafts])
                await Tally(cluster, namespace, {}, Stage.SCHEDULED).reached(len(drafts))
                batches += 1
                doomed = [key for key, pod in cluster.pods().items() if pod.metadata.namespace == namespace]
                await cluster.delete_pods(doomed, grace_period_seconds=0)
                await asyncio.sleep(0)
    except TimeoutError:
        if not batches and not any(pod.spec.node_name for pod in cluster.pods().values()):
            raise WorkloadError(NOTHING_SCHEDULED) from None
