# SPDX-License-Identifier: Apache-2.0
"""Bindings: each pod once, whatever becomes of requests and answers."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.api_server import ApiServer
from tests.client.dispatching import dispatching, events, stored
from tests.client.following import until
from tests.client.serving import run

from steersman import api
from steersman.framework import ApiWriter, Failure
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.framework.status import Code
from steersman.testing import make_pod


def test_a_pod_gets_its_node() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        async with dispatching(server) as dispatcher:
            writer: ApiWriter = dispatcher
            assert await writer.bind(pod, "n1") is None
        assert stored(server, "web").spec.node_name == "n1"

    run(scenario())


def test_an_answer_that_is_lost_does_not_bind_twice_and_is_no_failure() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        server.faults.lose_answers = 1
        async with dispatching(server) as dispatcher:
            assert await dispatcher.bind(pod, "n1") is None
        assert stored(server, "web").spec.node_name == "n1"
        assert server.asked("POST") == 2

    run(scenario())


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_troubled_server_is_asked_again(code: int) -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        server.faults.refuse(code, times=3, method="POST")
        async with dispatching(server) as dispatcher:
            assert await dispatcher.bind(pod, "n1") is None
        assert stored(server, "web").spec.node_name == "n1"

    run(scenario())


def test_a_pod_bound_by_another_client_is_an_error() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        server.pods.bind("default", "web", pod.uid, "elsewhere")
        async with dispatching(server) as dispatcher:
            status = await dispatcher.bind(pod, "n1")
        assert status is not None
        assert status.code is Code.ERROR
        assert 'is already assigned to node "elsewhere"' in status.message
        assert stored(server, "web").spec.node_name == "elsewhere"

    run(scenario())


def test_another_pod_of_the_same_name_is_not_bound() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        server.store.delete(api.Pod, "default/web")
        server.store.create(make_pod("web").uid("another").obj())
        async with dispatching(server) as dispatcher:
            status = await dispatcher.bind(pod, "n1")
        assert status is not None
        assert stored(server, "web").spec.node_name == ""

    run(scenario())


def test_a_pod_that_is_gone_is_an_error() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        server.store.delete(api.Pod, "default/web")
        async with dispatching(server) as dispatcher:
            status = await dispatcher.bind(pod, "n1")
        assert status is not None
        assert status.message == 'pods "web" not found'

    run(scenario())


def test_no_failure_is_reported_while_the_result_of_the_binding_is_unknown() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        server.faults.lose_answers = 1
        server.faults.refuse(403, times=100, method="GET")
        async with dispatching(server) as dispatcher:
            status = await dispatcher.bind(pod, "n1")
            assert status is not None, "the server refuses the second binding, and does not say where the pod is"
            dispatcher.report_failure(Failure(pod.pod, "SchedulerError", status.message, None))
            await dispatcher.drain()
        assert stored(server, "web").spec.node_name == "n1"
        assert [condition.status for condition in stored(server, "web").status.conditions] == ["True"]
        assert (server.asked("PATCH"), events(server)) == (0, [])

    run(scenario())


def test_a_binding_that_is_broken_off_is_not_reported_as_a_failure() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        async with dispatching(server) as dispatcher:
            server.faults.flowing.clear()
            async with asyncio.TaskGroup() as group:
                binding = group.create_task(dispatcher.bind(pod, "n1"))
                await until(lambda: server.asked("POST"))
                binding.cancel()
            server.faults.flowing.set()
            dispatcher.report_failure(Failure(pod.pod, "SchedulerError", "cancelled", None))
            await dispatcher.drain()
        assert (server.asked("PATCH"), events(server)) == (0, [])

    run(scenario())


def test_a_failure_is_reported_when_the_server_says_that_the_pod_is_not_bound() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        server.faults.refuse(500, times=100, method="POST", part_of_path="binding")
        async with dispatching(server) as dispatcher:
            status = await dispatcher.bind(pod, "n1")
            assert status is not None
            assert status.message == "a fault"
            dispatcher.report_failure(Failure(pod.pod, "SchedulerError", status.message, None))
            await dispatcher.drain()
        (condition,) = stored(server, "web").status.conditions
        assert condition.message == "a fault"

    run(scenario())


def _with_pod() -> tuple[ApiServer, PodInfo]:
    server = ApiServer()
    return server, PodShapes().info(server.store.create(make_pod("web").obj()))
