# SPDX-License-Identifier: Apache-2.0
"""All kinds together."""

from __future__ import annotations

from tests.client.api_server import ApiServer
from tests.client.following import IMPATIENT, Diary, running, until
from tests.client.serving import run

from steersman import api
from steersman.client.connection import Connection
from steersman.client.informers import Informers
from steersman.client.transport import http_transport
from steersman.testing import make_node, make_pod


def test_pods_are_told_when_all_else_is_known() -> None:
    async def scenario() -> list[str]:
        server, diary = ApiServer(), Diary()
        server.store.create(make_pod("web").obj())
        server.store.create(make_node("n1").obj())
        server.faults.refuse(500, times=3, part_of_path="/nodes")
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            informers = Informers(transport, diary, IMPATIENT)
            assert not informers.has_synced
            async with running(informers.run()):
                await informers.wait_synced()
        assert informers.not_synced() == []
        return diary.entries

    assert run(scenario()) == ["+ n1", "+ default/web"]


def test_whoever_is_waited_for_says_why() -> None:
    async def scenario() -> tuple[str, str]:
        server = ApiServer()
        server.faults.refuse(403, times=1000, part_of_path="/services")
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            informers = Informers(transport, Diary(), IMPATIENT)
            async with running(informers.run()):
                await until(lambda: len(informers.not_synced()) == 2 and informers.not_synced()[0].failure)
                service, pod = informers.not_synced()
        assert pod.kind is api.Pod
        return service.kind.KIND, str(service.failure)

    assert run(scenario()) == ("Service", "a fault")


def test_who_could_not_follow_without_a_break_lists_anew_before_he_leads() -> None:
    async def scenario() -> None:
        server, diary = ApiServer(), Diary()
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            informers = Informers(transport, diary, IMPATIENT, kinds=(api.Node, api.Pod))
            nodes, pods = informers.reflectors
            async with running(informers.run()):
                await until(lambda: len(server.faults.watches) == 2)
                await informers.catch_up(60.0)
                assert (nodes.lists, pods.lists) == (1, 1), "nothing was missed"
                server.faults.refuse(500, times=1000, part_of_path="watch=true")
                server.faults.cut_watches()
                await until(lambda: pods.was_interrupted(60.0))
                server.store.create(make_pod("bound-meanwhile").node("n1").obj())
                await informers.catch_up(60.0)
                assert "+ default/bound-meanwhile" in diary.entries

    run(scenario())
