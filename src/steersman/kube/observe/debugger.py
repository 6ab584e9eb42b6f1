# SPDX-License-Identifier: Apache-2.0
"""Scheduler state as text, its differences from the listers, and tasks of the event loop.

Hosts use it on SIGUSR2 and for `/debug/cache`, `/debug/queue` and `/debug/tasks`. It visits every
node and pod, which takes long, so it yields pieces that `in_slices` collects. Each piece is a
snapshot of its own; the comparison is of one point in time.
"""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from time import perf_counter
from typing import Final, Protocol, TypeVar

import msgspec

from steersman import api
from steersman.framework import NodeInfo, node_allocatable
from steersman.scheduler.queue import SchedulingQueue
from steersman.scheduler.state import Cache, PodRecord

T = TypeVar("T")

SLICE_SECONDS: Final = 0.005
#: Slice, and pause after it, in other threads: leaves the GIL to the scheduling thread.
SHORT_SLICE_SECONDS: Final = 0.002


async def in_slices(parts: Iterable[T], seconds: float = SLICE_SECONDS, pause: float = 0.0) -> list[T]:
    """Collect all parts, yielding to the event loop, or pausing, after every slice of time."""
    collected: list[T] = []
    end = perf_counter() + seconds
    for part in parts:
        collected.append(part)
        if perf_counter() >= end:
            await asyncio.sleep(pause)
            end = perf_counter() + seconds
    return collected


async def beside_scheduling(parts: Iterable[T]) -> list[T]:
    """Return all parts; for threads that must not slow down the scheduling thread."""
    return await in_slices(parts, SHORT_SLICE_SECONDS, SHORT_SLICE_SECONDS)


class Collect(Protocol):
    """Collects parts, like `in_slices`."""

    async def __call__(self, parts: Iterable[str], /) -> list[str]: ...


class Mismatch(msgspec.Struct, frozen=True):
    """Names or uids, sorted."""

    #: Listed by the API server, but unknown to the scheduler.
    missed: tuple[str, ...] = ()
    #: Known to the scheduler, but not listed by the API server.
    redundant: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missed or self.redundant)


class CacheComparison(msgspec.Struct, frozen=True):
    """Differences between the scheduler's cache and queue and the listers."""

    nodes: Mismatch
    pods: Mismatch

    @property
    def is_clean(self) -> bool:
        return not self.nodes and not self.pods

    def text(self) -> str:
        """Return a line per mismatch; "" if there is none."""
        return "".join(_mismatch_line(kind, found) for kind, found in (("Nodes", self.nodes), ("Pods", self.pods)))


def difference(actual: Iterable[str], cached: Iterable[str]) -> Mismatch:
    """Return the mismatch, counting repeated names."""
    shown, believed = list(actual), list(cached)
    shown_once, believed_once = set(shown), set(believed)
    if len(shown_once) == len(shown) and len(believed_once) == len(believed):
        return Mismatch(tuple(sorted(shown_once - believed_once)), tuple(sorted(believed_once - shown_once)))
    missed, redundant = Counter(shown) - Counter(believed), Counter(believed) - Counter(shown)
    return Mismatch(tuple(sorted(missed.elements())), tuple(sorted(redundant.elements())))


class DebuggerSnapshot(msgspec.Struct, frozen=True):
    """State of the scheduler and the listers at one point in time. It is quick to take, and may be
    compared in another thread."""

    nodes: Sequence[api.Node]
    pods: Sequence[api.Pod]
    cached_nodes: Sequence[str]
    cached_pods: Sequence[PodRecord]
    queued_pods: Sequence[api.Pod]
    scheduler_names: Collection[str]

    async def compare(self, collect: Collect = in_slices) -> CacheComparison:
        """Compare both sides. Unassigned pods of other schedulers are ignored; pods in an attempt
        are in flight or assumed."""
        names = self.scheduler_names
        concerned = (pod.metadata.uid for pod in self.pods if pod.spec.node_name or pod.scheduler_name in names)
        believed = chain(
            (record.info.uid for record in self.cached_pods), (pod.metadata.uid for pod in self.queued_pods)
        )
        return CacheComparison(
            nodes=difference((node.metadata.name for node in self.nodes), self.cached_nodes),
            pods=difference(await collect(concerned), set(await collect(believed))),
        )


def debugger_snapshot(
    nodes: Iterable[api.Node],
    pods: Iterable[api.Pod],
    cache: Cache,
    queue: SchedulingQueue,
    scheduler_names: Collection[str],
) -> DebuggerSnapshot:
    """Return the state of the scheduler, and of the listers (`nodes`, `pods`)."""
    queued = [*queue.pending_pods().pods, *queue.in_flight_pods()]
    return DebuggerSnapshot(list(nodes), list(pods), _node_names(cache), list(cache.pods()), queued, scheduler_names)


def cache_text(cache: Cache, queue: SchedulingQueue, invalid: Iterable[object] = ()) -> Iterator[str]:
    """Yield the unusable objects, then every node with its sums, pods and nominated pods, separated
    by blank lines. Nodes deleted or added meanwhile are omitted."""
    blank = ""
    for section in _invalid_objects_section(list(invalid)):
        yield section
        blank = "\n"
    for name in sorted(_node_names(cache)):
        row = cache.nodes.row_of(name)
        if row is not None and cache.nodes.alive[row]:
            info = cache.nodes.info(row)
            yield blank + "".join(_node_lines(info, queue.nominated_pods_for_node(name)))
            blank = "\n"


def _invalid_objects_section(objects: Collection[object]) -> Iterator[str]:
    if objects:
        yield "".join((f"Invalid objects(number: {len(objects)}):\n", *(f"{one}\n" for one in objects)))


def queue_text(queue: SchedulingQueue) -> Iterator[str]:
    """Yield the sizes of the sub-queues, then each pod, as of the first piece."""
    pending = queue.pending_pods()
    yield f"{pending.summary}\n"
    yield from map(pod_line, pending.pods)


def pod_line(pod: api.Pod) -> str:
    meta, status = pod.metadata, pod.status
    return (
        f"name: {meta.name}, namespace: {meta.namespace}, uid: {meta.uid}, phase: {status.phase}, "
        f"nominated node: {status.nominated_node_name}\n"
    )


def _node_names(cache: Cache) -> list[str]:
    names = cache.nodes.names
    return [names[row] for row in cache.nodes.live_rows()]


def _node_lines(info: NodeInfo, nominated: Collection[api.Pod]) -> Iterator[str]:
    allocatable = node_allocatable(info.node)
    yield f"Node name: {info.name}\n"
    yield f"Requested Resources: {_amounts((name, info.requested(name)) for name in allocatable)}\n"
    yield f"Allocatable Resources: {_amounts(allocatable.items())}\n"
    yield f"Scheduled Pods(number: {info.pod_count}):\n"
    yield from (pod_line(pod.pod) for pod in info.pods)
    if nominated:
        yield f"Nominated Pods(number: {len(nominated)}):\n"
        yield from map(pod_line, nominated)


def _amounts(amounts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name}: {amount}" for name, amount in sorted(amounts))


def _mismatch_line(kind: str, found: Mismatch) -> str:
    if not found:
        return ""
    return f"Cache mismatch: missed{kind}={list(found.missed)} redundant{kind}={list(found.redundant)}\n"


def dump_tasks() -> str:
    """List the tasks of the running event loop by name, with their stacks."""
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    return f"{len(tasks)} tasks\n\n" + "\n".join(map(_stack, tasks))


def _stack(task: asyncio.Task[object]) -> str:
    text = io.StringIO()
    task.print_stack(file=text)
    return f"{task.get_name()}\n{text.getvalue()}"
