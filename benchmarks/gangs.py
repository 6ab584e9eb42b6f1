# SPDX-License-Identifier: Apache-2.0
"""CPU time per pod of gangs, of plain replicas, and of gangs whose every rack is tried and scored.

    python -m benchmarks gangs [plain|gangs|racks…]

One process, alternating rounds on clusters of their own, so that other work on the machine affects all alike; figures are
the least CPU time of the rounds.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.hot_path import AcceptingWriter, no_task
from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.config import FeatureGates, default_configuration
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.testing import make_node, make_pod, make_pod_group

NODES = 5000
RACKS = 50
ROUNDS = 3
TOGETHER = 64
RACK = "rack"


class Workload(NamedTuple):
    """Gates and objects of one kind of workload."""

    gates: dict[str, bool]
    groups: int
    size: int
    topology: bool = False

    @property
    def pods(self) -> int:
        return self.groups * self.size

    def group_objects(self) -> Iterator[api.PodGroup]:
        for number in range(self.groups if self.gates else 0):
            group = make_pod_group(f"gang-{number}").gang(self.size)
            yield (group.topology(RACK) if self.topology else group).obj()

    def pod(self, index: int) -> api.Pod:
        made = make_pod(f"pod-{index}").label("app", "worker").req(cpu="100m", memory="256Mi")
        return (made.in_group(f"gang-{index // self.size}") if self.gates else made).obj()


_GROUPS = {"GenericWorkload": True}
WORKLOADS = {
    "plain": Workload({}, 1000, 16),
    "gangs": Workload(_GROUPS, 1000, 16),
    "racks": Workload({**_GROUPS, "TopologyAwareWorkloadScheduling": True}, 200, 16, topology=True),
}


def make_nodes() -> Iterator[api.Node]:
    for index in range(NODES):
        node = make_node(f"node-{index}").capacity(cpu="32", memory="128Gi", pods=110)
        yield node.label(RACK, f"rack-{index % RACKS}").label("kubernetes.io/hostname", f"node-{index}").obj()


def microseconds_per_pod(workload: Workload, clock: Callable[[], float] = time.process_time) -> float:
    """Return the CPU time from the arrival of the pods to their bindings."""
    writer, gates = AcceptingWriter(), FeatureGates(workload.gates, "1.37")
    options = SchedulerOptions(default_configuration(gates), gates)
    scheduler = Scheduler(ManualClock(), SeededRng(1), writer, no_task, options)
    for obj in (*make_nodes(), *workload.group_objects()):
        scheduler.ingest.changed(obj)
    pods = [workload.pod(index) for index in range(workload.pods)]
    gc.collect()
    gc.freeze()
    started = clock()
    for pod in pods:
        scheduler.ingest.changed(pod)
    while scheduler.schedule_some(TOGETHER):
        pass
    passed = clock() - started
    gc.unfreeze()
    if writer.bound != workload.pods:
        raise RuntimeError(f"{writer.bound} of {workload.pods} pods were bound; first failure: {writer.failures[:1]}")
    return passed / workload.pods * 1e6


def main(names: list[str] | None = None) -> None:
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name in names or WORKLOADS:
            best[name] = min(best.get(name, float("inf")), microseconds_per_pod(WORKLOADS[name]))
    for name, micros in best.items():
        workload = WORKLOADS[name]
        ratio = f", {micros / best['plain']:.2f} times plain" if "plain" in best else ""
        print(
            f"{name}: {workload.groups} × {workload.size} pods on {NODES:,} nodes: {micros:,.1f} µs of CPU per pod, "
            f"{1e6 / micros:,.0f} pods/s{ratio}"
        )
