# SPDX-License-Identifier: Apache-2.0
"""What the sink is told of one kind and of all kinds, whatever happens on the way."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from tests.client.api_server import ApiServer
from tests.client.following import IMPATIENT, Diary, following, running, until
from tests.client.serving import run

from steersman import api
from steersman.base.clock import RealClock
from steersman.base.rng import SeededRng
from steersman.base.timing import Timing
from steersman.cluster.store import Store
from steersman.kube.client import list_watch
from steersman.kube.client.connection import Connection
from steersman.kube.client.reflector import UNFINISHED, Informers, Reflector
from steersman.kube.client.transport import http_transport
from steersman.testing import make_node, make_pod


def test_what_is_there_is_told_then_what_changes() -> None:
    async def scenario() -> list[str]:
        server = ApiServer()
        server.store.create(make_node("n1").obj())
        async with following(server, api.Node) as (reflector, diary):
            await reflector.wait_synced()
            assert diary.entries == ["+ n1"]
            server.store.create(make_node("n2").obj())
            server.store.delete(api.Node, "n1")
            await until(lambda: len(diary.entries) == 3)
            assert list(reflector.objects) == ["n2"]
            return diary.entries

    assert run(scenario()) == ["+ n1", "+ n2", "- n1"]


def test_a_long_list_comes_in_pages() -> None:
    async def scenario() -> None:
        server = _with_nodes(2 * list_watch.PAGE + 1)
        async with following(server, api.Node) as (reflector, diary):
            await reflector.wait_synced()
            assert len(diary.entries) == 2 * list_watch.PAGE + 1
            assert diary.expected == [2 * list_watch.PAGE + 1], "told once, and of all"
            await until(lambda: server.faults.watches)
            assert server.asked("GET") == 3 + 1

    run(scenario())


def test_a_list_that_expires_between_pages_is_fetched_at_once() -> None:
    async def scenario() -> None:
        server = _with_nodes(list_watch.PAGE + 1)
        server.faults.expire_continues = 1
        async with following(server, api.Node) as (reflector, diary):
            await reflector.wait_synced()
            assert len(diary.entries) == list_watch.PAGE + 1
            assert reflector.lists == 1

    run(scenario())


def test_a_watch_that_is_cut_in_a_line_goes_on_where_it_was() -> None:
    async def scenario() -> None:
        server = _with_nodes(1)
        async with following(server, api.Node) as (reflector, diary):
            await until(lambda: server.faults.watches)
            server.faults.cut_watches()
            server.store.create(make_node("late").obj())
            await until(lambda: len(diary.entries) == 2)
            assert diary.entries[-1] == "+ late"
            assert reflector.lists == 1

    run(scenario())


def test_a_watch_that_brought_something_is_followed_by_the_next_without_a_pause() -> None:
    pauses: list[float] = []

    async def counted(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0.001)

    async def scenario() -> None:
        server, diary = ApiServer(), Diary()
        timing = Timing(RealClock(), SeededRng(1), counted)
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            reflector = Reflector(list_watch.ListWatch(transport, api.Node, timing), diary, timing)
            async with running(reflector.run()):
                for number in range(3):
                    await until(lambda: server.faults.watches)
                    server.store.create(make_node(f"n{number}").obj())
                    await until(lambda number=number: f"+ n{number}" in diary.entries)  # type: ignore[misc]
                    server.faults.cut_watches()
                    await until(lambda number=number: server.asked("GET /api/v1/nodes") > number + 2)  # type: ignore[misc]

    run(scenario())
    assert pauses == []


def test_bookmarks_keep_the_version_fresh() -> None:
    async def scenario() -> None:
        server = ApiServer(Store(RealClock(), history=2))
        async with following(server, api.Node) as (reflector, _):
            await until(lambda: server.faults.watches)
            server.store.create(make_pod("other").obj())
            await until(lambda: reflector.resource_version == server.store.resource_version)

    run(scenario())


def test_a_version_that_expired_leads_to_a_new_list() -> None:
    async def scenario() -> None:
        server = ApiServer(Store(RealClock(), history=2))
        for name in ("kept", "lost"):
            server.store.create(make_node(name).obj())
        async with following(server, api.Node) as (reflector, diary):
            await until(lambda: server.faults.watches)
            server.store.delete(api.Node, "lost")
            for index in range(9):
                server.store.create(make_node(f"new-{index}").obj())
            await until(lambda: reflector.resource_version == server.store.resource_version)
            assert reflector.lists == 2
            assert diary.entries[-1] == "- lost", (
                "room that is left is not given away before those are known that took it"
            )
            assert diary.entries.count("+ kept") == 1, "what has not changed is not told again"
            assert sorted(reflector.objects) == sorted(server.store.objects(api.Node))

    run(scenario())


def test_a_list_can_be_requested_while_a_watch_goes_on() -> None:
    async def scenario() -> None:
        server = _with_nodes(2)
        async with following(server, api.Node) as (reflector, diary):
            await until(lambda: server.faults.watches)
            assert not reflector.was_interrupted(60.0)
            await reflector.renew()
            assert (reflector.lists, len(diary.entries)) == (2, 2)
            server.store.create(make_node("late").obj())
            await until(lambda: "+ late" in diary.entries)

    run(scenario())


def test_a_new_list_has_everything_that_was_there_when_it_was_requested() -> None:
    async def scenario() -> None:
        server = _with_nodes(1)
        async with following(server, api.Node) as (reflector, diary):
            await until(lambda: server.faults.watches)
            server.faults.refuse(500, part_of_path="watch=true", times=1000)
            server.faults.cut_watches()
            await until(lambda: reflector.was_interrupted(60.0))
            server.store.create(make_node("late").obj())
            server.faults.refuse(500, part_of_path="limit", times=2)
            await reflector.renew()
            assert "+ late" in diary.entries

    run(scenario())


def test_of_a_kind_that_the_server_does_not_know_there_is_nothing_to_be_listed_again() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.faults.missing.add(api.DeviceClass)
        async with following(server, api.DeviceClass) as (reflector, _):
            await reflector.wait_synced()
            await reflector.renew()
            assert reflector.lists == 0

    run(scenario())


def test_a_refused_watch_is_tried_again_without_a_new_list_when_the_server_is_busy() -> None:
    async def scenario() -> None:
        server = _with_nodes(1)
        server.faults.refuse(429, part_of_path="watch=true", retry_after=1)
        async with following(server, api.Node) as (reflector, diary):
            await until(lambda: server.faults.watches)
            server.store.create(make_node("late").obj())
            await until(lambda: "+ late" in diary.entries)
            assert reflector.lists == 1

    run(scenario())


def test_a_broken_server_is_asked_until_it_answers() -> None:
    async def scenario() -> None:
        server = _with_nodes(1)
        server.faults.refuse(500, times=3)
        async with following(server, api.Node) as (reflector, diary):
            await reflector.wait_synced()
            assert diary.entries == ["+ n0"]
            assert reflector.failure is None

    run(scenario())


def test_a_missing_group_is_an_empty_one_until_it_comes() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.store.create(api.DeviceClass(metadata=api.ObjectMeta(name="gpu")))
        server.faults.missing.add(api.DeviceClass)
        async with following(server, api.DeviceClass) as (reflector, diary):
            await reflector.wait_synced()
            assert diary.entries == []
            server.faults.missing.clear()
            await until(lambda: diary.entries)
            assert diary.entries == ["+ gpu"]

    run(scenario())


def test_a_kind_of_a_plugin_is_an_empty_one_until_its_definition_comes(caplog: pytest.LogCaptureFixture) -> None:
    rates = api.custom_kind("example.com/v1", "Rate", "rates")

    async def scenario() -> list[str]:
        server = ApiServer(kinds=[rates])
        server.store.create(rates(metadata=api.ObjectMeta(name="cheap", namespace="shop"), spec={"price": 3}))
        server.faults.missing.add(rates)
        async with following(server, rates) as (reflector, diary):
            await reflector.wait_synced()
            assert diary.entries == []
            server.faults.missing.clear()
            await until(lambda: diary.entries)
            assert reflector.objects["shop/cheap"].spec == {"price": 3}
            return diary.entries

    assert run(scenario()) == ["+ shop/cheap"]
    [record] = [one for one in caplog.records if "does not know" in one.getMessage()]
    assert record.getMessage().startswith("the server does not know rates of example.com/v1: none are assumed")
    assert record.levelname == "WARNING"


@pytest.mark.parametrize("is_served", [False, True])
def test_a_kind_without_a_right_is_empty_only_if_the_server_does_not_serve_it(is_served: bool) -> None:
    """An older server knows neither the kind nor its right, and looks at the right first."""

    async def scenario() -> None:
        server = ApiServer()
        if not is_served:
            server.faults.missing.add(api.DeviceTaintRule)
        server.faults.refuse(403, times=99)
        async with following(server, api.DeviceTaintRule) as (reflector, diary):
            await until(lambda: reflector.has_synced or server.asked("GET") > 2)
            assert reflector.has_synced is not is_served
            assert diary.entries == []

    run(scenario())


@pytest.mark.parametrize("kind", [api.Node, api.PodDisruptionBudget, api.StorageClass, api.StatefulSet])
def test_any_other_group_is_waited_for(kind: type[api.Object], caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.faults.missing.add(kind)
        async with following(server, kind) as (reflector, _):
            await until(lambda: server.asked("GET") > 2)
            assert not reflector.has_synced
            assert reflector.failure is not None
            server.faults.missing.clear()
            await reflector.wait_synced()

    run(scenario())
    assert f"the server does not know {kind.API_VERSION}, which is waited for" in caplog.text


def test_pods_that_have_ended_are_gone() -> None:
    async def scenario() -> list[str]:
        server = ApiServer()
        pod = server.store.create(make_pod("web").obj())
        async with following(server, api.Pod, UNFINISHED) as (_, diary):
            await until(lambda: server.faults.watches)
            status = msgspec.structs.replace(pod.status, phase="Succeeded")
            server.store.update_status(msgspec.structs.replace(pod, status=status))
            await until(lambda: len(diary.entries) == 2)
            return diary.entries

    assert run(scenario()) == ["+ default/web", "- default/web"]


# -- all kinds ---------------------------------------------------------------------------------------------------------


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


def test_the_awaited_reflector_reports_why_it_is_not_synced() -> None:
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


def test_a_follower_with_an_interrupted_watch_relists_before_it_leads() -> None:
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


def _with_nodes(count: int) -> ApiServer:
    server = ApiServer()
    for index in range(count):
        server.store.create(make_node(f"n{index}").obj())
    return server
