# SPDX-License-Identifier: Apache-2.0
"""The state of a scheduler as data, apart from its objects, so that a replay can continue from a
record.

    Scheduler ─► save_scheduler ─► SavedScheduler, ObjectOrder ─► record ─► restore_scheduler ─► Scheduler

A scheduler is saved between two stimuli while none of its coroutines waits, except for bindings
that are a single request. The state of coroutines, out-of-tree plugins and claims in flight is not
data: while there is any, `save_scheduler` returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from steersman import api
from steersman.base import InputError, SeededRng, SteersmanError
from steersman.framework import CycleState
from steersman.scheduler.assembly.scheduler import Scheduler
from steersman.scheduler.binding.direct_bindings import DirectBinding
from steersman.scheduler.cycle.decision import Scheduled
from steersman.scheduler.engine.evaluation import Choice
from steersman.scheduler.engine.sampling import SavedSearch
from steersman.scheduler.preemption import default_preemptions
from steersman.scheduler.queue.saved_queue import SavedPod, SavedQueue
from steersman.scheduler.state.node_table import RowLayout
from steersman.scheduler.state.pod_lifecycle import CachedPodState


class SavedBinding(msgspec.Struct, frozen=True, array_like=True):
    """A binding that is a single request."""

    pod: SavedPod
    node: str
    #: Whether the node had room for the pod when it was chosen.
    fitted: bool
    #: Whether the request was sent.
    is_under_way: bool
    #: Whether the cluster has not changed since the decision.
    is_current: bool


class AssumedPod(msgspec.Struct, frozen=True, array_like=True):
    """A pod assumed on a node, not yet confirmed by the watch."""

    uid: str
    node: str
    is_bound: bool


class SavedScheduler(msgspec.Struct, frozen=True):
    """State of a scheduler besides the objects of the cluster."""

    random: tuple[int, ...]
    rows: RowLayout
    search: SavedSearch
    queue: SavedQueue
    assumed: tuple[AssumedPod, ...] = ()
    bindings: tuple[SavedBinding, ...] = ()
    #: Preemptors whose preemption has ended, as uid → key, by profile.
    preempted: dict[str, dict[str, str]] = {}
    #: Monotonic time of the scheduler's clock.
    clock: float = 0.0


class ObjectOrder:
    """The order in which a restored scheduler must receive the objects; sorted by the thread that
    writes them."""

    def __init__(self, scheduler: Scheduler) -> None:
        table = scheduler.cache.nodes
        self._nodes = list(table.tree.names())
        self._pods_on = [list(pods) for pods in table.pods_on]

    def ordered(self, objects: Iterable[api.Object]) -> Iterator[api.Object]:
        """Yield nodes by zone, then objects of other kinds, pods on nodes by row, and pods without
        a node."""
        nodes, pods, others = dict[str, api.Object](), dict[str, api.Object](), list[api.Object]()
        for obj in objects:
            if isinstance(obj, api.Node):
                nodes[obj.metadata.name] = obj
            elif isinstance(obj, api.Pod):
                pods[obj.metadata.uid] = obj
            else:
                others.append(obj)
        yield from (nodes.pop(name) for name in self._nodes if name in nodes)
        yield from nodes.values()
        yield from others
        yield from (pods.pop(uid) for row in self._pods_on for uid in row if uid in pods)
        yield from pods.values()


def save_scheduler(scheduler: Scheduler) -> SavedScheduler | None:
    """Return the state; None if a part of it cannot be serialised."""
    rng, queue = scheduler.cycle.rng, scheduler.queue.saved()
    if queue is None or not isinstance(rng, SeededRng) or len(scheduler.waiting_pods) or scheduler.binding.has_tasks:
        return None
    cache = scheduler.cache
    assumed = [record for record in cache.pods() if record.life.is_assumed] if cache.assumed_count else []
    if any(record.info.shape.has_claims or record.info.spec.resource_claims for record in assumed):
        return None
    return SavedScheduler(
        rng.state,
        cache.nodes.layout(),
        scheduler.cycle.search.saved(),
        queue,
        tuple(AssumedPod(one.info.uid, one.node_name, one.state is CachedPodState.BINDING_FINISHED) for one in assumed),
        tuple(_saved_bindings(scheduler)),
        {name: dict(ended) for name, ended in _ended_preemptions(scheduler) if ended},
        scheduler.clock.monotonic(),
    )


def _saved_bindings(scheduler: Scheduler) -> Iterator[SavedBinding]:
    direct, changes = scheduler.binding.direct, scheduler.cache.external_changes
    if direct is None:
        return
    under_way = len(direct.in_progress)
    for number, one in enumerate((*direct.in_progress, *direct.waiting)):
        pod, node = SavedPod.from_queued(one.queued), one.decision.node
        yield SavedBinding(pod, node, one.fitted, number < under_way, one.external_changes == changes)


def _ended_preemptions(scheduler: Scheduler) -> Iterator[tuple[str, Mapping[str, str]]]:
    for name, profile in scheduler.profiles.items():
        for plugin in default_preemptions((profile,)):
            yield name, plugin.executor.ended


# -- restoring ---------------------------------------------------------------------------------------------------------


def restore_scheduler(
    scheduler: Scheduler,
    saved: SavedScheduler,
    objects: Sequence[api.Object],
    before_binding: Callable[[int], None],
) -> None:
    """Give the state to a new scheduler without objects.

    `objects` are in the `ObjectOrder`. `before_binding` is called with a number before each request
    in progress is sent again. Raises `InputError`.
    """
    try:
        assert isinstance(scheduler.cycle.rng, SeededRng)
        scheduler.cache.nodes.restore_layout(saved.rows)
        _deliver(scheduler, saved, objects)
        scheduler.cycle.search.restore(saved.search)
        scheduler.queue.restore(saved.queue, scheduler.pods)
        for name, ended in saved.preempted.items():
            for plugin in default_preemptions([scheduler.profiles[name]]):
                plugin.executor.ended = dict(ended)
        _restore_bindings(scheduler, saved, before_binding)
        scheduler.cycle.rng.restore(saved.random)
    except (ValueError, LookupError, RuntimeError) as error:
        raise InputError(f"cannot be used: {error}", object="the state of a scheduler") from error


def _deliver(scheduler: Scheduler, saved: SavedScheduler, objects: Sequence[api.Object]) -> None:
    """Pass on the objects, and assume pods in their turn, so that nodes list their pods in the same
    order."""
    assumed = {one.uid: one for one in saved.assumed}
    for obj in objects:
        try:
            scheduler.ingest.changed(obj)
        except SteersmanError:
            continue  # the recorded scheduler could not read it either
        decided = assumed.get(obj.metadata.uid) if isinstance(obj, api.Pod) else None
        if decided is not None:
            info = scheduler.cache.shapes.info(scheduler.pods[api.key(obj)])
            scheduler.cache.assume(info, decided.node)
            if decided.is_bound:
                scheduler.cache.finish_binding(info)


def _restore_bindings(scheduler: Scheduler, saved: SavedScheduler, before_binding: Callable[[int], None]) -> None:
    direct = scheduler.binding.direct
    waiting: list[DirectBinding] = []
    for number, one in enumerate(saved.bindings):
        if direct is None:
            raise InputError("has bindings that this scheduler does not make", object="the state of a scheduler")
        binding = _binding(scheduler, one)
        if one.is_under_way:
            before_binding(number)
            direct.add(binding)
        else:
            waiting.append(binding)
    if direct is not None:
        direct.restore_waiting(waiting)


def _binding(scheduler: Scheduler, saved: SavedBinding) -> DirectBinding:
    queued = saved.pod.restored(scheduler.pods)
    record = scheduler.cache.get(queued.uid)
    info = scheduler.cache.shapes.info(queued.pod) if record is None else record.info
    decision = Scheduled(info, queued.profile, Choice(saved.node, 1), 1, CycleState())
    current = scheduler.cache.external_changes
    is_current = saved.is_under_way or saved.is_current
    return DirectBinding(
        queued, decision, scheduler.profiles[queued.profile], saved.fitted, current if is_current else -1
    )
