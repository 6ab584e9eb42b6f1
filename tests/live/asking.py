# SPDX-License-Identifier: Apache-2.0
"""Explanations of pods on the API server of the tests."""

from __future__ import annotations

from collections.abc import Iterable

from tests.client.api_server import SERVED_KINDS, ApiServer
from tests.client.serving import run

from steersman import api
from steersman.app import RunOptions, effective
from steersman.client import Connection, http_transport
from steersman.live import LiveExplanation, explain_pod
from steersman.testing import make_node


def explained(
    server: ApiServer, pod: str, namespace: str = "default", options: RunOptions | None = None
) -> LiveExplanation:
    """What `steersman explain` says; the server must see nothing but reading."""

    async def scenario() -> LiveExplanation:
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            return await explain_pod(transport, effective(options or RunOptions()), address, namespace, pod)

    answer = run(scenario())
    assert {request.split()[0] for request in server.requests} == {"GET"}
    return answer


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
