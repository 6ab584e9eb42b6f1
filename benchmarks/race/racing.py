# SPDX-License-Identifier: Apache-2.0
"""One run of one scheduler, watched until every pod has a node. Then everything is put back.

`Track.run`: pods wait, the scheduler starts. `Track.receive`: the scheduler runs, pods come.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Final

from benchmarks.race.arrivals import Arrivals, quantile
from benchmarks.race.observing import Bindings, Stalled
from benchmarks.race.workloads import JsonObject, Workload, node, priority_classes, resident, service
from steersman.testing.control_plane import ControlPlane, KubeScheduler, SchedulerProcess, Steersman, wait_until

#: Limits that no scheduler reaches here: what is compared is not the client's patience.
CONFIG: Final = {"clientConnection": {"qps": 5000, "burst": 10000}}
Contestant = Callable[[ControlPlane], SchedulerProcess]
GROUP_GATES: Final = "--feature-gates=GenericWorkload=true"
GROUP_API: Final = "--runtime-config=scheduling.k8s.io/v1beta1=true"
SCHEDULERS: Final[dict[str, Contestant]] = {
    "kube-scheduler": lambda plane: KubeScheduler(plane, config=CONFIG, flags=scheduler_flags(plane)),
    "Steersman": lambda plane: Steersman(plane, config=CONFIG, flags=scheduler_flags(plane)),
}
BEFORE: Final = "before"
RECORDED: Final = "recorded"
NAMESPACE: Final = "race"
RESIDENTS: Final = "residents"
_AT_ONCE: Final = 8
_SETTLE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Result:
    """Pods that waited, scheduled. Times are those of a watch, CPU times those of the scheduler."""

    pods: int
    #: From the first binding to the last one.
    seconds: float
    cpu: float
    #: From the start of the process to the first binding.
    start: float
    start_cpu: float
    memory: int

    @property
    def rate(self) -> float:
        return self.pods / self.seconds

    @property
    def cpu_per_pod(self) -> float:
        return self.cpu / self.pods


@dataclass(frozen=True, slots=True)
class Reception:
    """Pods that came while the scheduler ran: how long each group waited, and the scheduler's CPU time for all of it."""

    pods: int
    waits: tuple[float, ...]
    cpu: float
    memory: int

    @property
    def cpu_per_pod(self) -> float:
        return self.cpu / self.pods

    def wait(self, share: float) -> float:
        """Seconds that so large a share of the groups did not exceed."""
        return quantile(self.waits, share)


def server_flags(*, has_groups: bool) -> tuple[str, ...]:
    """Return the flags of a kube-apiserver that serves pod groups, or none."""
    return (GROUP_GATES, GROUP_API) if has_groups else ()


def scheduler_flags(plane: ControlPlane) -> tuple[str, ...]:
    """Return the flag of the feature gates that the API server has."""
    return (GROUP_GATES,) if GROUP_GATES in plane.extra_flags else ()


def recorded_steersman(folder: Path) -> Contestant:
    """Steersman with `--record`, into a new directory below the folder each time."""
    numbers = count(1)

    def start(plane: ControlPlane) -> SchedulerProcess:
        record = f"--record={folder / str(next(numbers))}"
        return Steersman(plane, config=CONFIG, flags=(record, *scheduler_flags(plane)))

    return start


def steersman_of(checkout: Path) -> Contestant:
    """Steersman as it is in another checkout of this repository, with this one's interpreter and packages."""
    program = ["env", f"PYTHONPATH={checkout.resolve() / 'src'}", sys.executable, "-m", "steersman", "run"]

    def start(plane: ControlPlane) -> SchedulerProcess:
        version = f"--emulated-version={plane.binaries.version}"
        return SchedulerProcess(BEFORE, program, plane, config=CONFIG, flags=(version, *scheduler_flags(plane)))

    return start


class Track:
    """The control plane with its nodes."""

    def __init__(
        self, plane: ControlPlane, nodes: int, existing: int = 0, contestants: Mapping[str, Contestant] = SCHEDULERS
    ) -> None:
        """`existing` pods are on the nodes already, and stay there."""
        self._plane = plane
        self._contestants = contestants
        self._nodes = nodes
        self._existing = existing
        self._client = plane.admin

    def lay(self) -> None:
        for name in (NAMESPACE, RESIDENTS):
            self._client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self._client.create_many([*priority_classes(), service(NAMESPACE)])
        self._client.create_nodes(*(node(index) for index in range(self._nodes)), connections=_AT_ONCE)
        self.create((resident(index, self._nodes) for index in range(self._existing)), RESIDENTS)

    def run(self, scheduler: str, workload: Workload, pods: int) -> Result:
        """RuntimeError (`Stalled`) when not all pods get a node."""
        count = min(pods, workload.most(self._nodes))
        self.create(workload.before(self._nodes))
        self.create(workload.groups(count))
        self.create(workload.pod(index) for index in range(count))
        time.sleep(_SETTLE_SECONDS)
        waiting = Bindings(self._client, NAMESPACE, count)
        process = self._contestants[scheduler](self._plane)
        try:
            return self._measure(process, waiting, count)
        finally:
            process.kill()
            self.clear()

    def receive(self, scheduler: str, arrivals: Arrivals) -> Reception:
        """RuntimeError (`Stalled`) when not all pods get a node."""
        try:
            with self._contestants[scheduler](self._plane) as process:
                time.sleep(_SETTLE_SECONDS)
                coming = Bindings(self._client, NAMESPACE, arrivals.pods)
                cpu_before = process.cpu_seconds()
                arrivals.send(lambda pod: self._client.create(_placed(pod, NAMESPACE)))
                coming.wait_all()
                cpu, seen = process.cpu_seconds() - cpu_before, coming.moments
                waits = tuple(arrivals.waits(seen.appeared, seen.bound))
                return Reception(arrivals.pods, waits, cpu, process.rss())
        finally:
            self.clear()

    def _measure(self, process: SchedulerProcess, waiting: Bindings, count: int) -> Result:
        # Nobody asks whether the scheduler is ready: that would cost it part of its start.
        started = time.monotonic()
        process.start(wait=False)
        first = _first_binding(process, waiting)
        cpu_at_first, bindings = process.cpu_seconds(), waiting.moments.bindings
        counted_from = len(bindings)
        began = bindings[counted_from - 1]
        waiting.wait_all()
        cpu = process.cpu_seconds() - cpu_at_first
        measured = count - counted_from
        return Result(measured, bindings[-1] - began, cpu, first - started, cpu_at_first, process.rss())

    def create(self, pods: Iterable[JsonObject], namespace: str = NAMESPACE) -> None:
        iterator = iter(pods)
        while batch := list(islice(iterator, 1000)):
            self._client.create_many([_placed(pod, namespace) for pod in batch], _AT_ONCE)

    def clear(self) -> None:
        for kind in ("Pod", "events.k8s.io/Event"):
            self._client.delete_all(kind, NAMESPACE)
        if GROUP_GATES in self._plane.extra_flags:
            self._delete_groups()
        wait_until(lambda: not self._client.list("Pod", NAMESPACE), 120.0, what="the end of all pods")
        time.sleep(_SETTLE_SECONDS)

    def _delete_groups(self) -> None:
        """Delete all groups; the controller that would remove their finalizers does not run."""
        self._client.delete_all("PodGroup", NAMESPACE)
        for group in self._client.list("PodGroup", NAMESPACE):
            self._client.patch("PodGroup", group["metadata"]["name"], {"metadata": {"finalizers": None}}, NAMESPACE)


def _first_binding(process: SchedulerProcess, waiting: Bindings) -> float:
    try:
        return waiting.wait_first()
    except Stalled:
        process.wait_ready(_SETTLE_SECONDS)  # tells what its log says if it never came that far
        raise


def _placed(pod: JsonObject, namespace: str) -> JsonObject:
    pod["metadata"]["namespace"] = namespace
    return pod
