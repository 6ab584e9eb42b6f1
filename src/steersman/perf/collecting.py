"""What is measured between two moments of a workload: throughput, latencies, CPU time, memory.

`running` begins a `Collection` where an operation collects metrics and ends it with `finish`.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterable, Mapping

import msgspec

from steersman import api
from steersman.perf.host import Host
from steersman.perf.latencies import Latency, Reading
from steersman.perf.memory import SAMPLE_SECONDS, Memory, resident_mib
from steersman.perf.throughput import Throughput, throughput
from steersman.perf.waiting import matches


class Measurement(msgspec.Struct, frozen=True):
    """Of one operation, or of what lies between the beginning and the end of a collection."""

    name: str
    throughput: Throughput
    latencies: tuple[Latency, ...]
    #: Of the whole process: whoever creates pods, the cluster, the scheduler.
    cpu_seconds: float
    #: Until the end of the collection.
    seconds: float
    memory: Memory

    @property
    def cpu_ms_per_pod(self) -> float:
        return 1000 * self.cpu_seconds / self.throughput.pods if self.throughput.pods else 0.0


class Collection:
    """Begins when it is made. Counts the pods of some namespaces that get a node."""

    def __init__(
        self,
        host: Host,
        name: str,
        namespaces: Iterable[str],
        selector: Mapping[str, str],
        metrics: Mapping[str, object] | None = None,
    ) -> None:
        self._host = host
        self._name = name
        self._namespaces = frozenset(namespaces)
        self._selector = selector
        self._metrics = metrics
        self._moments: list[float] = []
        # What is there by now is not garbage, and none of its collection belongs to what is measured.
        gc.collect()
        gc.freeze()
        self._memory = [resident_mib()]
        self._stop = host.cluster.listen(self._on_pod)
        self._before = Reading(host.metrics, metrics)
        self._cpu = time.process_time()
        self._start = time.perf_counter()

    @property
    def pods(self) -> int:
        """So far."""
        return len(self._moments)

    async def sample_memory(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            self._memory.append(resident_mib())

    def finish(self) -> Measurement:
        seconds, cpu = time.perf_counter() - self._start, time.process_time() - self._cpu
        self._stop()
        self._memory.append(resident_mib())
        gc.unfreeze()
        return Measurement(
            self._name,
            throughput(self._start, self._moments),
            tuple(Reading(self._host.metrics, self._metrics).since(self._before)),
            cpu,
            seconds,
            Memory(tuple(self._memory)),
        )

    def _on_pod(self, old: api.Pod | None, new: api.Pod | None) -> None:
        if new is None or not new.spec.node_name or (old is not None and old.spec.node_name):
            return
        if new.metadata.namespace in self._namespaces and matches(new, self._selector):
            self._moments.append(time.perf_counter())
