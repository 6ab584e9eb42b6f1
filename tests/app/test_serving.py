# SPDX-License-Identifier: Apache-2.0
"""The endpoints of a running scheduler."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.app.running import QUICK, answer, cluster, running_program, serving_somewhere
from tests.client.dispatching import stored
from tests.client.following import IMPATIENT, Diary, running, until
from tests.client.serving import run, self_signed

from steersman import api
from steersman.kube.client import Connection, Informers, http_transport
from steersman.run.app.endpoints import synced_checks
from steersman.testing import make_pod


def test_health_is_open_and_metrics_are_not() -> None:
    async def scenario() -> None:
        server, serving = cluster(), serving_somewhere()
        server.store.create(make_pod("web").obj())
        async with running_program(server, QUICK, serving):
            await until(lambda: stored(server, "web").spec.node_name)
            assert await answer(serving, "/healthz") == (200, "ok")
            assert await answer(serving, "/livez") == (200, "ok")
            assert await answer(serving, "/readyz") == (200, "ok")
            assert (await answer(serving, "/metrics"))[0] == 401

    run(scenario())


def test_it_is_alive_but_not_ready_while_it_waits_for_the_server() -> None:
    async def scenario() -> None:
        server, serving = cluster(), serving_somewhere()
        server.faults.refuse(500, times=10_000)
        async with running_program(server, QUICK, serving):
            assert await answer(serving, "/livez") == (200, "ok")
            status, text = await answer(serving, "/readyz")
            assert status == 500
            assert "[-]informer-sync failed" in text

    run(scenario())


def test_informers_that_have_not_synced_are_named_as_kube_scheduler_names_them() -> None:
    async def scenario() -> None:
        server = cluster()
        server.faults.refuse(500, times=10_000, part_of_path="/api/v1/nodes")
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            informers = Informers(transport, Diary(), IMPATIENT, kinds=(api.Node, api.StorageClass, api.Pod))
            async with running(informers.run()):
                check = next(check for check in synced_checks(informers) if check.name == "informer-sync")
                await until(lambda: len(informers.not_synced()) == 2)
                assert check.probe() == "2 informers not started yet: [*v1.Node *v1.Pod]"

    run(scenario())


def test_a_certificate_of_ones_own_is_shown(tmp_path: Path) -> None:
    pair = self_signed(tmp_path, "own")

    async def scenario() -> None:
        server = cluster()
        serving = serving_somewhere(str(pair.certificate_file), str(pair.key_file))
        async with running_program(server, serving=serving):
            assert await answer(serving, "/healthz") == (200, "ok")

    run(scenario())


def test_a_dump_compares_the_cache_with_the_server(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        async with running_program(server) as program:
            await until(lambda: stored(server, "web").spec.node_name)
            program.control.dump.set()
            await until(lambda: not program.control.dump.is_set())
            assert await program.stopped() == 0

    with caplog.at_level(logging.INFO, "steersman.run.app"):
        run(scenario())
    assert any("n0" in message for message in caplog.messages)
    assert "the cache agrees with the API server" in caplog.messages
