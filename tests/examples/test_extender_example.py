# SPDX-License-Identifier: Apache-2.0
"""The extender of examples/extender, asked by a scheduler over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web
from examples.extender.extender import app
from tests.extenders.server import World, world

from steersman import config
from steersman.config import Extender
from steersman.testing import NodeBuilder, make_node, make_pod

FOLDER = Path(__file__).parents[2] / "examples" / "extender"


def node(name: str, **labels: str) -> NodeBuilder:
    built = make_node(name).capacity(cpu="4", memory="8Gi", pods=10)
    for key, value in labels.items():
        built = built.label(key.replace("_", "-"), value)
    return built


async def place(cluster: World) -> str:
    return await cluster.place(make_pod("a"))


def test_it_keeps_pods_off_nodes_in_maintenance_and_prefers_free_licences() -> None:
    nodes = (node("few", free_licences="1"), node("many", free_licences="7"), node("none", maintenance="true"))

    async def run() -> None:
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        settings = Extender(url_prefix=url, filter_verb="filter", prioritize_verb="prioritize", weight=5)
        try:
            async with world(settings, nodes=nodes) as cluster:
                assert await place(cluster) == "many"
            async with world(settings, nodes=(nodes[2],)) as cluster:
                assert await place(cluster) == ""
                assert cluster.message.startswith("0/1 nodes are available: 1 node is in maintenance.")
        finally:
            await runner.cleanup()

    asyncio.run(run())


def test_its_configuration_is_valid() -> None:
    loaded = config.load((FOLDER / "config.yaml").read_text(), "config.yaml")
    (extender,) = loaded.extenders
    assert (extender.filter_verb, extender.prioritize_verb, extender.weight) == ("filter", "prioritize", 5)


def test_it_takes_thirty_lines() -> None:
    assert len((FOLDER / "extender.py").read_text().splitlines()) <= 30
