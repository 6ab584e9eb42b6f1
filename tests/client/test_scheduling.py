# SPDX-License-Identifier: Apache-2.0
"""A whole scheduler on the API server of the tests, while things go wrong."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.client.api_server import ApiServer
from tests.client.dispatching import INSISTENT, events, stored
from tests.client.following import IMPATIENT, running, until
from tests.client.serving import run

from steersman import api
from steersman.base.clock import RealClock
from steersman.base.rng import SeededRng
from steersman.cluster.store import EventType
from steersman.kube.client import Connection, Dispatcher, EventRecorder, Informers, http_transport
from steersman.scheduler.assembly import Scheduler
from steersman.testing import make_node, make_pod

PODS = 60


def test_pods_are_bound_and_the_others_are_told_why_not() -> None:
    async def scenario() -> None:
        server = _cluster()
        server.store.create(make_pod("small").req(cpu="1").obj())
        server.store.create(make_pod("large").req(cpu="1000").obj())
        async with scheduling(server):
            await until(lambda: stored(server, "small").spec.node_name and stored(server, "large").status.conditions)
            await until(lambda: len(events(server)) == 2)
        (condition,) = stored(server, "large").status.conditions
        assert (condition.status, condition.reason) == ("False", "Unschedulable")
        assert condition.message.startswith("0/3 nodes are available: 3 Insufficient cpu.")
        assert {event.reason for event in events(server)} == {"Scheduled", "FailedScheduling"}

    run(scenario())


def test_every_pod_is_bound_once_through_all_faults() -> None:
    async def scenario() -> None:
        server = _cluster()
        bindings = _count_bindings(server)
        async with scheduling(server) as scheduler:
            for index in range(PODS):
                server.store.create(make_pod(f"p{index}").req(cpu="100m").obj())
                await _trouble(server, index)
            await until(lambda: len(bindings) == PODS)
            await until(lambda: all(pod.spec.node_name for pod in scheduler.pods.values()))
            assert set(scheduler.pods) == set(server.store.objects(api.Pod))
            scheduler.cache.validate_state()
        assert set(bindings.values()) == {1}

    run(scenario())


async def _trouble(server: ApiServer, index: int) -> None:
    """Some pods come in peace, others with a storm of errors, a lost answer or a cut watch."""
    if index % 10 == 3:
        server.faults.refuse(429, times=3, method="POST", part_of_path="binding", retry_after=1)
        server.faults.refuse(500, times=2, method="POST", part_of_path="binding")
    if index % 10 == 5:
        server.faults.lose_answers += 2
    if index % 10 == 7:
        server.faults.cut_watches()
        server.faults.refuse(410, part_of_path="watch=true", reason="Expired")
        await asyncio.sleep(0.01)


@asynccontextmanager
async def scheduling(server: ApiServer) -> AsyncIterator[Scheduler]:
    """A scheduler that follows the server and schedules as soon as it knows everything."""
    async with (
        server.serving() as address,
        http_transport(Connection(address)) as transport,
        asyncio.TaskGroup() as bindings,
    ):
        recorder = EventRecorder(transport, IMPATIENT, "host", INSISTENT)
        dispatcher = Dispatcher(transport, recorder, IMPATIENT, INSISTENT)
        scheduler = Scheduler(RealClock(), SeededRng(1), dispatcher, bindings.create_task)
        informers = Informers(transport, scheduler.ingest, IMPATIENT)

        async def schedule() -> None:
            await informers.wait_synced()
            while True:
                await asyncio.sleep(0 if scheduler.schedule_one() else 0.001)

        async with running(informers.run(), dispatcher.run(), schedule()):
            yield scheduler


def _cluster() -> ApiServer:
    server = ApiServer()
    for index in range(3):
        server.store.create(make_node(f"n{index}").capacity(cpu="8", memory="16Gi", pods="110").obj())
    return server


def _count_bindings(server: ApiServer) -> Counter[str]:
    counts: Counter[str] = Counter()

    def note(_: EventType, old: api.Object | None, new: api.Object | None) -> None:
        before = old.spec.node_name if isinstance(old, api.Pod) else ""
        if isinstance(new, api.Pod) and new.spec.node_name != before:
            counts[api.key(new)] += 1

    server.store.subscribe(note, (api.Pod,))
    return counts
