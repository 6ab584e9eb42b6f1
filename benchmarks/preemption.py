# SPDX-License-Identifier: Apache-2.0
"""ms per preemption: the whole cycle of a pod that fits nowhere until it has found its victims, on full clusters.

And what it costs others that pods are nominated: µs per evaluation of a pod for which there is room on some nodes. And a
storm: a thousand preemptors at once in a simulation, with every victim accounted for.
"""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Coroutine
from typing import Any
from unittest import mock

from benchmarks.hot_path import AcceptingWriter
from steersman import Simulation, api, config
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.scheduler.cycle.decision import Scheduled, Unschedulable
from steersman.scheduler.host.memory import keep_freed_memory
from steersman.scheduler.preemption import DefaultPreemption, FullSearch
from steersman.scheduler.preemption.column_dry_run import ColumnDryRun
from steersman.testing import PodBuilder, make_node, make_pod

#: Nodes, and what the prototype took to choose the victims (ms).
CLUSTERS = ((5000, 1.0), (15000, 2.6))
PODS_PER_NODE = 8
PREEMPTORS = 60
PRIORITIES = (0, 10, 100, 1000, 1500)
NOMINATED = (0, 100, 1000)
EVALUATIONS = 20
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
PREEMPTOR = make_pod("important").label("app", "web").priority(2000).req(cpu="2500m", memory="4Gi")
#: Preemptors whose filters depend on pods of other nodes: on remaining pods, or on potential victims.
SOCIABLE = {
    "zone spreading": PREEMPTOR.spread(ZONE, max_skew=PREEMPTORS, selector={"app": "web"}),
    "host anti-affinity": PREEMPTOR.anti_affinity(HOST, {"app": "web"}),
    "zone affinity to those who could go": PREEMPTOR.pod_affinity(ZONE, {"app": "batch"}),
    "zone spreading of those who could go": PREEMPTOR.spread(ZONE, max_skew=10**6, selector={"app": "batch"}),
}
#: Preemptions node after node, of which each takes long.
FEW_PREEMPTORS = 5


class EvictingWriter(AcceptingWriter):
    """Victims go at once."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler: Scheduler | None = None
        self.evicted = 0

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        return True

    async def delete_pod(self, pod: api.Pod) -> bool:
        assert self.scheduler is not None
        self.scheduler.ingest.deleted(pod)
        self.evicted += 1
        return True

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        """Counted when it was deleted."""


def make_cluster(node_count: int, seed: int = 3) -> list[api.Object]:
    """Nodes that are full of pods of lower priority."""
    rng = random.Random(seed)
    objects: list[api.Object] = []
    for index in range(node_count):
        name = f"node-{index:05d}"
        node = make_node(name).label(ZONE, f"zone-{index % 3}").label(HOST, name)
        objects.append(node.capacity(cpu="8", memory="32Gi", pods=110).obj())
        for number in range(PODS_PER_NODE):
            pod = make_pod(f"{name}-{number}").label("app", "batch").node(name)
            pod = pod.req(cpu=f"{rng.choice([900, 950, 1000])}m", memory=f"{rng.choice([2, 3])}Gi")
            started = f"2030-01-{rng.randint(1, 28):02d}T{rng.randint(0, 23):02d}:00:00Z"
            objects.append(pod.priority(rng.choice(PRIORITIES)).started(started).phase("Running").obj())
    return objects


def measure(
    node_count: int, *, everywhere: bool, preemptor: PodBuilder = PREEMPTOR, preemptors: int = PREEMPTORS
) -> list[float]:
    """Seconds of each preemption's cycle."""
    writer, tasks = EvictingWriter(), list[Coroutine[Any, Any, None]]()
    clock = ManualClock(2_000_000_000.0)
    options = SchedulerOptions(configuration=config.default_configuration())
    scheduler = writer.scheduler = Scheduler(clock, SeededRng(1), writer, tasks.append, options)
    if everywhere:
        _look_everywhere(scheduler)
    for obj in make_cluster(node_count):
        scheduler.ingest.changed(obj)
    gc.collect()
    gc.freeze()
    keep_freed_memory()
    times = []
    for index in range(preemptors):
        pod = preemptor.name(f"important-{index}").uid(f"important-{index}")
        scheduler.ingest.changed(pod.obj())
        start = time.perf_counter()
        decision = scheduler.schedule_one()
        times.append(time.perf_counter() - start)
        assert isinstance(decision, Unschedulable), decision
        assert decision.nomination is not None
        assert decision.nomination.node
        asyncio.run(tasks.pop())
        clock.advance(2.0)
        scheduler.queue.flush_backoff()
        placed = scheduler.schedule_one()
        assert isinstance(placed, Scheduled)
        assert placed.node == decision.nomination.node
        scheduler.ingest.changed(pod.node(placed.node).started("2033-05-18T00:00:00Z").obj())
    gc.unfreeze()
    return times


def measure_beside_nominated(nominated: int, pod: PodBuilder, node_count: int = 1000) -> float:
    """Seconds of CPU time, the least of several, that an evaluation of the pod takes while others are nominated."""
    options = SchedulerOptions(configuration=config.default_configuration())
    scheduler = Scheduler(ManualClock(2e9), SeededRng(1), EvictingWriter(), lambda task: task.close(), options)
    for index in range(node_count):
        name = f"node-{index:05d}"
        scheduler.ingest.changed(make_node(name).label(ZONE, f"zone-{index % 3}").capacity(cpu="8", pods=110).obj())
        scheduler.ingest.changed(make_pod(f"on-{name}").node(name).req(cpu="7" if index % 2 else "4").obj())
        if index < nominated:
            scheduler.ingest.changed(make_pod(f"to-{name}").priority(2000).req(cpu="4").nominated(name).obj())
    info = scheduler.cache.shapes.info(pod.obj())
    profile = scheduler.profiles[info.scheduler_name]
    times = []
    for _ in range(EVALUATIONS):
        start = time.process_time()
        scheduler.cycle.evaluate(profile, info)
        times.append(time.process_time() - start)
    return min(times)


def beside_nominated() -> None:
    """Half of the nodes have room for the pod, except nodes with a nominated pod."""
    plain = make_pod("waiting").label("app", "web").req(cpu="2")
    kinds = {"local filters": plain, "hard zone spreading": plain.spread(ZONE, selector={"app": "web"})}
    print("evaluation on 1,000 nodes while pods are nominated, µs CPU")
    for name, pod in kinds.items():
        figures = (f"{count:5,}: {measure_beside_nominated(count, pod) * 1e6:7.0f}" for count in NOMINATED)
        print(f"{name:24} {'   '.join(figures)}", flush=True)


def storm(node_count: int = 1000, preemptors: int = 1000) -> float:
    """Seconds; raises when a pod is lost, or goes without a reason."""
    cluster = make_cluster(node_count)
    before = {api.key(obj) for obj in cluster if isinstance(obj, api.Pod)}
    simulation = Simulation.load(*cluster, seed=1)
    for index in range(preemptors):
        simulation.add(make_pod(f"important-{index}").priority(2000).req(cpu="2500m", memory="4Gi").obj())
    start, cpu = time.perf_counter(), time.process_time()
    result = simulation.run()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    preempted = {victim.pod for victim in result.preempted}
    gone = before - set(simulation.cluster.objects(api.Pod))
    if result.pending or preempted != gone:
        raise RuntimeError(f"{len(result.pending)} pods are pending, {len(preempted ^ gone)} unaccounted for")
    print(
        f"storm of {preemptors:,} preemptors on {node_count:,} nodes: {seconds:.1f} s ({cpu:.1f} s CPU); all placed, "
        f"{len(gone):,} victims, each accounted for"
    )
    return seconds


def of_sociable_pods(node_count: int = 5000) -> None:
    """The same for pods with affinity terms or spread constraints; and node after node, as it is done where columns cannot."""
    print(f"preemption by pods that look at others, {node_count:,} nodes, whole cycle, ms")
    for name, pod in SOCIABLE.items():
        by_columns = [seconds * 1e3 for seconds in measure(node_count, everywhere=False, preemptor=pod)]
        with mock.patch.object(ColumnDryRun, "search", return_value=None):
            plainly = measure(node_count, everywhere=False, preemptor=pod, preemptors=FEW_PREEMPTORS)
        print(
            f"{name:40} median {statistics.median(by_columns[1:]):6.2f}, first {by_columns[0]:6.1f}; "
            f"node after node {statistics.median(plainly[1:]) * 1e3:6.1f}",
            flush=True,
        )


def _look_everywhere(scheduler: Scheduler) -> None:
    for profile in scheduler.profiles.values():
        plugin = profile.plugins["DefaultPreemption"]
        assert isinstance(plugin, DefaultPreemption)
        plugin.evaluator.search = FullSearch()


def main() -> None:
    print("preemption, whole cycle, ms (in brackets: ratio to the prototype's choice of victims alone)")
    for node_count, reference in CLUSTERS:
        for name, everywhere in (("10 % of the candidates", False), ("all candidates", True)):
            times = [seconds * 1e3 for seconds in measure(node_count, everywhere=everywhere)]
            median, first = statistics.median(times[1:]), times[0]
            print(
                f"{node_count:6,} nodes, {PODS_PER_NODE} pods each, {name:24} "
                f"median {median:6.2f} ({median / reference:3.1f}×), first {first:7.1f}",
                flush=True,
            )
    of_sociable_pods()
    beside_nominated()
    storm()


if __name__ == "__main__":
    main()
