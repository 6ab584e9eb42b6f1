# SPDX-License-Identifier: Apache-2.0
"""Those who have a say besides the plugins of Steersman: extenders and plugin files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web
from tests.app.running import cluster, running_program
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run, serve

from steersman.config import API_VERSION, CONFIGURATION_KIND
from steersman.testing import make_pod

CONFIG = f"""
apiVersion: {API_VERSION}
kind: {CONFIGURATION_KIND}
extenders:
- {{urlPrefix: "%s", filterVerb: filter, nodeCacheCapable: true}}
"""
PLUGIN = """
from steersman.framework import FilterPlugin
from steersman.framework.status import unschedulable

class OnlyTheLast(FilterPlugin):
    name = "OnlyTheLast"

    def filter(self, pod, node):
        return None if node.name == "n2" else unschedulable("not the last")
"""


def test_an_extender_is_asked(tmp_path: Path) -> None:
    async def only_the_second(request: web.Request) -> web.Response:
        return web.json_response({"nodenames": ["n1"]})

    async def scenario() -> None:
        server, file = cluster(), tmp_path / "config.yaml"
        async with serve(only_the_second) as address:
            file.write_text(CONFIG % address)
            server.store.create(make_pod("web").obj())
            async with running_program(server, config_file=str(file)) as program:
                await until(lambda: stored(server, "web").spec.node_name == "n1")
                assert await program.stopped() == 0

    run(scenario())


def test_an_extender_that_does_not_answer_does_not_hold_up_the_end(tmp_path: Path) -> None:
    asked: list[str] = []

    async def never(request: web.Request) -> web.Response:
        asked.append(request.path)
        await asyncio.Event().wait()
        return web.Response()

    async def scenario() -> None:
        server, file = cluster(), tmp_path / "config.yaml"
        async with serve(never) as address:
            file.write_text(CONFIG % address)
            server.store.create(make_pod("web").obj())
            async with running_program(server, config_file=str(file)) as program:
                await until(lambda: asked)
                assert await program.stopped() == 0
        assert not stored(server, "web").spec.node_name

    run(scenario())


def test_a_plugin_from_a_file_runs(tmp_path: Path) -> None:
    file = tmp_path / "last.py"
    file.write_text(PLUGIN)

    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        async with running_program(server, plugin_files=(str(file),)):
            await until(lambda: stored(server, "web").spec.node_name == "n2")

    run(scenario())
