# SPDX-License-Identifier: Apache-2.0
"""One run: pods wait, a scheduler starts, and is watched until every pod has a node. Then everything is put back."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from benchmarks.race.observing import Bindings
from benchmarks.race.workloads import JsonObject, Workload, node, priority_classes, resident
from steersman.testing.control_plane import ControlPlane, KubeScheduler, SchedulerProcess, Steersman, wait_until

#: Limits that no scheduler reaches here: what is compared is not the client's patience.
CONFIG: Final = {"clientConnection": {"qps": 5000, "burst": 10000}}
SCHEDULERS: Final[dict[str, type[KubeScheduler | Steersman]]] = {
    "kube-scheduler": KubeScheduler,
    "Steersman": Steersman,
}
NAMESPACE: Final = "race"
RESIDENTS: Final = "residents"
_AT_ONCE: Final = 8
_SETTLE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Result:
    """`cpu` is the scheduler's CPU time from its first binding to its last one; `start` from its start to the first."""

    pods: int
    seconds: float
    cpu: float
    start: float
    memory: int

    @property
    def rate(self) -> float:
        return self.pods / self.seconds

    @property
    def cpu_per_pod(self) -> float:
        return self.cpu / self.pods


class Track:
    """The control plane with its nodes."""

    def __init__(self, plane: ControlPlane, nodes: int, existing: int = 0) -> None:
        """`existing` pods are on the nodes already, and stay there."""
        self._plane = plane
        self._nodes = nodes
        self._existing = existing
        self._client = plane.admin

    def lay(self) -> None:
        for name in (NAMESPACE, RESIDENTS):
            self._client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self._client.create_many(priority_classes())
        self._client.create_nodes(*(node(index) for index in range(self._nodes)), connections=_AT_ONCE)
        self._create((resident(index, self._nodes) for index in range(self._existing)), RESIDENTS)

    def run(self, scheduler: str, workload: Workload, pods: int) -> Result:
        """RuntimeError (`Stalled`) when not all pods get a node."""
        count = min(pods, workload.most(self._nodes))
        self._create(workload.before(self._nodes))
        self._create(workload.pod(index) for index in range(count))
        time.sleep(_SETTLE_SECONDS)
        waiting = Bindings(self._client, NAMESPACE, count)
        try:
            with SCHEDULERS[scheduler](self._plane, config=CONFIG) as process:
                return self._measure(process, waiting, count)
        finally:
            self._clear()

    def _measure(self, process: SchedulerProcess, waiting: Bindings, count: int) -> Result:
        waiting.wait_first()
        cpu_at_first = process.cpu_seconds()
        counted_from = len(waiting.moments)
        began = waiting.moments[counted_from - 1]
        waiting.wait_all()
        cpu = process.cpu_seconds() - cpu_at_first
        measured = count - counted_from
        return Result(measured, waiting.moments[-1] - began, cpu, cpu_at_first, process.rss())

    def _create(self, pods: Iterable[JsonObject], namespace: str = NAMESPACE) -> None:
        iterator = iter(pods)
        while batch := list(islice(iterator, 1000)):
            self._client.create_many([_placed(pod, namespace) for pod in batch], _AT_ONCE)

    def _clear(self) -> None:
        for kind in ("Pod", "events.k8s.io/Event"):
            self._client.delete_all(kind, NAMESPACE)
        wait_until(lambda: not self._client.list("Pod", NAMESPACE), 120.0, what="the end of all pods")
        time.sleep(_SETTLE_SECONDS)


def _placed(pod: JsonObject, namespace: str) -> JsonObject:
    pod["metadata"]["namespace"] = namespace
    return pod
