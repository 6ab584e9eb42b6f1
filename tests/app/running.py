# SPDX-License-Identifier: Apache-2.0
"""A whole `steersman run` in the process of the test, on the API server of the tests."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from tests.client.api_server import SERVED_KINDS, ApiServer

from steersman import api
from steersman.api import Duration
from steersman.kube.client.lease import Lease
from steersman.run.app import Control, ElectionFlags, RecordOptions, RunOptions, ServingOptions, run
from steersman.testing import make_node

ALONE = ElectionFlags(leader_elect=False)
QUICK = ElectionFlags(
    leader_elect=True,
    lease_duration=Duration.parse("15s"),
    renew_deadline=Duration.parse("10s"),
    retry_period=Duration.parse("20ms"),
)
UNSERVED = ServingOptions(port=0)


@dataclass
class Running:
    control: Control
    task: asyncio.Task[int]

    async def stopped(self) -> int:
        """The exit code after an orderly end."""
        self.control.stop.set()
        return await self.task


@asynccontextmanager
async def running_program(
    server: ApiServer,
    election: ElectionFlags = ALONE,
    serving: ServingOptions = UNSERVED,
    config_file: str = "",
    plugin_files: tuple[str, ...] = (),
    record: RecordOptions | None = None,
) -> AsyncIterator[Running]:
    """Ends it, if the test has not."""
    async with server.serving() as address, asyncio.TaskGroup() as group:
        options = RunOptions(
            config_file, master=address, election=election, serving=serving, plugin_files=plugin_files, record=record
        )
        control = Control()
        task = group.create_task(run(options, control, {}))
        try:
            yield Running(control, task)
        finally:
            control.stop.set()


def cluster(nodes: int = 3, kinds: Iterable[type[api.Object]] = SERVED_KINDS) -> ApiServer:
    server = ApiServer(kinds=kinds)
    for index in range(nodes):
        server.store.create(make_node(f"n{index}").capacity(cpu="8", memory="16Gi", pods="110").obj())
    return server


def held_lease(server: ApiServer) -> Lease | None:
    return server.store.objects(Lease).get("kube-system/kube-scheduler")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def serving_somewhere(certificate_file: str = "", key_file: str = "") -> ServingOptions:
    return ServingOptions("127.0.0.1", free_port(), certificate_file, key_file)


async def answer(serving: ServingOptions, path: str) -> tuple[int, str]:
    """Status and text; asks again until somebody listens."""
    url = f"https://127.0.0.1:{serving.port}{path}"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session:
        while True:
            try:
                async with session.get(url) as response:
                    return response.status, await response.text()
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.001)
