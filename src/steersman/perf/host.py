# SPDX-License-Identifier: Apache-2.0
"""The host that a workload runs on: a cluster as operations see it, and the scheduler that works on it, driven in real time.

    `workload_executor` ─► BenchCluster ─► API server ─► scheduler ─► …

`embedded_host` makes a host inside of the process, `api_server_host` one on an API server behind HTTP. The scheduler is woken
by `queue.on_ready`. It decides a slice of pods before others (the creators of pods, timers, bindings that wait) have their
turn: going round the event loop costs as much as a decision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import msgspec

from steersman import api
from steersman.assembly import Scheduler
from steersman.errors import SteersmanError
from steersman.perf.latencies import FineMetrics
from steersman.perf.templates import Draft

SLICE: Final = 30
"""Pods decided before others have their turn: as many as upstream's harness creates at a time."""

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
