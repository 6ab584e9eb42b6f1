# SPDX-License-Identifier: Apache-2.0
"""Extenders in simulations: a real HTTP server on the loopback answers while virtual time stands still."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.cli.commands import steersman
from tests.scenario.scenarios import a_node, a_pod, a_scenario
from tests.simulation.clusters import a_pod as build_pod

from steersman import InputError, Simulation
from steersman.simulation.scenario import run_scenario


class LicenceServer:
    """Keeps pods off nodes in maintenance and prefers those with free licences; counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False

    async def handle(self, request: web.Request) -> web.Response:
        verb = request.match_info["verb"]
        self.asked.append(verb)
        nodes = (await request.json())["Nodes"]["items"]
        if self.fails:
            return web.Response(status=500)
        if verb == "prioritize":
            scores = [int(node["metadata"]["labels"].get("licences", "0")) for node in nodes]
            names = [node["metadata"]["name"] for node in nodes]
            return web.json_response(
                [{"Host": name, "Score": score} for name, score in zip(names, scores, strict=True)]
            )
        closed = {n["metadata"]["name"] for n in nodes if n["metadata"]["labels"].get("maintenance") == "true"}
        left = [node for node in nodes if node["metadata"]["name"] not in closed]
        return web.json_response({"Nodes": {"items": left}, "FailedNodes": dict.fromkeys(closed, "in maintenance")})


@contextmanager
def served(server: LicenceServer) -> Iterator[str]:
    """The address of the server, which runs in a thread of its own."""
    app = web.Application()
    app.router.add_post("/{verb}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> str:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    try:
        yield asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture
def server() -> LicenceServer:
    return LicenceServer()


@pytest.fixture
def address(server: LicenceServer) -> Iterator[str]:
    with served(server) as address:
        yield address


def configuration(address: str, **parts: Any) -> dict[str, Any]:
    extender = {"urlPrefix": address, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 10, **parts}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender],
    }


NODES = [a_node("n1", maintenance="true"), a_node("n2", licences="1"), a_node("n3", licences="9")]


def test_extenders_filter_and_score_nodes(address: str, server: LicenceServer) -> None:
    pods = [build_pod(f"p{index}").obj() for index in range(5)]
    result = Simulation.load(NODES, pods, config=configuration(address), extenders=True).run()
    assert {placement.node for placement in result.placements.values()} == {"n2", "n3"}
    assert result.placements["default/p0"].node == "n3"
    assert (result.notes, result.summary.seconds) == ((), 0)
    assert server.asked == ["filter", "prioritize"] * 4 + ["filter"], "the last pod has one node to go to"


def test_without_being_requested_they_are_left_out_and_a_note_says_so(address: str, server: LicenceServer) -> None:
    result = Simulation.load(NODES, build_pod("p").obj(), config=configuration(address)).run()
    assert server.asked == []
    assert result.notes[0].startswith(f"extenders are not called in a simulation: {address}")


def test_the_same_simulation_gives_the_same_result(address: str) -> None:
    def run() -> dict[str, Any]:
        pods = [build_pod(f"p{index}").obj() for index in range(8)]
        return Simulation.load(NODES, pods, config=configuration(address), extenders=True, seed=4).run().to_dict()

    assert run() == run()


def test_a_pod_fails_if_an_extender_does_and_is_placed_if_that_may_be_ignored(
    address: str, server: LicenceServer
) -> None:
    server.fails = True
    pod = build_pod("p").obj()
    failed = Simulation.load(NODES, pod, config=configuration(address), extenders=True).run()
    assert "failed filter with extender at URL" in failed.failed["default/p"].message
    ignored = Simulation.load(NODES, pod, config=configuration(address, ignorable=True), extenders=True).run()
    assert ignored.summary.scheduled == 1


def test_an_extender_that_does_not_answer_is_given_up_after_its_timeout(server: LicenceServer) -> None:
    config = configuration("http://127.0.0.1:1", httpTimeout="100ms")
    result = Simulation.load(NODES, build_pod("p").obj(), config=config, extenders=True).run()
    assert 'Post "http://127.0.0.1:1/filter"' in result.failed["default/p"].message


def test_refused_nodes_are_in_the_message_and_time_passes_only_virtually(address: str) -> None:
    sim = Simulation.load(NODES[:1], build_pod("p").obj(), config=configuration(address), extenders=True)
    result = sim.run(until=600)
    message = result.pending["default/p"].message
    assert message.startswith("0/1 nodes are available: 1 in maintenance.")
    assert result.summary.seconds == 600


def test_forks_and_pickled_copies_ask_too(address: str, server: LicenceServer) -> None:
    sim = Simulation.load(NODES, config=configuration(address), extenders=True)
    for copy in (sim.fork(), pickle.loads(pickle.dumps(sim))):
        asked = len(server.asked)
        assert copy.add(build_pod("p").obj()).run().placements["default/p"].node == "n3"
        assert len(server.asked) > asked


def test_an_extender_that_binds_is_not_asked_to(address: str, server: LicenceServer) -> None:
    config = configuration(address, bindVerb="bind")
    result = Simulation.load(NODES, build_pod("p").obj(), config=config, extenders=True).run()
    assert result.summary.scheduled == 1
    assert "bind" not in server.asked
    assert result.notes == (f"extenders do not bind in a simulation: {address}",)


def test_certificates_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    config = configuration("https://127.0.0.1:1", tlsConfig={"caFile": str(tmp_path / "none.pem")}, enableHTTPS=True)
    with pytest.raises(InputError, match="cannot set up TLS"):
        Simulation.load(NODES, config=config, extenders=True)


def test_scenarios_and_the_command_call_extenders_on_request(address: str, tmp_path: Path) -> None:
    document = a_scenario(cluster=NODES, config=configuration(address), timeline=[{"at": 5, "apply": a_pod("p")}])
    assert run_scenario({**document, "extenders": True}).placements["default/p"].node == "n3"
    path, config = tmp_path / "objects.json", tmp_path / "config.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*NODES, a_pod("p")]}))
    config.write_text(json.dumps(configuration(address)))
    result = steersman("simulate", "-f", path, "--config", config, "--extenders", "-o", "json")
    assert json.loads(result.stdout)["placements"][0]["node"] == "n3"
