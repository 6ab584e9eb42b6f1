# SPDX-License-Identifier: Apache-2.0
"""Explanations of pods on the API server of the tests."""

from __future__ import annotations

from collections.abc import Iterable

from tests.client.api_server import SERVED_KINDS, ApiServer
from tests.client.serving import run

from steersman import api
from steersman.explain import ExplainOptions, PodExplanation, explain_pod
from steersman.explain.live import LiveSimulation, read_simulation
from steersman.kube.client import Connection, http_transport
from steersman.run.app import RunOptions, effective
from steersman.scheduler.assembly import SchedulerOptions
from steersman.testing import make_node


def scheduler_options(options: RunOptions) -> SchedulerOptions:
    settings = effective(options)
    return SchedulerOptions(settings.configuration, settings.gates, settings.registry)


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
            return await read_simulation(
                transport, scheduler_options(options or RunOptions()), address, [f"{namespace}/{pod}"]
            )

    simulation, notes, phases, others = run(scenario())
    assert {request.split()[0] for request in server.requests} == {"GET"}
    loaded = simulation if fixes else None
    asked = ExplainOptions(loaded=loaded, is_live=True, notes=notes, phases=phases, other_schedulers=others)
    with simulation:
        simulation.internals.prepare_forks(f"{namespace}/{pod}")
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
