# SPDX-License-Identifier: Apache-2.0
"""Memory of a scheduler that holds 15,000 nodes and 150,000 running pods, read from JSON as a watch would deliver them."""

from __future__ import annotations

import resource

from benchmarks.hot_path import AcceptingWriter, no_task
from benchmarks.populations import make_nodes
from steersman.api import Pod, codec
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.scheduler.assembly import Scheduler
from steersman.testing import make_pod

NODES = 15_000
PODS_PER_NODE = 10
DEPLOYMENTS = 300


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def pod_json(index: int) -> bytes:
    deployment = index % DEPLOYMENTS
    pod = (
        make_pod(f"app-{deployment}-{index:06d}").namespace(f"team-{deployment % 20}").label("app", f"app-{deployment}")
    )
    pod = pod.label("pod-template-hash", f"{deployment * 7919:x}").req(cpu="250m", memory="512Mi")
    pod = pod.node(f"node-{index % NODES}")
    return codec.encode(pod.obj())


def main() -> None:
    scheduler = Scheduler(ManualClock(), SeededRng(1), AcceptingWriter(), no_task)
    before = peak_megabytes()
    for node in make_nodes(NODES):
        scheduler.ingest.changed(node)
    for index in range(NODES * PODS_PER_NODE):
        scheduler.ingest.changed(codec.decode(pod_json(index), Pod))
    scheduler.ingest.changed(make_pod("pending").label("app", "app-1").req(cpu="1").obj())
    scheduler.schedule_one()
    size = f"{NODES:,} nodes and {NODES * PODS_PER_NODE:,} pods"
    print(f"memory: {peak_megabytes():.0f} MB peak with {size} ({before:.0f} MB before)")
