# SPDX-License-Identifier: Apache-2.0
"""SchedulingGates: a pod with `spec.schedulingGates` does not enter the active queue.

PreEnqueue only. The update that removes the last gate requeues the pod.
"""

from __future__ import annotations

from steersman import api
from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EnqueueExtensions,
    EventResource,
    PodInfo,
    PreEnqueuePlugin,
    QueueingHint,
    Status,
    changed,
    unresolvable,
)

REASON_WAITING = "waiting for scheduling gates: [{gates}]"


class SchedulingGates(PreEnqueuePlugin, EnqueueExtensions):
    """Rejects pods that still have scheduling gates."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: api.Pod | PodInfo) -> Status | None:
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        return unresolvable(REASON_WAITING.format(gates=" ".join(gate.name for gate in gates)))

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        gates_gone = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return (ClusterEventWithHint(gates_gone, self.after_gates_eliminated),)

    def after_gates_eliminated(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        _, updated = changed(api.Pod, old, new)
        return QueueingHint.QUEUE if updated.metadata.uid == waiting.metadata.uid else QueueingHint.SKIP
