# SPDX-License-Identifier: Apache-2.0
"""Forks of a simulation with 5,000 nodes and 50,000 pods: milliseconds and megabytes.

Of two clusters: one whose pods were given with their nodes, as a dump has them, and one in which Deployments have made them
and the scheduler has placed them. Time is that of the process, the least of several forks, because other work on the machine
is none of ours; the time on the wall is printed beside it. Memory is what Python allocated for one fork.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from steersman import api
from steersman.simulation import Simulation
from steersman.testing import make_node, make_pod

NODES = 5_000
PODS = 50_000
DEPLOYMENTS = 250
FORKS = 9


def nodes(count: int) -> list[api.Node]:
    return [
        make_node(f"node-{number}")
        .capacity(cpu="32", memory="128Gi", pods=110)
        .label("kubernetes.io/hostname", f"node-{number}")
        .label("topology.kubernetes.io/zone", f"zone-{number % 3}")
        .obj()
        for number in range(count)
    ]


def given(node_count: int, pod_count: int) -> Simulation:
    """Pods that came with their nodes."""
    pods = [
        make_pod(f"app-{number}")
        .label("app", f"app-{number % DEPLOYMENTS}")
        .req(cpu="500m", memory="1Gi")
        .node(f"node-{number % node_count}")
        .obj()
        for number in range(pod_count)
    ]
    return Simulation.load(nodes(node_count), pods)


def deployment(number: int, replicas: int) -> dict[str, Any]:
    labels = {"app": f"app-{number}"}
    container = {"name": "c", "image": "app", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"app-{number}"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def deployed(node_count: int, pod_count: int) -> Simulation:
    """Pods that controllers have made, and the scheduler has placed."""
    replicas = pod_count // DEPLOYMENTS
    return Simulation.load(nodes(node_count), [deployment(number, replicas) for number in range(DEPLOYMENTS)])


def measure(simulation: Simulation) -> tuple[float, float, float]:
    """Milliseconds of the process and on the wall, and megabytes, of a fork."""
    spent: list[tuple[float, float]] = []
    for _ in range(FORKS):
        gc.collect()
        before = time.process_time(), time.perf_counter()
        fork = simulation.fork()
        spent.append(((time.process_time() - before[0]) * 1000, (time.perf_counter() - before[1]) * 1000))
        del fork
    tracemalloc.start()
    kept = simulation.fork()
    megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    del kept
    return min(cpu for cpu, _ in spent), min(wall for _, wall in spent), megabytes


def main() -> None:
    cases: tuple[tuple[str, Callable[[int, int], Simulation]], ...] = (("given", given), ("of Deployments", deployed))
    for name, make in cases:
        simulation = make(NODES, PODS)
        simulation.run()
        cpu, wall, megabytes = measure(simulation)
        size = f"{NODES:,} nodes and {PODS:,} pods {name}"
        print(f"fork: {cpu:.1f} ms ({wall:.1f} ms on the wall), {megabytes:.1f} MB with {size}")


if __name__ == "__main__":
    main()
