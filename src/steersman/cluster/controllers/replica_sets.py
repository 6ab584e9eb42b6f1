# SPDX-License-Identifier: Apache-2.0
"""The controllers of ReplicaSets and ReplicationControllers: number of pods, and status.

Pods are counted as they change (`ReplicaCount`), so that a sync costs the same for ten and a
hundred thousand replicas.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias, cast

import msgspec

from steersman.api import (
    Condition,
    LabelSelector,
    OwnerReference,
    Pod,
    ReplicaSet,
    ReplicaSetStatus,
    ReplicationController,
    key,
)
from steersman.base import GroupedDict
from steersman.base.graph_copy import GraphCopy, copied_attributes, copied_by, emptied
from steersman.cluster.controllers.controller import FAILED_CREATE, Cluster, controller_of
from steersman.cluster.controllers.deletion_order import pods_to_delete
from steersman.cluster.controllers.owned_pods import compiled_selector
from steersman.cluster.controllers.pod_owner import PodOwnerController
from steersman.cluster.controllers.pod_states import available_at, is_active, is_ready, is_terminating
from steersman.cluster.controllers.pod_template import PodMaker
from steersman.cluster.store import NamespaceTerminating, NotFound, StatusError

BURST_REPLICAS: Final = 500
"""Maximum number of pods that one sync creates."""
REPLICA_FAILURE: Final = "ReplicaFailure"
FAILED_DELETE: Final = "FailedDelete"
SUCCESSFUL_CREATE: Final = "SuccessfulCreate"
SUCCESSFUL_DELETE: Final = "SuccessfulDelete"

Replicated: TypeAlias = ReplicaSet | ReplicationController

_replace = msgspec.structs.replace


def _copied_count(copies: GraphCopy, original: ReplicaCount) -> ReplicaCount:
    """Copy a count by its fields, for speed: every ReplicaSet has one."""
    made = copies.note(original, ReplicaCount.__new__(ReplicaCount))
    made.min_ready_seconds, made.active, made.ready = original.min_ready_seconds, original.active, original.ready
    made.terminating, made._available = original.terminating, original._available
    made.labels, made._pending = original.labels.copy(), original._pending.copy()
    return made


@copied_by(_copied_count)
class ReplicaCount:
    """Numbers of active, ready, available and terminating pods of one owner."""

    __slots__ = ("_available", "_pending", "active", "labels", "min_ready_seconds", "ready", "terminating")

    def __init__(self, pods: Iterable[Pod], min_ready_seconds: int) -> None:
        self.min_ready_seconds = min_ready_seconds
        self.active = 0
        self.ready = 0
        self.terminating = 0
        #: Label sets of active pods → number of pods; few, as pods of a template share labels.
        self.labels: dict[frozenset[tuple[str, str]], int] = {}
        #: Time of availability → number of ready pods; past ones are in `_available`.
        self._pending: dict[float, int] = {}
        self._available = 0
        for pod in pods:
            self.change(None, pod)

    def change(self, before: Pod | None, after: Pod | None) -> None:
        if before is not None and after is not None and _differ_in_readiness_only(before, after):
            if before.status is not after.status:
                self._count_ready(before, -1)
                self._count_ready(after, 1)
            return
        if before is not None:
            self._count(before, -1)
        if after is not None:
            self._count(after, 1)

    def available(self, now: float) -> int:
        if not self.min_ready_seconds:
            return self.ready
        for moment in [moment for moment in self._pending if moment <= now]:
            self._available += self._pending.pop(moment)
        return self._available

    def next_available(self) -> float | None:
        """Return the next time of availability, as of the last call of `available`."""
        return min((moment for moment, pods in self._pending.items() if pods), default=None)

    def with_labels(self, labels: dict[str, str]) -> int:
        """Return the number of active pods with all these labels."""
        wanted = labels.items()
        return sum(count for having, count in self.labels.items() if wanted <= having)

    def _count(self, pod: Pod, one: int) -> None:
        if is_active(pod):
            self.active += one
            labels = frozenset(pod.metadata.labels.items())
            alike = self.labels.get(labels, 0) + one
            if alike:
                self.labels[labels] = alike
            else:
                del self.labels[labels]
            self._count_ready(pod, one)
        elif is_terminating(pod):
            self.terminating += one

    def _count_ready(self, pod: Pod, one: int) -> None:
        if not is_ready(pod):
            return
        self.ready += one
        moment = available_at(pod, self.min_ready_seconds) if self.min_ready_seconds else None
        if moment is None:
            return
        if one < 0 and moment not in self._pending:
            self._available += one
        else:
            self._pending[moment] = self._pending.get(moment, 0) + one


def _differ_in_readiness_only(before: Pod, after: Pod) -> bool:
    return before.metadata.labels is after.metadata.labels and is_active(before) and is_active(after)


@copied_attributes(_makers=emptied)
class ReplicaSetController(PodOwnerController[Replicated]):
    NAME = "replicaset"
    KIND: type[Replicated] = ReplicaSet
    #: Whether the status includes the number of terminating pods.
    COUNTS_TERMINATING = True

    def __init__(self, cluster: Cluster) -> None:
        #: Owner uid → count, created by its first sync.
        self._counts: dict[str, ReplicaCount] = {}
        #: Owner uid → pod creator, recreated from its template if missing.
        self._makers: dict[str, PodMaker] = {}
        #: Deployment uid → keys of its ReplicaSets.
        self._families: GroupedDict[str, str, None] = GroupedDict()
        super().__init__(cluster)

    def selector_of(self, owner: Replicated) -> LabelSelector | None:
        selector = owner.spec.selector
        return LabelSelector(match_labels=selector) if isinstance(selector, dict) else selector

    def owner_came(self, owner: Replicated) -> None:
        family = controller_of(owner)
        if family is not None:
            self._families.put(family.uid, key(owner), None)

    def owner_went(self, owner: Replicated) -> None:
        self._counts.pop(owner.metadata.uid, None)
        self._makers.pop(owner.metadata.uid, None)
        family = controller_of(owner)
        if family is not None:
            self._families.remove(family.uid, key(owner))

    def pod_changed(self, owner: OwnerReference, before: Pod | None, after: Pod | None) -> None:
        count = self._counts.get(owner.uid)
        if count is not None:
            count.change(before, after)

    def may_adopt(self, owner: Replicated, pod: Pod) -> bool:
        return is_active(pod)

    # -- reconciling -------------------------------------------------------------------------------

    def reconcile(self, key: str) -> None:
        owner = self._find(key)
        if owner is None or not owner.spec.template:
            return  # an API server rejects objects without a template
        if owner.metadata.deletion_timestamp is None:
            self._claim(owner)
        count = self._count(owner)
        failure: StatusError | None = None
        missing = (owner.spec.replicas or 0) - count.active
        if missing < 0 and owner.metadata.deletion_timestamp is None:
            failure = self._delete(owner, -missing)
        elif missing and owner.metadata.deletion_timestamp is None and self._may_create(owner):
            failure = self._create(owner, missing)
        self._write_status(owner, count, missing, failure)
        if failure is not None:
            raise failure

    def _may_create(self, owner: Replicated) -> bool:
        selector = compiled_selector(self.selector_of(owner))
        return self.is_template_selected(owner, selector, owner.spec.template or {}) and self.may_replace(owner)

    def _find(self, name: str) -> Replicated | None:
        return self.store.find(cast("type[ReplicaSet]", self.KIND), name)

    def _count(self, owner: Replicated) -> ReplicaCount:
        uid, min_ready_seconds = owner.metadata.uid, owner.spec.min_ready_seconds
        count = self._counts.get(uid)
        if count is None or count.min_ready_seconds != min_ready_seconds:
            count = self._counts[uid] = ReplicaCount(self.owned.owned_by(uid).values(), min_ready_seconds)
        return count

    def _claim(self, owner: Replicated) -> None:
        """Adopt and release pods, checking each of the owner's few label sets once."""
        selector = compiled_selector(self.selector_of(owner))
        self.adopt(owner, selector)
        if all(selector.matches(dict(labels)) for labels in self._count(owner).labels):
            return
        pods = list(self.owned.owned_by(owner.metadata.uid).values())
        self.release(owner, [pod for pod in pods if is_active(pod) and not selector.matches(pod.metadata.labels)])

    def _create(self, owner: Replicated, missing: int) -> StatusError | None:
        """Create pods in growing batches, up to the first batch with an error; return the error."""
        left, batch = min(missing, BURST_REPLICAS), 1
        try:
            maker = self._maker(owner)
        except StatusError as refusal:
            return self._refused(owner, refusal)
        while left:
            made, failure = self._create_batch(owner, maker, batch)
            if failure is not None:
                return failure
            if made < batch:
                self.enqueue(key(owner))
                return None
            left -= batch
            batch = min(2 * batch, left)
        return None

    def _create_batch(self, owner: Replicated, maker: PodMaker, size: int) -> tuple[int, StatusError | None]:
        """Create a batch; return the number of attempts in the time slice and the first error."""
        failure: StatusError | None = None
        for made in range(1, size + 1):
            refusal = self._create_one(owner, maker)
            failure = failure or refusal
            if self.cluster.is_overdue():
                return made, failure
        return size, failure

    def _create_one(self, owner: Replicated, maker: PodMaker) -> StatusError | None:
        try:
            pod = maker.create()
        except NamespaceTerminating:
            return None
        except StatusError as refusal:
            return self._refused(owner, refusal)
        self.cluster.record(owner, SUCCESSFUL_CREATE, f"Created pod: {pod.metadata.name}")
        return None

    def _refused(self, owner: Replicated, refusal: StatusError) -> StatusError:
        self.cluster.record(owner, FAILED_CREATE, f"Error creating: {refusal.message}", is_warning=True)
        return refusal

    def _maker(self, owner: Replicated) -> PodMaker:
        template = owner.spec.template or {}
        maker = self._makers.get(owner.metadata.uid)
        if maker is None or maker.template.document is not template:
            maker = self._makers[owner.metadata.uid] = self.templates.pod_maker(template, owner)
        return maker

    def _delete(self, owner: Replicated, surplus: int) -> StatusError | None:
        active = [pod for pod in self.owned.owned_by(owner.metadata.uid).values() if is_active(pod)]
        failure: StatusError | None = None
        for pod in pods_to_delete(active, self._family(owner), surplus, self.store.clock.now()):
            try:
                self.pods.delete(key(pod), grace_period_seconds=None)
            except NotFound:
                continue
            except StatusError as refusal:
                self.cluster.record(owner, FAILED_DELETE, f"Error deleting: {refusal.message}", is_warning=True)
                failure = failure or refusal
                continue
            self.cluster.record(owner, SUCCESSFUL_DELETE, f"Deleted pod: {pod.metadata.name}")
            if self.cluster.is_overdue():
                self.enqueue(key(owner))
                break
        return failure

    def _family(self, owner: Replicated) -> Iterable[Pod]:
        """Yield all pods of the owner's Deployment; none without one."""
        family = controller_of(owner)
        if family is None:
            return
        for name in self._families.entries_of(family.uid):
            sibling = self._find(name)
            if sibling is not None:
                yield from self.owned.owned_by(sibling.metadata.uid).values()

    def _write_status(self, owner: Replicated, count: ReplicaCount, missing: int, failure: StatusError | None) -> None:
        now = self.store.clock.now()
        template = owner.spec.template or {}
        labels = (template.get("metadata") or {}).get("labels") or {}
        status = ReplicaSetStatus(
            replicas=count.active,
            fully_labeled_replicas=count.with_labels(labels),
            ready_replicas=count.ready,
            available_replicas=count.available(now),
            terminating_replicas=count.terminating if self.COUNTS_TERMINATING else None,
            observed_generation=owner.metadata.generation,
            conditions=self._conditions(owner, missing, failure),
        )
        if status != owner.status:
            self.store.update_status(_replace(owner, status=status))
        moment = count.next_available()
        if moment is not None:
            self.enqueue_after(key(owner), moment - now)

    def _conditions(self, owner: Replicated, missing: int, failure: StatusError | None) -> tuple[Condition, ...]:
        present = owner.status.conditions
        has_failed = any(condition.type == REPLICA_FAILURE for condition in present)
        if failure is None:
            return tuple(condition for condition in present if condition.type != REPLICA_FAILURE)
        if has_failed:
            return present
        reason = FAILED_CREATE if missing > 0 else FAILED_DELETE
        failed = Condition(
            REPLICA_FAILURE, "True", reason, failure.message, last_transition_time=self.store.timestamp()
        )
        return (*present, failed)


class ReplicationManager(ReplicaSetController):
    """The ReplicationController controller, which works like that of ReplicaSets."""

    NAME = "replicationcontroller"
    KIND = ReplicationController
    COUNTS_TERMINATING = False
