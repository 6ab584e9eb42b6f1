# SPDX-License-Identifier: Apache-2.0
"""The gang of examples/plugins/gang.py, by labels: all of its pods, or none."""

from __future__ import annotations

from pathlib import Path

from steersman import api
from steersman.simulation import Simulation
from steersman.testing import make_node, make_pod

GANG = Path(__file__).parents[2] / "examples" / "plugins" / "gang.py"


def members(name: str, size: int) -> list[api.Pod]:
    labels = {"gang": name, "gang-size": str(size)}
    return [make_pod(f"{name}-{index}").labels(labels).req(cpu="1").obj() for index in range(size)]


def test_the_gang_that_fits_runs_and_the_other_holds_nothing() -> None:
    nodes = [make_node(f"n{index}").allocatable(cpu="2", memory="4Gi", pods="10").obj() for index in range(2)]
    with Simulation.load(*nodes, *members("small", 3), *members("large", 5), plugins=[str(GANG)]) as simulation:
        simulation.run(until=300)
        pods = simulation.cluster.objects(api.Pod).values()
        bound = {pod.metadata.name for pod in pods if pod.spec.node_name}
    assert bound == {"small-0", "small-1", "small-2"}


def test_it_takes_forty_lines() -> None:
    assert len(GANG.read_text().splitlines()) <= 40
