# SPDX-License-Identifier: Apache-2.0
"""The host that a workload runs on: a cluster as operations see it, and the scheduler that works on it, driven in real time.

    `workload_executor` ─► BenchCluster ─► API server ─► scheduler ─► …
              ▲                                              │
              └─────────────── PodBarrier ◄──────────────────┘

`embedded_host` makes a host inside of the process, `api_server_host` one on an API server behind HTTP. The scheduler is woken
by `queue.on_ready`. It decides a slice of pods before others (the creators of pods, timers, bindings that wait) have their
turn: going round the event loop costs as much as a decision. Whoever waits until so many pods of a namespace are scheduled,
or have been tried, has them counted as they change, and polls nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import msgspec

from steersman import api
from steersman.assembly import Scheduler
from steersman.errors import SteersmanError
from steersman.observe import Metrics
from steersman.observe.metrics import exponential
from steersman.observe.series import Children, Histogram
from steersman.perf.operations import PodStage
from steersman.perf.templates import Draft

SLICE: Final = 30
"""Pods decided before others have their turn: as many as upstream's harness creates at a time."""
BOUNDS: Final = exponential(1e-6, 1.1, 190)
"""Bounds of the buckets of durations: seconds, from a microsecond to a minute; two neighbours are 10 % apart."""

T = TypeVar("T", bound=api.Object)
PodListener: TypeAlias = Callable[[api.Pod | None, api.Pod | None], None]
"""Called with a pod as it was and as it is: None before it came, and after it went."""


class WorkloadError(SteersmanError):
    """A workload cannot go on."""


class BenchCluster(Protocol):
    """The cluster that a workload creates its objects in. Refusals of the API server are raised as `SteersmanError`."""

    async def create(self, draft: Draft) -> str:
        """Creates an object with the status that it came with, and returns its key."""

    async def create_all(self, groups: Iterable[Sequence[Draft]]) -> None:
        """Creates group after group, or several groups at the same time; within a group one object after the other."""

    async def provide_namespace(self, namespace: api.Namespace) -> None:
        """Creates the namespace unless it exists."""

    async def update(self, draft: Draft, subresources: Sequence[str] = ()) -> None:
        """Writes what the draft says to the object of its name, or to its subresources; the status too, if it has any."""

    async def delete(self, kind: type[api.Object], key: str, *, grace_period_seconds: int | None = None) -> None:
        """Deletes an object; a grace period of None is the object's own. An object that is gone already is no error."""

    async def delete_pods(self, keys: Iterable[str], *, grace_period_seconds: int | None = None) -> None:
        """Deletes these pods, as fast as it goes."""

    async def list(self, kind: type[T]) -> Sequence[T]:
        """All objects of a kind, as they are now."""

    def pods(self) -> Mapping[str, api.Pod]:
        """All pods by key, as last seen."""

    def listen(self, listener: PodListener) -> Callable[[], None]:
        """Tells the listener of every change of a pod from now on, until the returned function is called."""


class FineMetrics(Metrics):
    """The scheduler's metrics with finer buckets of durations: kube-scheduler's begin at a millisecond, where ours end."""

    def histograms(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Children[Histogram]:
        return super().histograms(name, text, BOUNDS if name.endswith("_seconds") else buckets, *labels)


class Host(msgspec.Struct, frozen=True):
    """A cluster, the scheduler that works on it, and the metrics that this scheduler writes."""

    cluster: BenchCluster
    scheduler: Scheduler
    metrics: FineMetrics


class HostTasks:
    """Tasks of a host that end with it. `spawn` is the function that a scheduler starts its bindings with."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._group.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()


async def every(seconds: float, act: Callable[[], object]) -> None:
    """Acts once in so many seconds, until it is cancelled."""
    while True:
        await asyncio.sleep(seconds)
        act()


# -- waiting for pods --------------------------------------------------------------------------------------------------

LONGEST_SECONDS: Final = 600.0
"""The longest time that an operation waits for its pods, as upstream."""
POD_SCHEDULED: Final = "PodScheduled"


class PodBarrier:
    """Counts the pods of a namespace that are at a stage; `reached` waits for enough of them."""

    def __init__(self, cluster: BenchCluster, namespace: str, selector: Mapping[str, str], stage: PodStage) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._selector = selector
        self._stage = stage
        self._changed = asyncio.Event()
        #: How many are wanted.
        self.wanted = 0
        self.count = sum(map(self._counts, cluster.pods().values()))

    async def reached(self, wanted: int) -> None:
        """Returns when there are so many; raises `WorkloadError` when that takes too long."""
        self.wanted = wanted
        stop = self._cluster.listen(self._on_pod)
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                while self.count < wanted:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise self._overdue() from error
        finally:
            stop()

    def _on_pod(self, old: api.Pod | None, new: api.Pod | None) -> None:
        difference = self._counts(new) - self._counts(old)
        if difference:
            self.count += difference
            if self.count >= self.wanted:
                self._changed.set()

    def _counts(self, pod: api.Pod | None) -> bool:
        return pod is not None and is_at(pod, self._stage) and self._is_ours(pod)

    def _is_ours(self, pod: api.Pod) -> bool:
        return pod.metadata.namespace == self._namespace and matches(pod, self._selector)

    def _overdue(self) -> WorkloadError:
        late = next((pod for pod in self._cluster.pods().values() if self._is_late(pod)), None)
        example = "" if late is None else f"; {api.key(late)}: {_why(late.status.conditions)}"
        return WorkloadError(
            f"{self.count} of {self.wanted} pods in namespace {self._namespace} are {self._stage.lower()} after "
            f"{LONGEST_SECONDS:g} seconds{example}"
        )

    def _is_late(self, pod: api.Pod) -> bool:
        return self._is_ours(pod) and not is_at(pod, self._stage)


def is_at(pod: api.Pod, stage: PodStage) -> bool:
    if pod.spec.node_name:
        return True
    return stage is PodStage.ATTEMPTED and any(condition.type == POD_SCHEDULED for condition in pod.status.conditions)


def matches(pod: api.Pod, selector: Mapping[str, str]) -> bool:
    if not selector:
        return True
    labels = pod.metadata.labels
    return all(labels.get(name) == value for name, value in selector.items())


def _why(conditions: Iterable[api.Condition]) -> str:
    return next((c.message for c in conditions if c.type == POD_SCHEDULED and c.message), "has not been tried")
