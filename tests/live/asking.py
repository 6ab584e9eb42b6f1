# SPDX-License-Identifier: Apache-2.0
"""Explanations of pods on the API server of the tests."""

from __future__ import annotations

from collections.abc import Iterable

from tests.client.api_server import SERVED_KINDS, ApiServer
from tests.client.serving import run

from steersman import api
from steersman.app import RunOptions, effective
from steersman.client import Connection, http_transport
from steersman.live import LiveSimulation, read_simulation
from steersman.testing import make_node
from steersman.why import Asked, PodExplanation, explain_pod


def explained(
    server: ApiServer,
    pod: str,
    namespace: str = "default",
    options: RunOptions | None = None,
    *,
    fixes: bool = False,
) -> PodExplanation:
    """What `steersman explain` says; the server must see nothing but reading."""

    async def scenario() -> LiveSimulation:
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            settings = effective(options or RunOptions())
            return await read_simulation(transport, settings, address, [f"{namespace}/{pod}"])

    simulation, notes = run(scenario())
    assert {request.split()[0] for request in server.requests} == {"GET"}
    asked = Asked(loaded=simulation if fixes else None, is_live=True, notes=notes)
    with simulation:
        return explain_pod(simulation, f"{namespace}/{pod}", asked)


def cluster(nodes: int = 2, cpu: str = "4", kinds: Iterable[type[api.Object]] = SERVED_KINDS) -> ApiServer:
    server = ApiServer(kinds=kinds)
    for index in range(nodes):
        server.store.create(
            make_node(f"n{index}")
            .capacity(cpu=cpu, memory="8Gi", pods="10")
            .label("kubernetes.io/hostname", f"n{index}")
            .obj()
        )
    return server
