# SPDX-License-Identifier: Apache-2.0
"""A host on which single operations are carried out, to see what they leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from steersman import api
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.host import HostTasks
from steersman.testing.bench.embedded_host import EmbeddedCluster, embedded_host
from steersman.testing.bench.host import Host
from steersman.testing.bench.operations import CreateNodes, Operation
from steersman.testing.bench.templates import Templates
from steersman.testing.bench.workload_executor import WorkloadExecutor

WAIT_TIMEOUT_SECONDS = 60


class Stage:
    """A host, and a run on it."""

    def __init__(self, host: Host, run: WorkloadExecutor) -> None:
        self.host = host
        assert isinstance(host.cluster, EmbeddedCluster)
        self.cluster = host.cluster
        self.store = host.cluster.store
        self.run = run
        self._place = 0

    async def do(self, *operations: Operation) -> None:
        for operation in operations:
            await self.run.step(self._place, operation)
            self._place += 1

    def pods(self, namespace: str | None = None) -> list[api.Pod]:
        found = self.cluster.pods().values()
        return [pod for pod in found if namespace is None or pod.metadata.namespace == namespace]

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Returns when the condition holds, which is looked at after every change of a pod and every few milliseconds."""
        while not is_so():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def stage(nodes: int = 3) -> AsyncIterator[Stage]:
    async with embedded_host(SchedulerOptions(), seed=0) as host, asyncio.TaskGroup() as group:
        tasks = HostTasks(group)
        made = Stage(host, WorkloadExecutor(host, tasks, Templates()))
        try:
            await made.do(CreateNodes(opcode="createNodes", count=nodes))
            yield made
        finally:
            tasks.cancel()


def play(act: Callable[[Stage], Coroutine[Any, Any, None]], nodes: int = 3) -> None:
    """Runs an act on a stage of its own."""

    async def all_of_it() -> None:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS), stage(nodes) as made:
            await act(made)

    asyncio.run(all_of_it())
