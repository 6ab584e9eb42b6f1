# SPDX-License-Identifier: Apache-2.0
"""The package of examples/node_load: scores by what an HTTP service says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from steersman import api
from steersman.config import ConfigError
from steersman.simulation import Simulation
from steersman.testing import Harness, make_node, make_pod

FOLDER = Path(__file__).parents[2] / "examples" / "node_load"
PLUGIN = FOLDER / "steersman_node_load.py"


class Service:
    """Answers with the loads, or with an error when there are none."""

    def __init__(self) -> None:
        self.loads: dict[str, float] | None = json.loads((FOLDER / "service" / "load").read_text())
        self.url = ""


@contextmanager
def serving() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(500 if service.loads is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(service.loads).encode())

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        service.url = f"http://127.0.0.1:{server.server_port}/load"
        yield service
        server.shutdown()


def harness(service: Service) -> Harness:
    nodes = [make_node("n1").capacity(cpu="8"), make_node("n2").capacity(cpu="8")]
    return Harness(plugins=[PLUGIN], nodes=nodes, args={"NodeLoad": {"url": service.url, "fullAt": 0.95}})


def test_the_node_with_less_to_do_wins_a_simulation(tmp_path: Path) -> None:
    with serving() as service:
        configuration = tmp_path / "config.yaml"
        configuration.write_text(
            (FOLDER / "config.yaml").read_text().replace("http://127.0.0.1:9101/load", service.url)
        )
        files = [FOLDER / "cluster.yaml", FOLDER / "pods.yaml"]
        simulation = Simulation.load(*files, plugins=[PLUGIN], config=configuration)
        assert simulation.run().placements["default/web"].node == "n2"
        assert simulation.cluster.get(api.Pod, "default/web").spec.node_name == "n2"


def test_nodes_score_by_load_and_in_the_middle_without_data() -> None:
    with serving() as service:
        made = harness(service)
        assert made.scores(make_pod("web"))["NodeLoad"] == {"n1": 10, "n2": 80}
        service.loads = None
        for _ in range(3):
            made.refresh()
        assert made.scores(make_pod("web"))["NodeLoad"] == {"n1": 50, "n2": 50}


def test_a_pod_waits_until_a_node_has_less_to_do() -> None:
    with serving() as service:
        service.loads = {"n1": 0.99, "n2": 1.0}
        made = harness(service)
        made.add(make_pod("web"))
        made.run()
        assert "2 node(s) have too much to do" in made.message(make_pod("web"))
        service.loads = {"n1": 0.5, "n2": 1.0}
        made.refresh()
        made.run()
        assert made.cluster.get(api.Pod, "default/web").spec.node_name == "n1"


def test_without_an_address_it_does_not_start() -> None:
    with pytest.raises(ConfigError, match=r"profiles\[0\]\.pluginConfig\[NodeLoad\]\.args\.url: Required value"):
        Harness(plugins=[PLUGIN])
