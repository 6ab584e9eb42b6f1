# SPDX-License-Identifier: Apache-2.0
"""How the cost of a simulation grows with its nodes: loading, memory, forks, and CPU time per pod of each kind.

    python -m benchmarks scale [--nodes 5000,100000] [--million] [kind…]

CPU time of this process, through the library. Every kind has a process of its own, in which a cluster is loaded, 1,000
pods are added (200 of some kinds), and `run()` schedules them and makes a result: first on a cluster on which nothing
was scheduled yet, then again. `--million` loads 1,000,000 nodes, and a Deployment of 1,000,000 replicas.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.populations import (
    HOSTNAME,
    SERVICE,
    ZONE,
    MakePod,
    basic,
    default_spreading,
    make_nodes,
    one_signature,
    preferred_affinity,
)
from steersman import api
from steersman.base import POOLS_VERSION
from steersman.simulation import Simulation, load_pools
from steersman.testing import make_claim, make_pod

SIZES: Final = "5000,100000"
MILLION: Final = 1_000_000
WEB: Final = {"app": "web"}
REPLICAS: Final = 1000


class Kind(NamedTuple):
    """Pods of one kind, and what is in the cluster before them."""

    make: MakePod
    pods: int = REPLICAS
    objects: Callable[[int], Iterable[api.Object]] = lambda _: ()


def zone_spread(index: int) -> api.Pod:
    return basic(index).spread(ZONE, max_skew=1, when="DoNotSchedule", selector=WEB).obj()


def hostname_spread(index: int) -> api.Pod:
    return basic(index).spread(HOSTNAME, max_skew=1, when="DoNotSchedule", selector=WEB).obj()


def host_anti_affinity(index: int) -> api.Pod:
    return basic(index).anti_affinity(HOSTNAME, WEB).obj()


def zone_affinity(index: int) -> api.Pod:
    return basic(index).pod_affinity(ZONE, WEB).obj()


def own_template(index: int) -> api.Pod:
    return make_pod(f"pod-{index}").label("app", f"app-{index}").req(cpu=f"{100 + index}m", memory="256Mi").obj()


def too_large(index: int) -> api.Pod:
    return make_pod(f"pod-{index}").label("app", "web").req(cpu="1000", memory="256Mi").obj()


def preempting(index: int) -> api.Pod:
    return make_pod(f"pod-{index}").priority(100).req(cpu="12", memory="1Gi").obj()


def victims(nodes: int) -> Iterable[api.Object]:
    """Every node is full of a pod of low priority."""
    for index, node in enumerate(make_nodes(nodes)):
        cpu = int(node.status.allocatable["cpu"]) - 8
        yield make_pod(f"low-{index}").priority(1).req(cpu=str(cpu), memory="1Gi").node(node.metadata.name).obj()


def with_claim(index: int) -> api.Pod:
    return basic(index).pvc(f"data-{index}").obj()


def claims(_: int) -> Iterable[api.Object]:
    return (make_claim(f"data-{index}").storage_class("fast").obj() for index in range(3 * 200))


KINDS: Final = {
    "plain": Kind(one_signature),
    "zone spread": Kind(zone_spread),
    "hostname spread": Kind(hostname_spread),
    "default spread": Kind(default_spreading, objects=lambda _: (SERVICE,)),
    "host anti-affinity": Kind(host_anti_affinity),
    "zone affinity": Kind(zone_affinity),
    "preferred affinity": Kind(preferred_affinity),
    "template per pod": Kind(own_template, 200),
    "unschedulable": Kind(too_large, 200),
    "volumes": Kind(with_claim, 200, claims),
    "preemption": Kind(preempting, 200, victims),
}


class Loaded(NamedTuple):
    """CPU µs and bytes per node."""

    micros: float
    size: float


class Cost(NamedTuple):
    """CPU µs per pod: the first pods of a cluster, later ones, and as a what-if question (added, run, reverted)."""

    first: float
    later: float
    what_if: float


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def load(nodes: int, objects: Iterable[api.Object] = ()) -> tuple[Simulation, Loaded]:
    made, others = make_nodes(nodes), list(objects)
    gc.collect()
    size, start = resident_bytes(), time.process_time()
    simulation = Simulation.load(made, others)
    seconds = time.process_time() - start
    return simulation, Loaded(seconds / nodes * 1e6, (resident_bytes() - size) / nodes)


def measure(name: str, nodes: int) -> Cost:
    kind = KINDS[name]
    simulation, _ = load(nodes, kind.objects(nodes))
    first = _placed(simulation, kind, 0)
    later = _placed(simulation, kind, kind.pods)
    pods = [kind.make(index) for index in range(2 * kind.pods, 3 * kind.pods)]
    trial = simulation.fork()
    gc.collect()
    start = time.process_time()
    trial.add(*pods).run()
    trial.revert()
    return Cost(first, later, (time.process_time() - start) / kind.pods * 1e6)


def _placed(simulation: Simulation, kind: Kind, first: int) -> float:
    simulation.add(*(kind.make(index) for index in range(first, first + kind.pods)))
    gc.collect()
    start = time.process_time()
    simulation.run()
    return (time.process_time() - start) / kind.pods * 1e6


def measure_load(nodes: int) -> tuple[Loaded, float, float]:
    """Return also the milliseconds of the first and of a later fork."""
    simulation, loaded = load(nodes)
    forks = []
    for _ in range(4):
        gc.collect()
        start = time.process_time()
        fork = simulation.fork()
        forks.append((time.process_time() - start) * 1e3)
        del fork
    return loaded, forks[0], min(forks)


def own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function in a new process, so that its memory and caches are its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


# -- a million -----------------------------------------------------------------------------------------------------------


POOL: Final[dict[str, Any]] = {
    "apiVersion": POOLS_VERSION,
    "kind": "NodePools",
    "pools": [
        {
            "name": "node",
            "pricePerHour": 0.4,
            "zones": ["zone-a", "zone-b", "zone-c"],
            "template": {"status": {"allocatable": {"cpu": "32", "memory": "128Gi"}}},
        }
    ],
}


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


def million(nodes: int, pods: int, deployments: int = 1) -> None:
    """Load nodes of a pool and Deployments, schedule all replicas, and report, step by step."""
    before = resident_bytes()
    last = time.process_time()

    def step(what: str, count: int) -> None:
        nonlocal last
        seconds, last = time.process_time() - last, time.process_time()
        size = (resident_bytes() - before) / 1e9
        print(f"{what:44}{seconds:8.1f} s CPU {seconds / count * 1e6:8.1f} µs each {size:8.2f} GB", flush=True)

    simulation = Simulation.load(load_pools(POOL)["node"].make_nodes(nodes))
    step(f"{nodes:,} nodes of a pool loaded", nodes)
    simulation.add(*(deployment(number, pods // deployments) for number in range(deployments)))
    result = simulation.run()
    step(f"{pods:,} replicas created, scheduled, running", pods)
    print(result.summary)
    print({name: f"{usage.fraction:.1%}" for name, usage in result.utilisation.cluster.items()})
    step("result read", pods)
    simulation.scheduler.cycle.validate_state()
    simulation.scheduler.cache.validate_state()
    simulation.scheduler.queue.validate_state()
    step("state validated", pods)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale")
    parser.add_argument("kinds", nargs="*", metavar="kind", help=f"any of {', '.join(KINDS)}")
    parser.add_argument("--nodes", default=SIZES, help="comma-separated numbers of nodes")
    parser.add_argument("--million", action="store_true", help="only 1,000,000 nodes with 1,000,000 pods")
    parser.add_argument("--pods", type=int, default=MILLION, help="of --million")
    options = parser.parse_args(arguments)
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        parser.error(f"unknown kind {sorted(unknown)[0]!r}; known: {', '.join(KINDS)}")
    sizes = [int(number) for number in options.nodes.split(",")]
    if options.million:
        million(MILLION if options.nodes == SIZES else sizes[0], options.pods)
        return
    for nodes in sizes:
        loaded, first, later = own_process(measure_load, nodes)
        print(
            f"{nodes:9,} nodes: {loaded.micros:6.1f} µs and {loaded.size:7,.0f} bytes per node, "
            f"fork {first:6.1f} ms, later ones {later:6.1f} ms",
            flush=True,
        )
    print(f"\n{'CPU µs per pod':20}" + "".join(f"{f'{n:,} nodes: first, later, what-if':>44}" for n in sizes))
    for name in options.kinds or KINDS:
        costs = [own_process(measure, name, nodes) for nodes in sizes]
        cells = "".join(f"{c.first:20.0f}{c.later:12.0f}{c.what_if:12.0f}" for c in costs)
        ratios = [f"{large / small:.1f}×" for small, large in zip(costs[0], costs[-1], strict=True)]
        print(f"{name:20}{cells}   {' '.join(ratios)}", flush=True)
