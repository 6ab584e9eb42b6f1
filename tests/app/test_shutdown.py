# SPDX-License-Identifier: Apache-2.0
"""The orderly end: nothing half done, exit code 0."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections import Counter
from pathlib import Path

import pytest
from tests.app.running import (
    ALONE,
    QUICK,
    UNSERVED,
    cluster,
    held_lease,
    running_program,
    serving_somewhere,
)
from tests.client.dispatching import events, stored
from tests.client.following import until
from tests.client.serving import run

from steersman.run.app import RunOptions, program as program_module
from steersman.run.app.process import Bindings
from steersman.run.app.run import until_signalled
from steersman.testing import make_pod


def test_a_binding_in_flight_is_finished_and_its_event_written() -> None:
    async def scenario() -> None:
        server = cluster()
        server.faults.refuse(429, times=1, method="POST", part_of_path="binding", retry_after=1)
        server.store.create(make_pod("slow").obj())
        async with running_program(server) as program:
            await until(lambda: any("binding" in request for request in server.requests))
            assert not stored(server, "slow").spec.node_name
            assert await program.stopped() == 0
        assert stored(server, "slow").spec.node_name
        assert [event.reason for event in events(server)] == ["Scheduled"]

    run(scenario())


def test_nothing_is_said_of_a_pod_whose_binding_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "FINISH_SECONDS", 0.05)

    async def scenario() -> None:
        server = cluster()
        server.faults.refuse(429, times=1, method="POST", part_of_path="binding", retry_after=30)
        server.store.create(make_pod("slow").obj())
        async with running_program(server) as running:
            await until(lambda: any("binding" in request for request in server.requests))
            assert await running.stopped() == 0
        assert (stored(server, "slow").status.conditions, events(server)) == ((), [])

    run(scenario())


def test_what_does_not_finish_in_time_is_undone() -> None:
    undone: list[str] = []

    async def never_ends() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            undone.append("binding")

    async def scenario() -> None:
        async with Bindings() as bindings:
            bindings.spawn(never_ends())
            await asyncio.sleep(0)
            await bindings.finish(0.001)
            assert (undone, len(bindings)) == (["binding"], 0)

    run(scenario())


def test_an_end_before_the_server_answers_is_orderly() -> None:
    async def scenario() -> None:
        server = cluster()
        server.faults.refuse(500, times=10_000)
        async with running_program(server) as program:
            await until(lambda: server.requests)
            assert await program.stopped() == 0

    run(scenario())


def test_the_lease_is_given_back() -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        async with running_program(server, QUICK) as program:
            await until(lambda: stored(server, "web").spec.node_name)
            lease = held_lease(server)
            assert lease is not None
            assert lease.spec.holder_identity
            assert await program.stopped() == 0
        lease = held_lease(server)
        assert lease is not None
        assert lease.spec.holder_identity == ""

    run(scenario())


def test_no_task_or_thread_is_left_behind() -> None:
    async def scenario() -> None:
        server = cluster()
        async with server.serving():
            before = asyncio.all_tasks()
        async with running_program(server, QUICK) as program:
            await until(lambda: held_lease(server))
            assert await program.stopped() == 0
        assert asyncio.all_tasks() <= before
        assert "control" not in [thread.name for thread in threading.enumerate()]

    run(scenario())


def test_sigterm_ends_it() -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        async with server.serving() as address, asyncio.TaskGroup() as group:
            options = RunOptions(master=address, election=ALONE, serving=UNSERVED)
            program = group.create_task(until_signalled(options))
            await until(lambda: stored(server, "web").spec.node_name)
            os.kill(os.getpid(), signal.SIGTERM)
            assert await program == 0

    run(scenario())


def test_a_second_signal_does_not_wait_for_bindings() -> None:
    async def scenario() -> None:
        server = cluster()
        server.faults.refuse(429, times=1, method="POST", part_of_path="binding", retry_after=15)
        server.store.create(make_pod("web").obj())
        async with server.serving() as address, asyncio.TaskGroup() as group:
            options = RunOptions(master=address, election=ALONE, serving=UNSERVED)
            program = group.create_task(until_signalled(options))
            await until(lambda: any("binding" in request for request in server.requests))
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            assert await program == 1
        assert not stored(server, "web").spec.node_name

    run(scenario())


def test_the_port_is_free_while_bindings_are_still_finished() -> None:
    async def scenario() -> None:
        server, serving = cluster(), serving_somewhere()
        server.faults.refuse(429, times=1, method="POST", part_of_path="binding", retry_after=2)
        server.store.create(make_pod("slow").obj())
        async with running_program(server, serving=serving) as program:
            await until(lambda: any("binding" in request for request in server.requests))
            program.control.stop.set()
            await until(lambda: is_free(serving.port))
            assert not stored(server, "slow").spec.node_name, "the binding has not been finished yet"
            assert await program.stopped() == 0
        assert stored(server, "slow").spec.node_name

    run(scenario())


def is_free(port: int) -> bool:
    """Return whether another process could listen there."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def test_no_event_is_lost_at_the_end_however_low_the_request_rate_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(program_module, "DRAIN_SECONDS", 2.0)
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "clientConnection: {qps: 5, burst: 100}\n"
    )

    async def scenario() -> None:
        server = cluster()
        for number in range(40):
            server.store.create(make_pod(f"web-{number}").obj())
        async with running_program(server, config_file=str(file)) as program:
            await until(lambda: all(stored(server, f"web-{number}").spec.node_name for number in range(40)))
            for number in range(100):
                server.store.create(make_pod(f"misfit-{number}").node_selector("nowhere", "true").obj())
            await until(lambda: len(events(server)) >= 90)  # then the burst is used up
            assert await program.stopped() == 0
        assert Counter(event.reason for event in events(server)) == {"Scheduled": 40, "FailedScheduling": 100}

    run(scenario())
