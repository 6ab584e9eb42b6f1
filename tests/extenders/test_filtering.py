# SPDX-License-Identifier: Apache-2.0
"""Extenders filter after the plugins, one after the other."""

from __future__ import annotations

import asyncio

import pytest
from tests.extenders.server import Json, Requests, serve, world

from steersman import api
from steersman.cluster.store import Pods
from steersman.config import Extender, ExtenderManagedResource
from steersman.framework.ports import REASON_ERROR, REASON_UNSCHEDULABLE
from steersman.testing import make_node, make_pod


def keep(*names: str, **answer: Json) -> Json:
    def filter_nodes(args: Json) -> Json:
        items = [node for node in args["Nodes"]["items"] if node["metadata"]["name"] in names]
        return {"Nodes": {"items": items}, **answer}

    return filter_nodes


def keep_names(*names: str) -> Json:
    return lambda args: {"NodeNames": [name for name in args["NodeNames"] if name in names]}


@pytest.mark.parametrize("scalar", [False, True])
def test_the_pod_goes_where_the_extender_wants_it(scalar: bool) -> None:
    async def run() -> None:
        async with (
            serve(filter=keep("n2")) as url,
            world(Extender(url_prefix=url, filter_verb="filter"), scalar=scalar) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == "n2"

    asyncio.run(run())


def test_it_is_shown_the_pod_and_the_nodes_that_fit() -> None:
    requests = Requests()

    async def run() -> None:
        full = make_node("full").capacity(cpu="100m", memory="8Gi", pods=10)
        extender_nodes = ("n1", full)
        async with (
            serve(requests, filter=keep("n1")) as url,
            world(Extender(url_prefix=f"{url}/", filter_verb="filter"), nodes=extender_nodes) as cluster,
        ):
            await cluster.place(make_pod("a").label("app", "web").req(cpu="1"))

    asyncio.run(run())
    (args,) = requests.of("filter")
    assert args["Pod"]["metadata"]["labels"] == {"app": "web"}
    assert [node["metadata"]["name"] for node in args["Nodes"]["items"]] == ["n1"]
    assert args["NodeNames"] is None


def test_one_that_caches_nodes_is_told_and_tells_names() -> None:
    requests = Requests()

    async def run() -> None:
        async with (
            serve(requests, filter=keep_names("n3")) as url,
            world(Extender(url_prefix=url, filter_verb="filter", node_cache_capable=True)) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == "n3"

    asyncio.run(run())
    (args,) = requests.of("filter")
    assert sorted(args["NodeNames"]) == ["n1", "n2", "n3"]
    assert args["Nodes"] is None


def test_the_case_of_names_in_an_answer_does_not_matter() -> None:
    async def run() -> None:
        async with (
            serve(filter=lambda args: {"nodenames": ["n3"], "failedNodes": None}) as url,
            world(Extender(url_prefix=url, filter_verb="filter", node_cache_capable=True)) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == "n3"

    asyncio.run(run())


def test_each_sees_what_the_one_before_left() -> None:
    requests = Requests()

    async def run() -> None:
        async with (
            serve(filter=keep_names("n1", "n2")) as first,
            serve(requests, filter=keep_names("n2", "n3")) as second,
            world(
                Extender(url_prefix=first, filter_verb="filter", node_cache_capable=True),
                Extender(url_prefix=second, filter_verb="filter", node_cache_capable=True),
            ) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == "n2"

    asyncio.run(run())
    assert sorted(requests.of("filter")[0]["NodeNames"]) == ["n1", "n2"]


def test_a_pod_that_fits_nowhere_has_the_extenders_reasons() -> None:
    failed = {"FailedNodes": {"n1": "too hot", "n2": "too hot", "n3": "too cold"}}

    async def run() -> None:
        async with (
            serve(filter=keep(**failed)) as url,
            world(Extender(url_prefix=url, filter_verb="filter")) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == ""
            assert cluster.writer.failures[0].reason == REASON_UNSCHEDULABLE
            expected = "0/3 nodes are available: 1 too cold, 2 too hot. "
            assert cluster.message.startswith(expected)
            queued = cluster.scheduler.queue.get("default/a")
            assert queued is not None
            assert queued.unschedulable_plugins == {"Extender"}

    asyncio.run(run())


def test_after_its_refusal_any_event_wakes_the_pod() -> None:
    async def run() -> None:
        async with (
            serve(filter=keep()) as url,
            world(Extender(url_prefix=url, filter_verb="filter")) as cluster,
        ):
            await cluster.place(make_pod("a"))
            assert cluster.scheduler.queue.statistics().unschedulable == 1
            cluster.store.create(api.CSINode(metadata=api.ObjectMeta(name="n1")))
            assert cluster.scheduler.queue.statistics().unschedulable == 0

    asyncio.run(run())


def test_what_nothing_can_help_takes_precedence() -> None:
    answer = {"FailedNodes": {"n1": "full"}, "FailedAndUnresolvableNodes": {"n1": "broken"}}

    async def run() -> None:
        async with (
            serve(filter=keep(**answer)) as url,
            world(Extender(url_prefix=url, filter_verb="filter"), nodes=("n1",)) as cluster,
        ):
            await cluster.place(make_pod("a").priority(10))
            nothing_helps = "1 Preemption is not helpful for scheduling."
            makers_of_room = f"preemption: 0/1 nodes are available: {nothing_helps}"
            assert cluster.message == f"0/1 nodes are available: 1 broken. {makers_of_room}"

    asyncio.run(run())


def test_only_pods_that_name_a_managed_resource_are_shown() -> None:
    requests = Requests()
    managed = (ExtenderManagedResource(name="example.com/tpu", ignored_by_scheduler=True),)

    async def run() -> None:
        async with (
            serve(requests, filter=keep("n2")) as url,
            world(Extender(url_prefix=url, filter_verb="filter", managed_resources=managed)) as cluster,
        ):
            assert await cluster.place(make_pod("plain")) != ""
            assert requests == []
            assert await cluster.place(make_pod("special").req(**{"example.com/tpu": "1"})) == "n2"

    asyncio.run(run())


def test_a_nominated_node_that_it_refuses_does_not_end_the_search() -> None:
    async def run() -> None:
        async with (
            serve(filter=keep("n1")) as url,
            world(Extender(url_prefix=url, filter_verb="filter")) as cluster,
        ):
            assert await cluster.place(make_pod("a").nominated("n3")) == "n1"

    asyncio.run(run())


def test_a_failure_for_the_nominated_node_does_not_end_the_search() -> None:
    def fail_for_one_node(args: Json) -> Json:
        return {"Error": "too few"} if len(args["Nodes"]["items"]) == 1 else keep("n1")(args)

    async def run() -> None:
        async with (
            serve(filter=fail_for_one_node) as url,
            world(Extender(url_prefix=url, filter_verb="filter")) as cluster,
        ):
            assert await cluster.place(make_pod("a").nominated("n3")) == "n1"

    asyncio.run(run())


def test_its_reason_replaces_that_of_a_plugin() -> None:
    async def run() -> None:
        full = make_node("full").capacity(cpu="100m", memory="8Gi", pods=10)
        async with (
            serve(filter=keep(FailedNodes={"n1": "no", "full": "no"})) as url,
            world(Extender(url_prefix=url, filter_verb="filter"), nodes=("n1", full)) as cluster,
        ):
            await cluster.place(make_pod("a").req(cpu="1"))
            assert cluster.message.startswith("0/2 nodes are available: 2 no.")

    asyncio.run(run())


def test_a_pod_bound_by_another_client_meanwhile_is_left_alone() -> None:
    async def run() -> None:
        def answer(args: Json) -> Json:
            Pods(cluster.store).bind("default", "a", args["Pod"]["metadata"]["uid"], "n2")
            return keep("n1")(args)

        async with (
            serve(filter=answer) as url,
            world(Extender(url_prefix=url, filter_verb="filter")) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == "n2"
            assert cluster.writer.failures[0].reason == REASON_ERROR
            assert cluster.scheduler.queue.get("default/a") is None

    asyncio.run(run())


def test_nodes_that_a_sampled_search_found_are_the_ones_that_are_left() -> None:
    names = tuple(f"n{index:03}" for index in range(250))

    async def run() -> None:
        async with (
            serve(filter=keep(*names)) as url,
            world(Extender(url_prefix=url, filter_verb="filter"), nodes=names, percentage=50) as cluster,
        ):
            placed = [await cluster.place(make_pod(f"p{index}").req(cpu="1")) for index in range(3)]
            assert [name < "n125" for name in placed] == [True, False, True], "each search begins where the last ended"

    asyncio.run(run())


def test_who_examines_a_pod_meanwhile_leaves_a_sampled_search_alone() -> None:
    names = tuple(f"n{index:03}" for index in range(250))

    async def placed(*, somebody_looks: bool) -> list[str]:
        def keep_all(args: Json) -> Json:
            cycle = cluster.scheduler.cycle
            if somebody_looks:  # as the matrix of the web page does
                seen = cluster.scheduler.cache.shapes.info(make_pod("seen").obj())
                cycle.preview(cycle.profiles["default-scheduler"], seen)
            return {"Nodes": {"items": args["Nodes"]["items"]}}

        async with (
            serve(filter=keep_all) as url,
            world(Extender(url_prefix=url, filter_verb="filter"), nodes=names, percentage=50) as cluster,
        ):
            return [await cluster.place(make_pod(f"p{index}").req(cpu="1")) for index in range(3)]

    alone, looked_at = asyncio.run(placed(somebody_looks=False)), asyncio.run(placed(somebody_looks=True))
    assert alone == looked_at
    assert "" not in alone


def test_a_nominated_node_that_it_refuses_counts_as_examined_by_a_sampled_search() -> None:
    names = tuple(f"n{index:03}" for index in range(250))

    def refuse_last(args: Json) -> Json:
        items = [node for node in args["Nodes"]["items"] if node["metadata"]["name"] != "n249"]
        return {"Nodes": {"items": items}, "FailedNodes": {"n249": "no"} if not items else {}}

    async def run() -> None:
        async with (
            serve(filter=refuse_last) as url,
            world(Extender(url_prefix=url, filter_verb="filter"), nodes=names, percentage=50) as cluster,
        ):
            await cluster.place(make_pod("a").nominated("n249"))
            assert cluster.scheduler.cycle._search.index == 126

    asyncio.run(run())
