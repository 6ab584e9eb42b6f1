"""What the scheduler believes, as text, and where that differs from what the API server shows. Pure functions.

Hosts call them on SIGUSR2 and for `/debug/cache` and `/debug/queue`. Slow: every node and pod is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from steersman import api
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.framework.pod_resources import node_allocatable
from steersman.queue import SchedulingQueue
from steersman.state.cache import Cache


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Names or uids, sorted."""

    #: The API server shows them, the scheduler does not know them.
    missed: tuple[str, ...] = ()
    #: The scheduler believes in them, the API server does not show them.
    redundant: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missed or self.redundant)


@dataclass(frozen=True, slots=True)
class Comparison:
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
    shown, believed = Counter(actual), Counter(cached)
    return Mismatch(tuple(sorted((shown - believed).elements())), tuple(sorted((believed - shown).elements())))


def compare(
    nodes: Iterable[api.Node],
    pods: Iterable[api.Pod],
    cache: Cache,
    queue: SchedulingQueue,
    scheduler_names: Collection[str],
) -> Comparison:
    """`nodes` and `pods` as the listers have them. Pods of other schedulers that have no node are nobody's business here;
    a pod whose attempt is under way is either in flight or assumed already."""
    concerned = [pod for pod in pods if pod.spec.node_name or _scheduler_of(pod) in scheduler_names]
    believed = {record.info.uid for record in cache.pods()}
    believed.update(pod.metadata.uid for pod in queue.pending_pods().pods)
    believed.update(pod.metadata.uid for pod in queue.in_flight_pods())
    return Comparison(
        nodes=difference((node.metadata.name for node in nodes), (info.name for info in _node_infos(cache))),
        pods=difference((pod.metadata.uid for pod in concerned), believed),
    )


def dump_cache(cache: Cache, queue: SchedulingQueue, set_aside: Iterable[object] = ()) -> str:
    """Objects that cannot be used; then every node with its sums, its pods and the pods nominated to it, a blank line
    apart."""
    infos = sorted(_node_infos(cache), key=lambda info: info.name)
    nodes = ("".join(_node_lines(info, queue.nominated_pods_for_node(info.name))) for info in infos)
    return "\n".join((*_set_aside_section(list(set_aside)), *nodes))


def _set_aside_section(objects: Collection[object]) -> Iterator[str]:
    if objects:
        yield "".join((f"Objects set aside(number: {len(objects)}):\n", *(f"{one}\n" for one in objects)))


def dump_queue(queue: SchedulingQueue) -> str:
    """Where pods wait, and each of them."""
    pending = queue.pending_pods()
    return "".join((f"{pending.summary}\n", *map(pod_line, pending.pods)))


def pod_line(pod: api.Pod) -> str:
    meta, status = pod.metadata, pod.status
    return (
        f"name: {meta.name}, namespace: {meta.namespace}, uid: {meta.uid}, phase: {status.phase}, "
        f"nominated node: {status.nominated_node_name}\n"
    )


def _node_infos(cache: Cache) -> Iterator[NodeInfo]:
    return (cache.nodes.info(row) for row in cache.nodes.live_rows())


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
