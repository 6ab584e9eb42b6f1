# SPDX-License-Identifier: Apache-2.0
"""Where each pod is, at the end of a run: bound when, or pending since when and why.

Reads the embedded cluster, the scheduler's queue and what the writer noted. About the pods that came without a node; pods
that were on a node from the beginning are part of the cluster.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

import msgspec

from steersman import api
from steersman.framework import REASON_ERROR, REASON_UNSCHEDULABLE, Code
from steersman.scheduler.assembly import Scheduler
from steersman.simulation.results.pod_times import PodTimes
from steersman.simulation.virtual_time.writer import EmbeddedWriter

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
    """The fate of one pod. Times are seconds since the start of the simulation."""

    pod: str
    #: The node that the pod is bound to, or that it waits to be bound to; "" while it has none.
    node: str = ""
    attempts: int = 0
    #: When the pod was bound; None: it is pending.
    at: float | None = None
    #: When the first attempt at a pending pod failed, or it was created without attempts, or bound to a node that is gone.
    since: float | None = None
    #: Of a pending pod: Unschedulable, SchedulerError, SchedulingGated, WaitingOnPermit, Binding, Terminating,
    #: NoProfile, NotTried, NodeNotFound.
    reason: str = ""
    message: str = ""
    #: When the pod was created; 0 for a pod that existed at the start.
    created: float = 0.0
    #: When the pod succeeded or failed; None: it has not finished.
    finished: float | None = None
    priority: int = 0
    #: Requested amounts by resource: cpu in millicores, everything else in its base unit.
    requests: Mapping[str, int] = {}

    @property
    def is_pending(self) -> bool:
        return self.at is None

    @property
    def is_error(self) -> bool:
        """Something is broken, as opposed to: no node fits."""
        return self.reason == REASON_ERROR


class PlacementReport:
    """Placements of single pods. `nodes` has the names of all nodes."""

    def __init__(self, scheduler: Scheduler, writer: EmbeddedWriter, times: PodTimes, nodes: Container[str]) -> None:
        self._scheduler = scheduler
        self._writer = writer
        self._times = times
        self._nodes = nodes

    def placement(self, pod: api.Pod) -> Placement | None:
        """None for a pod that the scheduler was never asked to place, or that is finished without it."""
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
        """The node it waits for, if any, the reason in one word, and the message."""
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
        """The queue only knows which plugin holds the pod back, so the plugin is asked again why."""
        call = next(call for call in self._scheduler.profiles[profile].pre_enqueue if call.name == plugin)
        status = call.run(self._scheduler.cache.shapes.info(pod))
        if status is not None and status.code is Code.ERROR:
            return REASON_ERROR, status.message
        held_back = f'held back by PreEnqueue plugin "{plugin}"'
        return REASON_GATED, held_back if status is None or not status.message else f"{held_back}: {status.message}"


__all__ = ["REASON_ERROR", "REASON_UNSCHEDULABLE", "Placement", "PlacementReport"]
