# SPDX-License-Identifier: Apache-2.0
"""Extenders add their priorities to the scores, scaled from 0..10 to 0..100 and weighted."""

from __future__ import annotations

import asyncio

import pytest
from tests.extenders.server import Json, Requests, serve, world

from steersman.config import Extender
from steersman.testing import make_node, make_pod


def prefer(**priorities: int) -> Json:
    return lambda args: [{"Host": host, "Score": score} for host, score in priorities.items()]


def extender(url: str, weight: int = 1) -> Extender:
    return Extender(url_prefix=url, prioritize_verb="prioritize", weight=weight, node_cache_capable=True)


@pytest.mark.parametrize("scalar", [False, True])
def test_the_preferred_node_wins(scalar: bool) -> None:
    async def run() -> None:
        async with (
            serve(prioritize=prefer(n1=0, n2=0, n3=10)) as url,
            world(extender(url), scalar=scalar) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == "n3"

    asyncio.run(run())


def test_weights_decide_between_two_of_them() -> None:
    async def run() -> None:
        async with (
            serve(prioritize=prefer(n1=10)) as light,
            serve(prioritize=prefer(n2=6)) as heavy,
            world(extender(light), extender(heavy, weight=2)) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == "n2"

    asyncio.run(run())


def test_one_priority_is_worth_ten_points_of_a_plugin() -> None:
    small = make_node("small").capacity(cpu="2", memory="4Gi", pods=10)
    large = make_node("large").capacity(cpu="200", memory="400Gi", pods=10)

    async def place(priority: int) -> str:
        async with (
            serve(prioritize=prefer(small=priority)) as url,
            world(extender(url), nodes=(small, large)) as cluster,
        ):
            return await cluster.place(make_pod("a").req(cpu="1", memory="2Gi"))

    # Least allocated: 50 points for the small node, 99 for the large one.
    assert asyncio.run(place(4)) == "large"
    assert asyncio.run(place(6)) == "small"


@pytest.mark.parametrize("scalar", [False, True])
@pytest.mark.parametrize(("caches", "chosen"), [(False, "busy"), (True, "idle")])
def test_nodes_that_a_filter_returns_as_objects_are_scored_without_their_pods(
    caches: bool, chosen: str, scalar: bool
) -> None:
    busy = make_node("busy").capacity(cpu="8", memory="16Gi", pods=10)
    idle = make_node("idle").capacity(cpu="4", memory="8Gi", pods=10)

    async def run() -> None:
        async with (
            serve(filter=lambda args: args) as url,
            world(
                Extender(url_prefix=url, filter_verb="filter", node_cache_capable=caches),
                nodes=(busy, idle),
                scalar=scalar,
            ) as cluster,
        ):
            cluster.add(make_pod("running").node("busy").req(cpu="4", memory="8Gi"))
            assert await cluster.place(make_pod("a").req(cpu="1", memory="2Gi")) == chosen

    asyncio.run(run())


def test_with_one_node_left_no_extender_is_called() -> None:
    requests = Requests()

    async def run() -> None:
        async with (
            serve(requests, prioritize=prefer(n1=1)) as url,
            world(extender(url), nodes=("n1",)) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == "n1"

    asyncio.run(run())
    assert requests == []


def test_a_fault_does_not_count() -> None:
    def break_down(args: Json) -> Json:
        raise RuntimeError("broken")

    async def run() -> None:
        async with (
            serve(prioritize=break_down) as broken,
            serve(prioritize=lambda args: [{"Host": "n1", "Score": "much"}]) as lying,
            serve(prioritize=prefer(n2=10, elsewhere=10)) as url,
            world(extender(broken, weight=5), extender(lying, weight=5), extender(url)) as cluster,
        ):
            assert await cluster.place(make_pod("a")) == "n2"
            assert cluster.writer.failures == []

    asyncio.run(run())
