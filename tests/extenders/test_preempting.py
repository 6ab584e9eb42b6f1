# SPDX-License-Identifier: Apache-2.0
"""Extenders may strike candidates of a preemption out, and name other victims."""

from __future__ import annotations

import asyncio

import pytest
from tests.extenders.server import Json, Requests, World, serve, world

from steersman.config import Extender
from steersman.testing import make_pod

NODES = ("n1", "n2")


def only(node: str) -> Json:
    return lambda args: {"NodeNameToMetaVictims": {node: args["NodeNameToMetaVictims"][node]}}


def extender(url: str, caches: bool = True, ignorable: bool = False) -> Extender:
    return Extender(url_prefix=url, preempt_verb="preempt", node_cache_capable=caches, ignorable=ignorable)


def fill(cluster: World) -> None:
    """Every node is full; the pod on n1 is the cheaper victim."""
    for node, priority in (("n1", 1), ("n2", 5)):
        cluster.add(make_pod(f"on-{node}").node(node).req(cpu="4").priority(priority))


async def preempt(cluster: World) -> str:
    """The node that is nominated."""
    fill(cluster)
    cluster.add(make_pod("boss").req(cpu="4").priority(100))
    await cluster.scheduler.schedule_one_async()
    await cluster.tasks()
    nomination = cluster.writer.failures[0].nomination
    return nomination.node if nomination is not None else ""


def test_without_its_objection_the_cheapest_victim_goes() -> None:
    async def run() -> None:
        async with (
            serve(preempt=lambda args: args) as url,
            world(extender(url), nodes=NODES) as cluster,
        ):
            assert await preempt(cluster) == "n1"

    asyncio.run(run())


def test_a_candidate_that_it_strikes_out_is_not_chosen() -> None:
    async def run() -> None:
        async with serve(preempt=only("n2")) as url, world(extender(url), nodes=NODES) as cluster:
            assert await preempt(cluster) == "n2"
            cluster.scheduler.cache.validate_state()

    asyncio.run(run())


def test_one_without_a_cache_is_shown_whole_pods() -> None:
    requests = Requests()

    async def run() -> None:
        async with (
            serve(requests, preempt=lambda args: {"NodeNameToMetaVictims": {}}) as url,
            world(extender(url, caches=False), nodes=NODES) as cluster,
        ):
            await preempt(cluster)
            assert cluster.message.endswith("preemption: no candidate node for preemption")

    asyncio.run(run())
    (args,) = requests.of("preempt")
    shown = args["NodeNameToVictims"]["n2"]
    assert [pod["metadata"]["name"] for pod in shown["Pods"]] == ["on-n2"]
    assert args["NodeNameToMetaVictims"] is None


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"n1": {"Pods": []}}, 'expected at least one victim pod on node "n1"'),
        ({"n9": {"Pods": [{"UID": "x"}]}}, 'nodeinfo not found for node name "n9"'),
        ({"n1": {"Pods": [{"UID": "x"}]}}, "claims to preempt pod (UID: &{x}) on node: n1, but the pod is not found"),
    ],
)
def test_a_lie_ends_the_preemption(answer: Json, message: str) -> None:
    async def run() -> None:
        async with (
            serve(preempt=lambda args: {"NodeNameToMetaVictims": answer}) as url,
            world(extender(url), nodes=NODES) as cluster,
        ):
            await preempt(cluster)
            assert message in cluster.message
            assert cluster.node_of("on-n1") == "n1"

    asyncio.run(run())


def test_one_that_is_ignorable_may_lie() -> None:
    async def run() -> None:
        answer = {"n1": {"Pods": [{"UID": "x"}]}}
        async with (
            serve(preempt=lambda args: {"NodeNameToMetaVictims": answer}) as url,
            world(extender(url, ignorable=True), nodes=NODES) as cluster,
        ):
            assert await preempt(cluster) == "n1"

    asyncio.run(run())


def test_without_the_lease_it_is_not_requested_victims() -> None:
    requests = Requests()

    async def run() -> None:
        async with (
            serve(requests, preempt=lambda args: args) as url,
            world(extender(url), nodes=NODES) as cluster,
        ):
            cluster.fence.close()
            assert await preempt(cluster) == ""

    asyncio.run(run())
    assert requests.of("preempt") == []
