# SPDX-License-Identifier: Apache-2.0
"""`make report-picture`: simulates a cluster of four pools, writes the report, and has a real browser draw its top as a PNG."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from steersman import Simulation, api
from steersman.base.report import render_html
from steersman.simulation.report import node_groups, simulation_report
from steersman.testing import make_node, make_pod

POOLS: Final = {
    "general": (120, "8", "32Gi"),
    "highmem": (60, "8", "64Gi"),
    "gpu": (20, "16", "128Gi"),
    "spot": (80, "4", "16Gi"),
}
WIDTH: Final = 1180
HEIGHT: Final = 1420
VISIT: Final = Path(__file__).with_name("visit_page.py")


def nodes() -> Iterator[api.Node]:
    for pool, (count, cpu, memory) in POOLS.items():
        for number in range(count):
            node = make_node(f"{pool}-{number}").capacity(cpu=cpu, memory=memory)
            yield node.label("steersman.dev/pool", pool).obj()


def pods(chance: random.Random) -> Iterator[api.Pod]:
    """Some on nodes already, more that look for one, and a few that are too large for any."""
    running = [f"{pool}-{chance.randrange(count)}" for pool, (count, _, _) in POOLS.items() for _ in range(2 * count)]
    for number, node in enumerate(running):
        yield make_pod(f"old-{number}").req(cpu=chance.choice(("250m", "500m")), memory="1Gi").node(node).obj()
    for number in range(700):
        yield make_pod(f"web-{number}").req(cpu=chance.choice(("500m", "1", "2")), memory="2Gi").obj()
    for number in range(6):
        yield (
            make_pod(f"train-{number}")
            .req(cpu="15", memory="96Gi")
            .node_selector("steersman.dev/pool", "highmem")
            .obj()
        )


def page() -> str:
    simulation = Simulation.load(list(nodes()), list(pods(random.Random(1))), seed=1)
    before = simulation.result()
    groups = node_groups(simulation.cluster.objects(api.Node).values())
    return render_html(
        simulation_report(simulation.run(), before, groups, ["steersman simulate -f cluster.json --report out.html"])
    )


def main(target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "out.html"
        report.write_text(page(), encoding="utf-8")
        steps = [["wait", "html[data-state=drawn]"], ["screenshot", str(Path(target).resolve()), {}]]
        visit = {"url": report.as_uri(), "width": WIDTH, "height": HEIGHT, "theme": "light", "steps": steps}
        command = [os.environ["BROWSER_PYTHON"], str(VISIT), os.environ["CHROMIUM"]]
        subprocess.run(command, input=json.dumps(visit), text=True, check=True, timeout=300, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(*sys.argv[1:])
