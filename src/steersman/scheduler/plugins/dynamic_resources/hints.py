# SPDX-License-Identifier: Apache-2.0
"""The events after which a pod that waits for devices is requeued."""

from __future__ import annotations

from steersman import api
from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    changed,
    deleted,
)
from steersman.scheduler.plugins.dynamic_resources.allocation import Features
from steersman.scheduler.plugins.dynamic_resources.claims import ClaimProblem, Claims, pod_claims


class ClaimHints:
    """Hints for pods that wait for devices. Node, class and slice events always requeue."""

    def __init__(self, claims: Claims, features: Features, registers_deletion: bool = False) -> None:
        """With `registers_deletion`, deleted claims may help, too (v1.37)."""
        self._claims = claims
        self._features = features
        self._claim_actions = ActionType.ADD | ActionType.UPDATE
        if registers_deletion:
            self._claim_actions |= ActionType.DELETE

    def events(self) -> tuple[ClusterEventWithHint, ...]:
        add, update = ActionType.ADD, ActionType.UPDATE
        nodes = add | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        generated = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, nodes)),
            ClusterEventWithHint(
                ClusterEvent(EventResource.RESOURCE_CLAIM, self._claim_actions), self.after_claim_change
            ),
            ClusterEventWithHint(ClusterEvent(EventResource.POD, generated), self.after_pod_change),
            ClusterEventWithHint(ClusterEvent(EventResource.DEVICE_CLASS, add | update)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_SLICE, add | update)),
        )

    def after_claim_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue any pod if devices were released, or else pods that use the changed claim."""
        if new is None:
            gone = deleted(api.ResourceClaim, old)
            return QueueingHint.SKIP if gone.status.allocation is None else QueueingHint.QUEUE
        before, after = changed(api.ResourceClaim, old, new)
        try:
            uses = any(c.metadata.uid == after.metadata.uid for c in self._claims_of(waiting))
        except ClaimProblem:
            return QueueingHint.SKIP
        if before is not None and before.status.allocation is not None and after.status.allocation is None:
            return QueueingHint.QUEUE
        if not uses:
            return QueueingHint.SKIP
        relevant = before is None or before.status != after.status
        return QueueingHint.QUEUE if relevant else QueueingHint.SKIP

    def after_pod_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the names of the pod's generated claims were added."""
        _, pod = changed(api.Pod, None, new)
        if pod.metadata.uid != waiting.metadata.uid:
            return QueueingHint.SKIP
        try:
            self._claims_of(pod)
        except ClaimProblem:
            return QueueingHint.SKIP
        return QueueingHint.QUEUE

    def _claims_of(self, pod: api.Pod) -> list[api.ResourceClaim]:
        return pod_claims(pod, self._claims, for_group=self._features.workload_claims)
