# SPDX-License-Identifier: Apache-2.0
"""Claims for devices that ask for more than can be worked out in time: the pod waits, everybody else goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import CLAIMS, DEVICE_CLASSES, PODS, SLICES, StubApiServer

from steersman.testing import make_device_class, make_pod, make_resource_claim, make_slice
from steersman.testing.control_plane import manifest, wait_until

ZEROS: Final = f"isQuantity('{'0' * 3000}x')"
MATCHES: Final = f"'{'a' * 3000}'.matches('((((a?){{10}}){{10}}){{10}})b')"
FIND_ALL: Final = f"'{'a' * 3000}'.findAll('a*b|a').size() == 1"
DOUBLED: Final = "".join(f"cel.bind(a{n + 1}, a{n} + a{n}, " for n in range(60))
LISTS: Final = f"cel.bind(a0, [0], {DOUBLED}a60.size() == 1{')' * 61}"
LONG_INTEGER: Final = f"int('{'9' * 5000}') > 0"
EXPRESSIONS: Final = {
    "quantity-of-zeros": (ZEROS, "cannot allocate all claims"),
    "nested-repetitions": (MATCHES, "a regular expression of"),
    "matches-that-look-far-ahead": (FIND_ALL, ""),
    "list-doubled-sixty-times": (LISTS, "operation cancelled: a list of 262144 elements would be made"),
    "integer-of-5000-digits": (LONG_INTEGER, "type conversion error from 'string' to 'int'"),
}


def with_devices(server: StubApiServer, selector: str = "true", count: int = 2) -> StubApiServer:
    """Two nodes, of which n0 has devices of the class `gpu`."""
    builder = make_slice("n0").on_node("n0")
    for index in range(count):
        builder = builder.device(f"gpu-{index:02}", index=index)
    server.put(SLICES, manifest(builder))
    server.put(DEVICE_CLASSES, manifest(make_device_class("gpu").selects(selector)))
    return with_nodes(server)


def message(server: StubApiServer, pod: str) -> str:
    text: str = server.conditions(f"default/{pod}").get("PodScheduled", {}).get("message", "")
    return text


@pytest.mark.parametrize("where", ["class", "claim"])
def test_no_expression_of_a_selector_keeps_others_waiting(tmp_path: Path, where: str) -> None:
    with StubApiServer() as server, SteersmanProcess(with_devices(server), tmp_path) as steersman:
        for name, (expression, _) in EXPRESSIONS.items():
            server.put(DEVICE_CLASSES, manifest(make_device_class(name).selects(expression)))
            asks = (name,) if where == "class" else ("gpu", expression)
            server.put(CLAIMS, manifest(make_resource_claim(name).asks("r", *asks)))
            server.put(PODS, manifest(make_pod(name).resource_claim(name)))
            assert schedules_pods(server, f"beside-{name}", seconds=5)
            assert steersman.is_alive()
        for name, (_, expected) in EXPRESSIONS.items():
            wait_until(lambda pod=name: message(server, pod), 10, what=f"a condition of {name}")  # type: ignore[misc]
            assert expected in message(server, name)
        assert schedules_pods(server, "last", seconds=5)


def test_a_search_through_millions_of_combinations_does_not_keep_others_waiting(tmp_path: Path) -> None:
    args = {"pluginConfig": [{"name": "DynamicResources", "args": {"filterTimeout": "1s"}}]}
    with StubApiServer() as server:
        with_devices(server, count=24)
        with SteersmanProcess(server, tmp_path, config={"profiles": [args]}) as steersman:
            for index in range(5):
                claim = make_resource_claim(f"c{index}").asks("many", "gpu", count=12).asks("one", "gpu", "false")
                server.put(CLAIMS, manifest(claim))
                server.put(PODS, manifest(make_pod(f"hostile-{index}").resource_claim(f"c{index}")))
            for index in range(20):
                assert schedules_pods(server, f"ordinary-{index}", seconds=5)
                assert steersman.is_alive()
            for index in range(5):
                wait_until(lambda pod=f"hostile-{index}": message(server, pod), 60, what="a condition")  # type: ignore[misc]
                assert message(server, f"hostile-{index}").endswith("node n0: timed out trying to allocate devices")
            assert steersman.metric("steersman_postponed_attempts_total") >= 5
            assert schedules_pods(server, "last", seconds=5)


def test_a_long_search_ends_with_its_pod(tmp_path: Path) -> None:
    with StubApiServer() as server:
        with_devices(server, count=24)
        with SteersmanProcess(server, tmp_path) as steersman:
            server.put(
                CLAIMS, manifest(make_resource_claim("c").asks("many", "gpu", count=12).asks("one", "gpu", "false"))
            )
            server.put(PODS, manifest(make_pod("hostile").resource_claim("c")))
            wait_until(
                lambda: steersman.metric("steersman_postponed_attempts_total") > 0, 10, what="a postponed attempt"
            )
            server.delete(PODS, "default/hostile")
            in_flight = 'scheduler_inflight_events{event="PodPopped"}'
            wait_until(lambda: steersman.metric(in_flight) == 0, 5, what="an end of the attempt")
            assert schedules_pods(server, "ordinary", seconds=5)
