# SPDX-License-Identifier: Apache-2.0
"""Placement of each pod at the end of a run: bound when, or pending since when and why.

Reads the embedded cluster, the scheduler's queue and the writer's records. Only pods added without
a node have placements; pods that had a node from the start are part of the cluster. Placements are
also added up by namespace: waiting times, slowdown, resources held, and how equal they are (Jain's
index).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.base import LayeredDict
from steersman.cluster.store import EventType, Store
from steersman.framework import REASON_ERROR, REASON_UNSCHEDULABLE, Code
from steersman.scheduler.assembly import Scheduler
from steersman.simulation.virtual_time.writer import EmbeddedWriter


class PodTimes:
    """Creation and completion times of pods by uid, in seconds since the start of the
    simulation."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._now = now
        #: Pods that were created after the start.
        self._created: LayeredDict[str, float] = LayeredDict()
        self._finished: LayeredDict[str, float] = LayeredDict()
        store.subscribe(self._on_pod, (api.Pod,))

    def created(self, uid: str) -> float:
        """Return when the pod was created; 0.0 for a pod that existed at the start."""
        return self._created.get(uid) or 0.0

    def finished(self, uid: str) -> float | None:
        """Return when the pod succeeded or failed; None if it has done neither."""
        return self._finished.get(uid)

    def _on_pod(self, _: EventType, old: api.Object | None, new: api.Object | None) -> None:
        if old is None:
            now = self._now()
            if now and new is not None:
                self._created.put(new.metadata.uid, now)
        elif new is None:
            self._created.pop(old.metadata.uid)
            self._finished.pop(old.metadata.uid)
        elif _is_finished(new) and not _is_finished(old):
            self._finished.put(new.metadata.uid, self._now())


def _is_finished(pod: api.Object) -> bool:
    return isinstance(pod, api.Pod) and pod.status.phase in api.FINISHED_PHASES


# -- placements --------------------------------------------------------------------------------------------------------


REASON_GATED: Final = "SchedulingGated"
REASON_WAITING: Final = "WaitingOnPermit"
REASON_BINDING: Final = "Binding"
REASON_TERMINATING: Final = "Terminating"
REASON_NO_PROFILE: Final = "NoProfile"
REASON_NOT_TRIED: Final = "NotTried"
REASON_NODE_NOT_FOUND: Final = "NodeNotFound"

NOT_TRIED: Final = "not tried yet"
TERMINATING: Final = "is being deleted"
BINDING: Final = "its node is chosen, but binding has not ended"


class Placement(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Outcome of one pod. Times are seconds since the start of the simulation."""

    pod: str
    #: The node of the pod, bound or in its binding cycle; "" without one.
    node: str = ""
    attempts: int = 0
    #: When the pod was bound; None if it is pending.
    at: float | None = None
    #: When a pending pod first failed to schedule, was created without an attempt, or lost its
    #: node.
    since: float | None = None
    #: Reason of a pending pod: Unschedulable, SchedulerError, SchedulingGated, WaitingOnPermit,
    #: Binding, Terminating, NoProfile, NotTried, NodeNotFound.
    reason: str = ""
    message: str = ""
    #: When the pod was created; 0 for a pod that existed at the start.
    created: float = msgspec.field(default_factory=float)  # a factory, so that 0 is not left out of JSON
    #: When the pod succeeded or failed; None if it has not finished.
    finished: float | None = None
    priority: int = 0
    #: Requested amounts by resource: cpu in millicores, everything else in its base unit.
    requests: Mapping[str, int] = {}

    @property
    def is_pending(self) -> bool:
        return self.at is None

    @property
    def is_error(self) -> bool:
        """Whether the cause is an error, in contrast to an unschedulable pod."""
        return self.reason == REASON_ERROR


class PlacementReport:
    """Placements of single pods. `nodes` has the names of all nodes."""

    def __init__(self, scheduler: Scheduler, writer: EmbeddedWriter, times: PodTimes, nodes: Container[str]) -> None:
        self._scheduler = scheduler
        self._writer = writer
        self._times = times
        self._nodes = nodes

    def placement(self, pod: api.Pod) -> Placement | None:
        """Return the placement; None for a pod that was never pending."""
        uid = pod.metadata.uid
        failures = self._writer.failures.get(uid)
        attempts = 0 if failures is None else failures.count
        placed_at = self._writer.placed_at.get(uid)
        is_finished = pod.status.phase in api.FINISHED_PHASES
        if placed_at is not None and (pod.spec.node_name in self._nodes or is_finished):
            return self._placement(pod, pod.spec.node_name, attempts + 1, placed_at, None)
        if placed_at is not None:
            gone = f'its node "{pod.spec.node_name}" does not exist any more'
            return self._placement(pod, "", attempts + 1, None, placed_at, REASON_NODE_NOT_FOUND, gone)
        if pod.spec.node_name or is_finished:
            return None
        since = self._times.created(uid) if failures is None else failures.first
        node, reason, message = self._why_pending(pod)
        return self._placement(pod, node, attempts, None, since, reason, message)

    def _placement(
        self,
        pod: api.Pod,
        node: str,
        attempts: int,
        at: float | None,
        since: float | None,
        reason: str = "",
        message: str = "",
    ) -> Placement:
        uid, cache = pod.metadata.uid, self._scheduler.cache
        record = cache.get(uid)
        info = cache.shapes.info(pod) if record is None else record.info
        return Placement(
            api.key(pod),
            node,
            attempts,
            at,
            since,
            reason,
            message,
            self._times.created(uid),
            self._times.finished(uid),
            pod.spec.priority or 0,
            info.shape.requests,
        )

    def _why_pending(self, pod: api.Pod) -> tuple[str, str, str]:
        """Return the node it is assumed on, if any, the reason and the message."""
        name = pod.scheduler_name
        if name not in self._scheduler.profiles:
            return "", REASON_NO_PROFILE, f'no profile for scheduler name "{name}"'
        waiting = self._scheduler.waiting_pods.get(pod.metadata.uid)
        if waiting is not None:
            return waiting.node_name, REASON_WAITING, f"waits for permission by {', '.join(sorted(waiting.pending))}"
        assumed = self._scheduler.cache.get(pod.metadata.uid)
        if assumed is not None and self._scheduler.cache.is_assumed(pod.metadata.uid):
            return assumed.node_name, REASON_BINDING, BINDING
        if pod.metadata.deletion_timestamp is not None:
            return "", REASON_TERMINATING, TERMINATING
        queued = self._scheduler.queue.get(api.key(pod))
        if queued is not None and queued.is_gated:
            return "", *self._gated(pod, name, queued.gating_plugin)
        failures = self._writer.failures.get(pod.metadata.uid)
        if failures is None:
            return "", REASON_NOT_TRIED, NOT_TRIED
        return "", failures.reason, failures.message

    def _gated(self, pod: api.Pod, profile: str, plugin: str) -> tuple[str, str]:
        """Return the message of the gating plugin, which is called again because the queue stores
        only its name."""
        call = next(call for call in self._scheduler.profiles[profile].pre_enqueue if call.name == plugin)
        status = call.run(self._scheduler.cache.shapes.info(pod))
        if status is not None and status.code is Code.ERROR:
            return REASON_ERROR, status.message
        held_back = f'held back by PreEnqueue plugin "{plugin}"'
        return REASON_GATED, held_back if status is None or not status.message else f"{held_back}: {status.message}"


__all__ = ["REASON_ERROR", "REASON_UNSCHEDULABLE", "Placement", "PlacementReport"]


# -- namespaces --------------------------------------------------------------------------------------------------------


class NamespaceSummary(msgspec.Struct, frozen=True, rename="camel"):
    """Numbers about the pods of one namespace. Pending pods count as waiting until the end of the
    run."""

    namespace: str
    pods: int
    scheduled: int
    pending: int
    #: Pods that succeeded or failed.
    finished: int
    wait_mean: float
    wait_max: float
    #: Mean over finished pods of the time from creation to end, divided by the time on a node; None
    #: if none has run.
    slowdown_mean: float | None
    #: Time with a node divided by time since creation, over all pods: 0 to 1.
    served: float
    #: Requested cores times seconds on a node.
    cpu_seconds: float
    #: Requested bytes times seconds on a node.
    memory_seconds: float


def summaries(placements: Iterable[Placement], end: float) -> dict[str, NamespaceSummary]:
    """Summarise placements at the time `end`, by namespace in alphabetical order."""
    found: dict[str, list[Placement]] = {}
    for placement in placements:
        found.setdefault(placement.pod.partition("/")[0], []).append(placement)
    return {name: _summary(name, found[name], end) for name in sorted(found)}


def jain_index(values: Sequence[float]) -> float:
    """Return (Σx)² / (n·Σx²): 1 if all values are equal, 1/n if one has everything; 1 without
    values or if all are 0."""
    squares = len(values) * math.fsum(value * value for value in values)
    return round(math.fsum(values) ** 2 / squares, 6) if squares else 1.0


def _summary(namespace: str, placements: Sequence[Placement], end: float) -> NamespaceSummary:
    bound = [each for each in placements if each.at is not None]
    waits = [(end if each.at is None else each.at) - each.created for each in placements]
    held = [_end(each, end) - (each.at or 0.0) for each in bound]
    lived = math.fsum(_end(each, end) - each.created for each in placements)
    slowdowns = [
        (each.finished - each.created) / time
        for each, time in zip(bound, held, strict=True)
        if each.finished is not None and time > 0
    ]
    return NamespaceSummary(
        namespace,
        len(placements),
        len(bound),
        len(placements) - len(bound),
        sum(each.finished is not None for each in placements),
        round(math.fsum(waits) / len(waits), 6),
        round(max(waits), 6),
        round(math.fsum(slowdowns) / len(slowdowns), 6) if slowdowns else None,
        round(math.fsum(held) / lived if lived > 0 else len(bound) / len(placements), 6),
        round(_held_amount("cpu", bound, held) / 1000, 6),
        round(_held_amount("memory", bound, held), 6),
    )


def _end(placement: Placement, end: float) -> float:
    return end if placement.finished is None else placement.finished


def _held_amount(resource: str, bound: Sequence[Placement], held: Sequence[float]) -> float:
    return math.fsum(each.requests.get(resource, 0) * time for each, time in zip(bound, held, strict=True))
