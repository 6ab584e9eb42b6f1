# SPDX-License-Identifier: Apache-2.0
"""Of several, one schedules; who loses the lease exits with 1."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import msgspec
import pytest
from tests.app.running import QUICK, cluster, held_lease, running_program
from tests.client.api_server import ApiServer
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run

from steersman import api
from steersman.config import API_VERSION, CONFIGURATION_KIND
from steersman.kube.client.lease import Lease, LeaseSpec
from steersman.run.app import process, program as program_module
from steersman.testing import make_pod

ANOTHER = LeaseSpec(holder_identity="another", lease_duration_seconds=3600)


def test_a_lost_lease_ends_it_with_1() -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        async with running_program(server, QUICK) as program:
            await until(lambda: stored(server, "web").spec.node_name)
            _seize(server)
            assert await program.task == 1
        lease = held_lease(server)
        assert lease is not None
        assert lease.spec.holder_identity == "another"

    run(scenario())


def test_who_does_not_lead_follows_but_binds_nothing() -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        _held_by_another(server)
        async with running_program(server, QUICK) as program:
            await until(lambda: server.asked("GET /apis/coordination.k8s.io") > 3)
            assert server.asked("GET /api/v1/pods")
            assert await program.stopped() == 0
        assert not stored(server, "web").spec.node_name

    run(scenario())


def test_a_released_lease_is_taken_up() -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        _held_by_another(server)
        async with running_program(server, QUICK):
            await until(lambda: server.asked("GET /apis/coordination.k8s.io") > 3)
            _write(server, LeaseSpec(lease_duration_seconds=1))
            await until(lambda: stored(server, "web").spec.node_name)

    run(scenario())


def test_a_kind_that_cannot_be_relisted_does_not_prevent_leading(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(program_module, "CATCH_UP_SECONDS", 0.2)

    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        _held_by_another(server)
        async with running_program(server, QUICK):
            await until(lambda: server.asked("GET /apis/coordination.k8s.io") > 3 and server.faults.watches)
            server.faults.refuse(500, times=10_000, part_of_path="/services")
            server.faults.cut_watches()
            await until(lambda: server.asked("GET /api/v1/services") > 2)
            _write(server, LeaseSpec(lease_duration_seconds=1))
            await until(lambda: stored(server, "web").spec.node_name)

    run(scenario())
    assert "not all resources were relisted" in caplog.text


def test_a_binding_in_flight_is_undone_with_the_lease() -> None:
    async def scenario() -> None:
        server = cluster()
        server.faults.refuse(429, times=1, method="POST", part_of_path="binding", retry_after=10)
        server.store.create(make_pod("web").obj())
        async with running_program(server, QUICK) as program:
            await until(lambda: any("binding" in request for request in server.requests))
            _seize(server)
            assert await program.task == 1
        assert not stored(server, "web").spec.node_name

    run(scenario())


def test_the_second_of_two_goes_on_where_the_first_ends() -> None:
    async def scenario() -> None:
        server = cluster()
        async with running_program(server, QUICK) as first:
            await until(lambda: held_lease(server))
            async with running_program(server, QUICK) as second:
                server.store.create(make_pod("early").obj())
                await until(lambda: stored(server, "early").spec.node_name)
                assert await first.stopped() == 0
                server.store.create(make_pod("late").obj())
                await until(lambda: stored(server, "late").spec.node_name)
                assert await second.stopped() == 0
        assert sum(request.endswith("/binding") for request in server.requests) == 2

    run(scenario())


def test_a_scheduling_loop_that_stands_still_for_long_gives_the_lease_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "STANDSTILL_SECONDS", 1.0)
    monkeypatch.setattr(process, "CHECK_SECONDS", 0.05)

    async def scenario() -> None:
        server = cluster()
        async with running_program(server, QUICK) as program:
            await until(lambda: held_lease(server))
            time.sleep(2.0)
            assert await program.task == 1
        lease = held_lease(server)
        assert lease is not None
        assert lease.spec.holder_identity not in ("", "another"), "it is left to end by itself"

    with caplog.at_level(logging.ERROR, "steersman.run.app"):
        run(scenario())
    assert any("has stood still" in message for message in caplog.messages)


def test_a_lean_standby_reads_nothing_until_it_leads(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"apiVersion: {API_VERSION}\nkind: {CONFIGURATION_KIND}\ndelayCacheUntilActive: true\n")

    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        _held_by_another(server)
        async with running_program(server, QUICK, config_file=str(file)):
            await until(lambda: server.asked("GET /apis/coordination.k8s.io") > 3)
            assert not server.asked("GET /api/v1/pods")
            _write(server, LeaseSpec(lease_duration_seconds=1))
            await until(lambda: stored(server, "web").spec.node_name)

    run(scenario())


def _held_by_another(server: ApiServer) -> None:
    server.store.create(Lease(metadata=api.ObjectMeta(name="kube-scheduler", namespace="kube-system"), spec=ANOTHER))


def _seize(server: ApiServer) -> None:
    _write(server, ANOTHER)


def _write(server: ApiServer, spec: LeaseSpec) -> None:
    lease = held_lease(server)
    assert lease is not None
    server.store.update(msgspec.structs.replace(lease, spec=spec))
