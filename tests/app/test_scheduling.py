# SPDX-License-Identifier: Apache-2.0
"""`run` on an API server: pods get nodes, or reasons."""

from __future__ import annotations

from tests.app.running import cluster, running_program
from tests.client.dispatching import events, stored
from tests.client.following import until
from tests.client.serving import run

from steersman.testing import make_node, make_pod


def test_pods_are_bound_with_an_event() -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("early").req(cpu="1").obj())
        async with running_program(server) as program:
            await until(lambda: stored(server, "early").spec.node_name)
            server.store.create(make_pod("late").req(cpu="1").obj())
            await until(lambda: stored(server, "late").spec.node_name)
            assert await program.stopped() == 0
        assert [event.reason for event in events(server)] == ["Scheduled", "Scheduled"]

    run(scenario())


def test_a_pod_that_fits_nowhere_is_told_why_and_bound_when_there_is_room() -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("large").req(cpu="16").obj())
        async with running_program(server) as program:
            await until(lambda: stored(server, "large").status.conditions)
            await until(lambda: events(server))
            (condition,) = stored(server, "large").status.conditions
            assert (condition.status, condition.reason) == ("False", "Unschedulable")
            assert condition.message.startswith("0/3 nodes are available: 3 Insufficient cpu.")
            assert events(server)[0].reason == "FailedScheduling"
            server.store.create(make_node("big").capacity(cpu="32", memory="16Gi", pods="110").obj())
            await until(lambda: stored(server, "large").spec.node_name == "big")
            assert await program.stopped() == 0

    run(scenario())


def test_pods_of_other_schedulers_are_left_alone() -> None:
    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("other").scheduler("another").obj())
        server.store.create(make_pod("own").obj())
        async with running_program(server):
            await until(lambda: stored(server, "own").spec.node_name)
        assert not stored(server, "other").spec.node_name

    run(scenario())
