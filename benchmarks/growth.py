# SPDX-License-Identifier: Apache-2.0
"""How the cost per pod grows from 10,000 to 150,000 pods on 15,000 nodes; `scale` has the growth with nodes."""

from __future__ import annotations

import gc
import statistics
from typing import Final

from benchmarks.hot_path import AcceptingWriter, microseconds_per_pod, no_task
from benchmarks.populations import WORKLOADS, MakePod, make_nodes
from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.scheduler.assembly import Scheduler
from steersman.testing import make_pod

NODES: Final = 15_000
EXISTING: Final = (10_000, 150_000)
ROUNDS: Final = 7
CHUNK: Final = 200
APPLICATIONS: Final = 100


def existing_pod(index: int, nodes: int) -> api.Pod:
    pod = make_pod(f"existing-{index}").namespace(f"team-{index % 20}").label("app", f"app-{index % APPLICATIONS}")
    return pod.req(cpu="50m", memory="64Mi").node(f"node-{index % nodes}").obj()


class Contender:
    """A scheduler with its cluster, and pods that wait."""

    def __init__(self, name: str, nodes: int, existing: int) -> None:
        make, objects, _ = WORKLOADS[name]
        self._make: MakePod = make
        self._writer = AcceptingWriter()
        self._scheduler = Scheduler(ManualClock(), SeededRng(1), self._writer, no_task)
        for obj in (*make_nodes(nodes), *objects):
            self._scheduler.ingest.changed(obj)
        for index in range(existing):
            self._scheduler.ingest.changed(existing_pod(index, nodes))
        self._made = 0
        self.chunk()

    def chunk(self) -> float:
        """µs per pod for some more pods."""
        for index in range(self._made, self._made + CHUNK):
            self._scheduler.ingest.changed(self._make(index))
        self._made += CHUNK
        gc.collect()
        gc.freeze()
        try:
            return microseconds_per_pod(self._scheduler, CHUNK)
        finally:
            gc.unfreeze()


def growth(name: str) -> tuple[float, float]:
    """Median µs per pod of both, in turn: what slows the machine down slows both down."""
    contenders = [Contender(name, NODES, existing) for existing in EXISTING]
    rounds = [[contender.chunk() for contender in contenders] for _ in range(ROUNDS)]
    first, second = zip(*rounds, strict=True)
    return statistics.median(first), statistics.median(second)


def main(names: list[str] | None = None) -> None:
    print("growth from the queue to the binding, replicas together, µs per pod")
    for name in names or list(WORKLOADS):
        empty, full = growth(name)
        by_pods = f"{EXISTING[0]:,} to {EXISTING[1]:,} pods {empty:6.1f} → {full:6.1f} ({full / empty:.2f}×)"
        print(f"{name:24} {by_pods}", flush=True)
