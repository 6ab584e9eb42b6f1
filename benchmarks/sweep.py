# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks sweep`: three configurations × fifty seeds in one process and in two, in turn.

Two ratios: of wall-clock time, which other work on the machine distorts, and of CPU time on the longest way through the sweep:
what this process does alone or the import of a fork server, which happen at the same time, and the busiest worker.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from typing import Any, NamedTuple

from steersman.simulation.sweep import run

ROUNDS = 3
SEEDS = 50
NODES, PODS = 200, 1500
STRATEGIES = ("LeastAllocated", "MostAllocated")


class Measured(NamedTuple):
    """One sweep: wall-clock seconds, and CPU seconds on its longest way."""

    wall: float
    longest: float


def main(names: list[str] | None = None) -> None:
    """`names`: the number of rounds, and of seeds, if they are to be others."""
    rounds, seeds = (*map(int, names or ()), *(ROUNDS, SEEDS)[len(names or ()) :])
    document = a_sweep(seeds)
    found: dict[int, list[Measured]] = {1: [], 2: []}
    for number in range(rounds):
        for workers in (1, 2) if number % 2 == 0 else (2, 1):
            measured = measure(document, workers)
            found[workers].append(measured)
            said = f"{measured.wall:6.1f} s, {measured.longest:6.1f} s of CPU time on the longest way"
            print(f"{workers} process{'es' if workers > 1 else '  '}: {said}", flush=True)
    for what, of in (("wall-clock time", "wall"), ("CPU time", "longest")):
        one, two = (statistics.median(getattr(each, of) for each in found[workers]) for workers in (1, 2))
        print(
            f"{3 * seeds} runs, {what}: {one:.1f} s in one process, {two:.1f} s in two: {one / two:.2f} times as fast"
        )


def measure(document: dict[str, Any], workers: int) -> Measured:
    began, cpu_began = time.perf_counter(), time.process_time()
    result = run(document, workers=workers)
    wall, own = time.perf_counter() - began, time.process_time() - cpu_began
    if workers == 1:
        return Measured(wall, own)
    by_worker: defaultdict[str, float] = defaultdict(float)
    for outcome in result.outcomes:
        by_worker[outcome.worker] += outcome.cpu_seconds
    return Measured(wall, max(own, import_seconds()) + max(by_worker.values()))


def import_seconds() -> float:
    """CPU time of a process that imports what workers need."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", "import steersman.simulation.processes, steersman.simulation.sweep"], check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def a_sweep(seeds: int) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [{"name": "default"}]
    choices += ({"name": strategy, "config": _configuration(strategy)} for strategy in STRATEGIES)
    return {
        "apiVersion": "steersman.dev/v1alpha1",
        "kind": "Sweep",
        "configurations": choices,
        "inputs": [{"name": "cluster", "manifests": [*map(_node, range(NODES)), *map(_pod, range(PODS))]}],
        "seeds": seeds,
    }


def _configuration(strategy: str) -> dict[str, Any]:
    arguments = {"scoringStrategy": {"type": strategy, "resources": [{"name": "cpu", "weight": 1}]}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": arguments}]}],
    }


def _node(number: int) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": f"n{number}", "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number}", "labels": labels},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def _pod(number: int) -> dict[str, Any]:
    """Of three templates in turn, so that few can be placed together."""
    requests = {"cpu": ("500m", "1", "1500m")[number % 3], "memory": "1Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{number}", "labels": {"app": f"app-{number % 3}"}},
        "spec": {"containers": [{"name": "main", "image": "main", "resources": {"requests": requests}}]},
    }


if __name__ == "__main__":
    main(sys.argv[1:])
