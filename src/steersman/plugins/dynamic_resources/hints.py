# SPDX-License-Identifier: Apache-2.0
"""When a pod that waits for devices is worth another attempt."""

from __future__ import annotations

from steersman import api
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from steersman.framework.hints import changed
from steersman.plugins.dynamic_resources.claims import ClaimProblem, Claims, pod_claims


class ClaimHints:
    """Claims and pods are looked at; nodes, classes and slices always help."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims

    def events(self) -> tuple[ClusterEventWithHint, ...]:
        add, update = ActionType.ADD, ActionType.UPDATE
        nodes = add | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        generated = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, nodes)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_CLAIM, add | update), self.after_claim_change),
            ClusterEventWithHint(ClusterEvent(EventResource.POD, generated), self.after_pod_change),
            ClusterEventWithHint(ClusterEvent(EventResource.DEVICE_CLASS, add | update)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_SLICE, add | update)),
        )

    def after_claim_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Devices that were given back help everybody, other changes only the pods that use the claim."""
        before, after = changed(api.ResourceClaim, old, new)
        try:
            uses = any(c.metadata.uid == after.metadata.uid for c in pod_claims(waiting, self._claims))
        except ClaimProblem:
            return QueueingHint.SKIP
        if before is not None and before.status.allocation is not None and after.status.allocation is None:
            return QueueingHint.QUEUE
        if not uses:
            return QueueingHint.SKIP
        relevant = before is None or before.status != after.status
        return QueueingHint.QUEUE if relevant else QueueingHint.SKIP

    def after_pod_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """The pod got the names of its claims."""
        _, pod = changed(api.Pod, None, new)
        if pod.metadata.uid != waiting.metadata.uid:
            return QueueingHint.SKIP
        try:
            pod_claims(pod, self._claims)
        except ClaimProblem:
            return QueueingHint.SKIP
        return QueueingHint.QUEUE
