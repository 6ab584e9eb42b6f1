# SPDX-License-Identifier: Apache-2.0
"""Those who have a say besides the plugins of Steersman: extenders and plugin files."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from aiohttp import web
from tests.app.running import cluster, running_program
from tests.client.api_server import SERVED_KINDS
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run, serve

from steersman import api
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


OPENING = """
from steersman import api
from steersman.framework import FilterPlugin

Opening = api.custom_kind("example.com/v1", "Opening", "openings")


class Openings(FilterPlugin):
    name = "Openings"
    kinds = (Opening,)

    def __init__(self, args, handle):
        self.objects = handle.objects

    def filter(self, pod, node):
        is_open = any(opening.spec.get("open") for opening in self.objects.list(Opening, pod.namespace))
        return is_open or "closed"
"""


def test_objects_of_a_plugins_kind_are_followed_and_wake_pods(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "openings.py"
    file.write_text(OPENING)
    openings = api.custom_kind("example.com/v1", "Opening", "openings")
    caplog.set_level(logging.INFO)

    async def scenario() -> None:
        server = cluster(kinds=(*SERVED_KINDS, openings))
        server.store.create(openings(metadata=api.ObjectMeta(name="shut", namespace="default")))
        server.store.create(make_pod("web").obj())
        async with running_program(server, plugin_files=(str(file),)):
            await until(lambda: stored(server, "web").status.conditions)
            assert "3 closed" in stored(server, "web").status.conditions[0].message
            server.store.create(openings(metadata=api.ObjectMeta(name="o", namespace="default"), spec={"open": True}))
            await until(lambda: stored(server, "web").spec.node_name)

    run(scenario())
    assert "plugins need these rights: list openings.example.com, watch openings.example.com" in caplog.messages


WEATHER = """
from steersman.framework import BackgroundPlugin, FilterPlugin


class Weather(FilterPlugin, BackgroundPlugin):
    name = "Weather"
    period_seconds = 0.1

    def __init__(self, args, handle):
        self.refreshes = 0

    async def refresh(self):
        self.refreshes += 1
        return self.refreshes == 3

    def filter(self, pod, node):
        return self.refreshes >= 3 or f"refreshed {'often' if self.refreshes else 'never'}, not enough"
"""


def test_a_plugin_is_refreshed_before_the_first_pod_and_later_and_wakes_pods(tmp_path: Path) -> None:
    file = tmp_path / "weather.py"
    file.write_text(WEATHER)

    async def scenario() -> None:
        server = cluster()
        server.store.create(make_pod("web").obj())
        async with running_program(server, plugin_files=(str(file),)) as program:
            await until(lambda: stored(server, "web").spec.node_name)
            messages = [condition.message for condition in stored(server, "web").status.conditions]
            assert not any("refreshed never" in message for message in messages)
            assert await program.stopped() == 0

    run(scenario())


READING = """
from steersman import api
from steersman.framework import BackgroundPlugin, FilterPlugin

Tariff = api.custom_kind("example.com/v1", "Tariff", "tariffs", namespaced=False)


class Tariffs(FilterPlugin, BackgroundPlugin):
    name = "Tariffs"
    reads = (Tariff,)
    period_seconds = 0.1

    def __init__(self, args, handle):
        self.client = handle.client
        self.known = []

    async def refresh(self):
        self.known = await self.client.list(Tariff, label_selector="open=yes")
        return bool(self.known)

    def filter(self, pod, node):
        return bool(self.known) or "no tariff"
"""


def test_a_plugin_reads_the_cluster_by_itself_without_watching(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tariffs.py"
    file.write_text(READING)
    tariffs = api.custom_kind("example.com/v1", "Tariff", "tariffs", namespaced=False)
    caplog.set_level(logging.INFO)

    async def scenario() -> None:
        server = cluster(kinds=(*SERVED_KINDS, tariffs))
        server.store.create(make_pod("web").obj())
        async with running_program(server, plugin_files=(str(file),)) as program:
            await until(lambda: stored(server, "web").status.conditions)
            assert "3 no tariff" in stored(server, "web").status.conditions[0].message
            server.store.create(tariffs(metadata=api.ObjectMeta(name="day", labels={"open": "yes"})))
            await until(lambda: stored(server, "web").spec.node_name)
            assert await program.stopped() == 0
        assert server.asked("GET /apis/example.com/v1/tariffs") > 1

    run(scenario())
    assert "plugins need these rights: get tariffs.example.com, list tariffs.example.com" in caplog.messages
