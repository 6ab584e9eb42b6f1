# SPDX-License-Identifier: Apache-2.0
"""The beliefs of the scheduler as text, and where they differ from what the API server shows; and the tasks of the event loop.

Hosts call this on SIGUSR2 and for `/debug/cache`, `/debug/queue` and `/debug/tasks`. Every node and pod is looked at, which
takes long: texts come in pieces, and `in_slices` collects them while others run. A piece is true at the time when it is made;
the comparison is of one moment.
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
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.framework.pod_resources import node_allocatable
from steersman.queue import SchedulingQueue
from steersman.state.cache import Cache, PodRecord

T = TypeVar("T")

SLICE_SECONDS: Final = 0.005
#: In a thread beside the one that schedules: as long a pause after each slice leaves Python's global lock to the other.
SHORT_SLICE_SECONDS: Final = 0.002


async def in_slices(parts: Iterable[T], seconds: float = SLICE_SECONDS, pause: float = 0.0) -> list[T]:
    """All parts; after every so many seconds of work everybody else in the loop may run, or for a pause everybody at all."""
    collected: list[T] = []
    end = perf_counter() + seconds
    for part in parts:
        collected.append(part)
        if perf_counter() >= end:
            await asyncio.sleep(pause)
            end = perf_counter() + seconds
    return collected


async def beside_scheduling(parts: Iterable[T]) -> list[T]:
    """All parts, by a thread that must not slow the scheduling thread down."""
    return await in_slices(parts, SHORT_SLICE_SECONDS, SHORT_SLICE_SECONDS)


class Collect(Protocol):
    """`in_slices`, or one that suits another thread."""

    async def __call__(self, parts: Iterable[str], /) -> list[str]: ...


class Mismatch(msgspec.Struct, frozen=True):
    """Names or uids, sorted."""

    #: The API server shows them, the scheduler does not know them.
    missed: tuple[str, ...] = ()
    #: The scheduler believes in them, the API server does not show them.
    redundant: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missed or self.redundant)


class CacheComparison(msgspec.Struct, frozen=True):
    """The scheduler's cache and queue against the listers."""

    nodes: Mismatch
    pods: Mismatch

    @property
    def is_clean(self) -> bool:
        return not self.nodes and not self.pods

    def text(self) -> str:
        """One line per mismatch; none when all is well."""
        return "".join(_mismatch_line(kind, found) for kind, found in (("Nodes", self.nodes), ("Pods", self.pods)))


def difference(actual: Iterable[str], cached: Iterable[str]) -> Mismatch:
    """A name that occurs several times has to occur as often on the other side."""
    shown, believed = list(actual), list(cached)
    shown_once, believed_once = set(shown), set(believed)
    if len(shown_once) == len(shown) and len(believed_once) == len(believed):
        return Mismatch(tuple(sorted(shown_once - believed_once)), tuple(sorted(believed_once - shown_once)))
    missed, redundant = Counter(shown) - Counter(believed), Counter(believed) - Counter(shown)
    return Mismatch(tuple(sorted(missed.elements())), tuple(sorted(redundant.elements())))


class Beliefs(msgspec.Struct, frozen=True):
    """The beliefs of the scheduler and of the listers at one moment. Taking it is quick, comparing takes longer and may be done
    elsewhere."""

    nodes: Sequence[api.Node]
    pods: Sequence[api.Pod]
    cached_nodes: Sequence[str]
    cached_pods: Sequence[PodRecord]
    queued_pods: Sequence[api.Pod]
    scheduler_names: Collection[str]

    async def compare(self, collect: Collect = in_slices) -> CacheComparison:
        """Pods of other schedulers that have no node are nobody's business here; a pod whose attempt is under way is either in
        flight or assumed already."""
        names = self.scheduler_names
        concerned = (pod.metadata.uid for pod in self.pods if pod.spec.node_name or _scheduler_of(pod) in names)
        believed = chain(
            (record.info.uid for record in self.cached_pods), (pod.metadata.uid for pod in self.queued_pods)
        )
        return CacheComparison(
            nodes=difference((node.metadata.name for node in self.nodes), self.cached_nodes),
            pods=difference(await collect(concerned), set(await collect(believed))),
        )


def beliefs(
    nodes: Iterable[api.Node],
    pods: Iterable[api.Pod],
    cache: Cache,
    queue: SchedulingQueue,
    scheduler_names: Collection[str],
) -> Beliefs:
    """`nodes` and `pods` as the listers have them."""
    queued = [*queue.pending_pods().pods, *queue.in_flight_pods()]
    return Beliefs(list(nodes), list(pods), _node_names(cache), list(cache.pods()), queued, scheduler_names)


def cache_text(cache: Cache, queue: SchedulingQueue, set_aside: Iterable[object] = ()) -> Iterator[str]:
    """Objects that cannot be used; then every node with its sums, its pods and the pods nominated to it; a blank line apart.
    Nodes that go while this is read are left out, nodes that come are not shown."""
    blank = ""
    for section in _set_aside_section(list(set_aside)):
        yield section
        blank = "\n"
    for name in sorted(_node_names(cache)):
        row = cache.nodes.row_of(name)
        if row is not None and cache.nodes.alive[row]:
            info = cache.nodes.info(row)
            yield blank + "".join(_node_lines(info, queue.nominated_pods_for_node(name)))
            blank = "\n"


def _set_aside_section(objects: Collection[object]) -> Iterator[str]:
    if objects:
        yield "".join((f"Objects set aside(number: {len(objects)}):\n", *(f"{one}\n" for one in objects)))


def queue_text(queue: SchedulingQueue) -> Iterator[str]:
    """Where pods wait, and each of them, as of the first piece."""
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


def _scheduler_of(pod: api.Pod) -> str:
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME


def dump_tasks() -> str:
    """Lists tasks by name, each with its stack, innermost call last. Called in the event loop that is to be looked at."""
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    return f"{len(tasks)} tasks\n\n" + "\n".join(map(_stack, tasks))


def _stack(task: asyncio.Task[object]) -> str:
    text = io.StringIO()
    task.print_stack(file=text)
    return f"{task.get_name()}\n{text.getvalue()}"
