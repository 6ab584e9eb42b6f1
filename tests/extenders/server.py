# SPDX-License-Identifier: Apache-2.0
"""A real HTTP server that plays an extender, and a scheduler that is configured to ask it."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from steersman import api, config
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.cluster.store import Pods, StatusError, Store, feed
from steersman.config import SchedulerConfiguration
from steersman.framework import Failure
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status, error
from steersman.kube.client import RawObjects, WriteFence, http_extenders
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.testing import NodeBuilder, PodBuilder, make_node

Json = Any
Answer = Callable[[Json], Json]


class Requests(list[tuple[str, Json]]):
    """What the server was asked: verb and body."""

    def of(self, verb: str) -> list[Json]:
        return [body for asked, body in self if asked == verb]


@asynccontextmanager
async def serve(
    requests: Requests | None = None, tls: ssl.SSLContext | None = None, **verbs: Answer
) -> AsyncIterator[str]:
    """Answers each verb with what its function makes of the request; the address."""

    async def handle(request: web.Request) -> web.StreamResponse:
        verb = request.match_info["verb"]
        body = json.loads(await request.text())
        if requests is not None:
            requests.append((verb, body))
        answer = verbs[verb](body)
        if asyncio.iscoroutine(answer):
            answer = await answer
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)

    app = web.Application()
    app.router.add_post("/{verb}", handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def configured(*extenders: config.Extender, percentage: int | None = None) -> SchedulerConfiguration:
    return msgspec.structs.replace(
        config.default_configuration(), extenders=extenders, percentage_of_nodes_to_score=percentage
    )


class Writer:
    """Writes to the embedded cluster at once."""

    binds_at_once = True

    def __init__(self, store: Store) -> None:
        self._pods = Pods(store)
        self.failures: list[Failure] = []

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        meta = pod.pod.metadata
        try:
            self._pods.bind(meta.namespace, meta.name, meta.uid, node_name)
        except StatusError as refusal:
            return error(refusal.message)
        return None

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return self.bind_nowait(pod, node_name)

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        self._pods.patch_status(api.key(pod), condition=condition, nominated_node_name=nominated_node_name)
        return True

    async def delete_pod(self, pod: api.Pod) -> bool:
        self._pods.delete(api.key(pod), grace_period_seconds=0)
        return True

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return volume

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return claim

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        return change(claim)

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return claim

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        """There are no devices here."""

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        """There are no devices here."""

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        """Nobody reads events here."""

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        """Nobody reads events here."""

    def report_failure(self, failure: Failure) -> None:
        self.failures.append(failure)
        nominated = None if failure.nomination is None else failure.nomination.node
        self._pods.patch_status(api.key(failure.pod), nominated_node_name=nominated)

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        """The binding was seen already."""

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        """No group is scheduled."""


class World:
    """A cluster of some nodes, and its scheduler."""

    def __init__(self, configuration: SchedulerConfiguration, stack: AsyncExitStack) -> None:
        self._configuration = configuration
        self._stack = stack
        self.clock = ManualClock()
        self.fence = WriteFence.open(self.clock)
        self.store = Store(self.clock)
        self.writer = Writer(self.store)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, *nodes: str | NodeBuilder, seed: int = 0, scalar: bool = False) -> None:
        extenders = await self._stack.enter_async_context(http_extenders(self._configuration, RawObjects(), self.fence))
        self._group = await self._stack.enter_async_context(asyncio.TaskGroup())
        options = SchedulerOptions(configuration=self._configuration, extenders=extenders, scalar=scalar)
        self.scheduler = Scheduler(self.clock, SeededRng(seed), self.writer, self._spawn, options)
        feed(self.store, self.scheduler.ingest)
        for node in nodes:
            built = make_node(node).capacity(cpu="4", memory="8Gi", pods=10) if isinstance(node, str) else node
            self.store.create(built.obj())

    def add(self, pod: PodBuilder) -> None:
        self.store.create(pod.obj())

    async def place(self, pod: PodBuilder) -> str:
        """The node that the pod gets, "" if none."""
        self.add(pod)
        await self.run()
        return self.node_of(pod.obj().metadata.name)

    async def run(self) -> None:
        while await self.scheduler.schedule_one_async() is not None:
            await self.tasks()
        self.scheduler.cache.validate_state()
        self.scheduler.queue.validate_state()

    async def tasks(self) -> None:
        """Lets binding cycles and preemptions come to their end."""
        while self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def node_of(self, name: str) -> str:
        return self.store.get(api.Pod, f"default/{name}").spec.node_name

    @property
    def message(self) -> str:
        return self.writer.failures[-1].message


@asynccontextmanager
async def world(
    *extenders: config.Extender,
    nodes: tuple[str | NodeBuilder, ...] = ("n1", "n2", "n3"),
    percentage: int | None = None,
    **options: Any,
) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        made = World(configured(*extenders, percentage=percentage), stack)
        await made.start(*nodes, **options)
        yield made
