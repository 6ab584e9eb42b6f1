# SPDX-License-Identifier: Apache-2.0
"""Where each pod is, at the end of a run: bound when, or pending since when and why.

Reads the embedded cluster, the scheduler's queue and what the writer noted. About the pods that came without a node; pods
that were on a node from the beginning are part of the cluster.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

import msgspec

from steersman import api
from steersman.assembly import Scheduler
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.framework.ports import REASON_ERROR, REASON_UNSCHEDULABLE
from steersman.framework.status import Code
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.sim.writer import EmbeddedWriter

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
    #: When a pending pod was first tried in vain, or came if it was not tried, or was bound to a node that is gone.
    since: float | None = None
    #: Of a pending pod: Unschedulable, SchedulerError, SchedulingGated, WaitingOnPermit, Binding, Terminating,
    #: NoProfile, NotTried, NodeNotFound.
    reason: str = ""
    message: str = ""

    @property
    def is_pending(self) -> bool:
        return self.at is None

    @property
    def is_error(self) -> bool:
        """Something is broken, as opposed to: no node fits."""
        return self.reason == REASON_ERROR


class PlacementReport:
    """Looks pods up. `came` has the time at which a pod was added, by uid, if that was not the start; `nodes` the names of the
    nodes that there are."""

    def __init__(
        self, scheduler: Scheduler, writer: EmbeddedWriter, came: dict[str, float], nodes: Container[str]
    ) -> None:
        self._scheduler = scheduler
        self._writer = writer
        self._came = came
        self._nodes = nodes

    def placement(self, pod: api.Pod) -> Placement | None:
        """None for a pod that the scheduler was never asked to place, or that is finished without it."""
        uid = pod.metadata.uid
        failures = self._writer.failures.get(uid)
        attempts = 0 if failures is None else failures.count
        placed_at = self._writer.placed_at.get(uid)
        if placed_at is not None and pod.spec.node_name in self._nodes:
            return Placement(api.key(pod), pod.spec.node_name, attempts + 1, placed_at)
        if placed_at is not None:
            gone = f'its node "{pod.spec.node_name}" does not exist any more'
            return Placement(api.key(pod), "", attempts + 1, None, placed_at, REASON_NODE_NOT_FOUND, gone)
        if pod.spec.node_name or pod.status.phase in FINISHED_PHASES:
            return None
        since = self._came.get(uid, 0.0) if failures is None else failures.first
        node, reason, message = self._why_pending(pod)
        return Placement(api.key(pod), node, attempts, None, since, reason, message)

    def _why_pending(self, pod: api.Pod) -> tuple[str, str, str]:
        """The node it waits for, if any, the reason in one word, and the message."""
        name = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
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
