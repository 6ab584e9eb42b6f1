# SPDX-License-Identifier: Apache-2.0
"""`simulate --record`: two simulations in one process, one of which is recorded, work in turn on the basic workload.

A round is a stretch of pods that are given to the simulation and scheduled, and its record on disk. CPU time is that of the
process, the thread of the record included. Nothing waits for anybody here, so that CPU time is throughput.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.race.workloads import node, pod_manifest
from steersman import Simulation
from steersman.record import record_simulation
from steersman.record.simulation_recorder import SimulationRecorder


def simulated_rounds(rounds: int, pods: int, nodes: int, folder: Path) -> Iterator[tuple[float, float]]:
    """CPU time per pod in µs, without and with a record, of each round after the first, which is for warming up."""
    plain, recorded = (Simulation.load([node(index) for index in range(nodes)], seed=1) for _ in range(2))
    with plain, recorded, record_simulation(recorded, folder / "record") as recorder:
        for number in range(rounds + 1):
            manifests = [pod_manifest(f"basic-{index}") for index in range(number * pods, (number + 1) * pods)]
            sides = ((plain, None), (recorded, recorder))
            costs = {
                simulation: _cost(simulation, manifests, log) for simulation, log in sides[:: 1 - 2 * (number % 2)]
            }
            if number:
                yield costs[plain], costs[recorded]


def _cost(simulation: Simulation, manifests: list[dict[str, Any]], recorder: SimulationRecorder | None) -> float:
    gc.collect()  # so that nobody pays for what the other has left
    began = time.process_time()
    simulation.add(manifests)
    simulation.run()
    if recorder is not None:
        recorder.flush()
    return (time.process_time() - began) * 1e6 / len(manifests)
