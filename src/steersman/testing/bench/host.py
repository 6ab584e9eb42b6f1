# SPDX-License-Identifier: Apache-2.0
"""Host of a workload: the cluster that operations use, and its scheduler, in real time.

    `workload_executor` ─► BenchCluster ─► API server ─► scheduler ─► …
              ▲                                              │
              └─────────────── PodBarrier ◄──────────────────┘

`embedded_host` creates a host in this process, `api_server_host` one on an API server. The
scheduler is woken by `queue.on_ready`. It schedules a slice of pods before it yields to other tasks
(pod creators, timers, bindings), because an iteration of the event loop costs as much as a
decision. Waits for pods count changes instead of polling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias, TypeVar

import msgspec

from steersman import api
from steersman.base import SteersmanError
from steersman.kube.observe import Children, Histogram, Metrics, exponential
from steersman.scheduler.assembly import Scheduler
from steersman.testing.bench.operations import PodStage
from steersman.testing.bench.templates import Draft

SLICE: Final = 30
"""Number of pods scheduled before yielding; upstream's harness creates as many at a time."""
BOUNDS: Final = exponential(1e-6, 1.1, 190)
"""Upper bounds of duration buckets in seconds, 10 % apart, from a microsecond to a minute."""

T = TypeVar("T", bound=api.Object)
PodListener: TypeAlias = Callable[[api.Pod | None, api.Pod | None], None]
"""Callback with a pod before (None if new) and after a change (None if deleted)."""


class WorkloadError(SteersmanError):
    """Error that ends a workload."""


class BenchCluster(Protocol):
    """Cluster in which a workload creates objects. API refusals raise `SteersmanError`."""

    async def create(self, draft: Draft) -> str:
        """Create an object with its status and return its key."""

    async def create_all(self, groups: Iterable[Sequence[Draft]]) -> None:
        """Create the groups in turn or concurrently; the objects of a group in order."""

    async def provide_namespace(self, namespace: api.Namespace) -> None:
        """Create the namespace unless it exists."""

    async def update(self, draft: Draft, subresources: Sequence[str] = ()) -> None:
        """Update the object or its subresources, and its status if the draft has one."""

    async def delete(self, kind: type[api.Object], key: str, *, grace_period_seconds: int | None = None) -> None:
        """Delete an object, if it exists; a grace period of None is the object's own."""

    async def delete_pods(self, keys: Iterable[str], *, grace_period_seconds: int | None = None) -> None:
        """Delete these pods as fast as possible."""

    async def list(self, kind: type[T]) -> Sequence[T]:
        """Return all objects of a kind."""

    def pods(self) -> Mapping[str, api.Pod]:
        """Return all pods by key, as last seen."""

    def listen(self, listener: PodListener) -> Callable[[], None]:
        """Call the listener on every pod change until the returned function is called."""


class FineMetrics(Metrics):
    """Scheduler metrics with finer duration buckets: kube-scheduler's start at a millisecond."""

    def histograms(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Children[Histogram]:
        return super().histograms(name, text, BOUNDS if name.endswith("_seconds") else buckets, *labels)


class Host(msgspec.Struct, frozen=True):
    """A cluster, its scheduler, and the scheduler's metrics."""

    cluster: BenchCluster
    scheduler: Scheduler
    metrics: FineMetrics


async def every(seconds: float, act: Callable[[], object]) -> None:
    """Call `act` periodically until cancelled."""
    while True:
        await asyncio.sleep(seconds)
        act()


# -- waiting for pods --------------------------------------------------------------------------------------------------

WAIT_TIMEOUT_SECONDS: Final = 600.0
"""Timeout of an operation that waits for pods, as upstream."""


class PodBarrier:
    """Counts the pods of a namespace at a stage; `reached` waits for a number of them."""

    def __init__(self, cluster: BenchCluster, namespace: str, selector: Mapping[str, str], stage: PodStage) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._selector = selector
        self._stage = stage
        self._changed = asyncio.Event()
        #: Number of pods to wait for.
        self.wanted = 0
        self.count = sum(map(self._counts, cluster.pods().values()))

    async def reached(self, wanted: int) -> None:
        """Wait for this many pods. Raise `WorkloadError` on timeout."""
        self.wanted = wanted
        stop = self._cluster.listen(self._on_pod)
        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
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
            f"{WAIT_TIMEOUT_SECONDS:g} seconds{example}"
        )

    def _is_late(self, pod: api.Pod) -> bool:
        return self._is_ours(pod) and not is_at(pod, self._stage)


def is_at(pod: api.Pod, stage: PodStage) -> bool:
    if pod.spec.node_name:
        return True
    return stage is PodStage.ATTEMPTED and any(
        condition.type == api.POD_SCHEDULED for condition in pod.status.conditions
    )


def matches(pod: api.Pod, selector: Mapping[str, str]) -> bool:
    if not selector:
        return True
    labels = pod.metadata.labels
    return all(labels.get(name) == value for name, value in selector.items())


def _why(conditions: Iterable[api.Condition]) -> str:
    return next((c.message for c in conditions if c.type == api.POD_SCHEDULED and c.message), "has not been tried")
