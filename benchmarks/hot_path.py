# SPDX-License-Identifier: Apache-2.0
"""µs per pod of the whole way: queue pop, filter and score of all nodes, choice, assume, bind bookkeeping.

Twice: as a simulation or a benchmark drives the scheduler, with replicas placed together (`schedule_some`), and pod by pod
(`schedule_one`). Each figure is the best of several stretches of pods, as the prototype's figures are: on a machine that
has other things to do, it says more about the code than a mean does.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from benchmarks.populations import WORKLOADS, make_nodes
from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.framework import Failure
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.host.memory import keep_freed_memory

NODE_COUNTS = (1000, 5000, 15000)
WARM_UP = 200
REPEATS = 3
CHUNKS = 16
CHUNK = 128
TOGETHER = 64

Drive = Callable[[Scheduler, int], None]


class AcceptingWriter:
    """Accepts every binding at once and counts."""

    binds_at_once = True

    def __init__(self) -> None:
        self.bound = 0
        self.failures: list[Failure] = []

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        self.bound += 1
        return None

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return self.bind_nowait(pod, node_name)

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        raise RuntimeError(f"the benchmark's pods preempt no pods, but {api.key(pod)} was to be patched")

    async def delete_pod(self, pod: api.Pod) -> bool:
        raise RuntimeError(f"the benchmark's pods preempt no pods, but {api.key(pod)} was to be deleted")

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        """Nobody reads events here."""

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        raise RuntimeError(f"the benchmark's pods preempt no pods, but {api.key(victim)} was preempted")

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return volume

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return claim

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        return change(claim)

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return claim

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        raise RuntimeError(f"the benchmark's pods use no devices, but {api.key(claim)} was to be deleted")

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        raise RuntimeError(f"the benchmark's pods use no devices, but {api.key(pod)} was to get a status with devices")

    def report_failure(self, failure: Failure) -> None:
        self.failures.append(failure)

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        """Counted when it was bound."""

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        """Discard the condition."""


def no_task(coroutine: Coroutine[Any, Any, None]) -> None:
    coroutine.close()
    raise RuntimeError("the benchmark's pods bind at once; nothing should need a task")


def together(scheduler: Scheduler, count: int) -> None:
    left = count
    while left:
        left -= len(scheduler.schedule_some(min(left, TOGETHER)))


def one_by_one(scheduler: Scheduler, count: int) -> None:
    for _ in range(count):
        scheduler.schedule_one()


def measure(name: str, node_count: int, drive: Drive = together) -> float:
    """The least over chunks of the mean µs per pod."""
    make_pod, objects, _ = WORKLOADS[name]
    writer = AcceptingWriter()
    scheduler = Scheduler(ManualClock(), SeededRng(1), writer, no_task)
    for obj in (*make_nodes(node_count), *objects):
        scheduler.ingest.changed(obj)
    total = WARM_UP + CHUNKS * CHUNK
    for index in range(total):
        scheduler.ingest.changed(make_pod(index))
    gc.collect()
    gc.freeze()
    drive(scheduler, WARM_UP)
    chunks = [microseconds_per_pod(scheduler, CHUNK, drive) for _ in range(CHUNKS)]
    gc.unfreeze()
    if writer.bound != total:
        raise RuntimeError(f"{name}: {writer.bound} of {total} pods were bound; first failure: {writer.failures[:1]}")
    return min(chunks)


def microseconds_per_pod(scheduler: Scheduler, count: int, drive: Drive = together) -> float:
    start = time.perf_counter()
    drive(scheduler, count)
    return (time.perf_counter() - start) / count * 1e6


def main(names: list[str] | None = None) -> None:
    keep_freed_memory()
    print(
        "µs per pod from the queue to the binding (in brackets: ratio to the prototype's filter + score + pick + assume)"
    )
    for title, drive in (("replicas together", together), ("pod by pod", one_by_one)):
        print(f"\n{title:24}" + "".join(f"{f'{n:,} nodes':>20}" for n in NODE_COUNTS))
        for name in names or list(WORKLOADS):
            print(f"{name:24}" + "".join(f"{cell:>20}" for cell in _cells(name, drive)), flush=True)


def _cells(name: str, drive: Drive) -> Iterator[str]:
    for node_count, expected in zip(NODE_COUNTS, WORKLOADS[name][2], strict=True):
        micros = min(measure(name, node_count, drive) for _ in range(REPEATS))
        yield f"{micros:9.1f} ({micros / expected:4.1f}×)  "
