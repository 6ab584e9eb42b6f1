# SPDX-License-Identifier: Apache-2.0
"""The gang of examples/gang: all of its pods, or none."""

from __future__ import annotations

from pathlib import Path

from steersman import api
from steersman.simulation import Simulation

GANG = Path(__file__).parents[2] / "examples" / "gang"


def test_the_gang_that_fits_runs_and_the_other_holds_nothing() -> None:
    with Simulation.load(
        str(GANG / "cluster.yaml"), str(GANG / "pods.yaml"), plugins=[str(GANG / "gang.py")]
    ) as simulation:
        simulation.run(until=300)
        pods = simulation.cluster.objects(api.Pod).values()
        bound = {pod.metadata.name for pod in pods if pod.spec.node_name}
    assert bound == {"small-0", "small-1", "small-2"}


def test_it_takes_forty_lines() -> None:
    assert len((GANG / "gang.py").read_text().splitlines()) <= 40
