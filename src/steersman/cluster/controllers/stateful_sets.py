# SPDX-License-Identifier: Apache-2.0
"""The StatefulSet controller: pods with stable names and claims, in order or in parallel.

In an ordered set, a pod is created when lower ordinals are available, and deleted when higher ones
are gone. An update replaces pods from the highest ordinal down to the partition.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from steersman.api import (
    FINISHED_PHASES,
    ControllerRevision,
    OwnerReference,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Selector,
    StatefulSet,
    StatefulSetSpec,
    StatefulSetStatus,
    Volume,
    key,
)
from steersman.cluster.controllers.controller import Cluster
from steersman.cluster.controllers.owned_pods import compiled_selector
from steersman.cluster.controllers.pod_owner import PodOwnerController
from steersman.cluster.controllers.pod_states import is_available, is_ready, seconds_to_next_available
from steersman.cluster.controllers.revisions import REVISION_LABEL, RevisionHistory, revision_template
from steersman.cluster.controllers.stateful_claims import StatefulClaims, claim_name, template_name
from steersman.cluster.store import AlreadyExists, NotFound, StatusError, Store

POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
PARALLEL: Final = "Parallel"
ROLLING_UPDATE: Final = "RollingUpdate"
ON_DELETE: Final = "OnDelete"

_ORDINAL: Final = re.compile(r"(.*)-([0-9]+)$")
_MAX_ORDINAL: Final = 2**31 - 1

_replace = msgspec.structs.replace


class StatefulCount:
    """Pods of a StatefulSet by ordinal, with incremental counts."""

    def __init__(self, stateful_set: StatefulSet, pods: Iterable[Pod]) -> None:
        self._name = stateful_set.metadata.name
        self.selector = stateful_set.spec.selector
        self._compiled = compiled_selector(self.selector)
        #: Owned pods that do not match the set's name or selector.
        self.unselected: dict[str, Pod] = {}
        self.pods: dict[int, Pod] = {}
        self.ready = 0
        #: Revision → number of non-terminating pods.
        self.revisions: Counter[str] = Counter()
        self._spec = stateful_set.spec
        self.wanted = wanted_ordinals(stateful_set.spec)
        #: Ordinals of existing pods that are not wanted.
        self.condemned: set[int] = set()
        #: Pods with lower wanted ordinals need no action under the current spec.
        self.settled_below = self.wanted.start
        for pod in pods:
            self.change(None, pod)

    def change(self, before: Pod | None, after: Pod | None) -> None:
        if before is not None:
            self._count(before, -1)
        if after is not None:
            self._count(after, 1)

    def follow(self, spec: StatefulSetSpec) -> None:
        """Update wanted ordinals for a new spec, and unsettle all pods."""
        if spec is not self._spec:
            self._spec, self.wanted = spec, wanted_ordinals(spec)
            self.condemned = {ordinal for ordinal in self.pods if ordinal not in self.wanted}
            self.settled_below = self.wanted.start

    def _count(self, pod: Pod, one: int) -> None:
        parent, ordinal = parent_and_ordinal(pod.metadata.name)
        if parent != self._name or not self._compiled.matches(pod.metadata.labels):
            _put(self.unselected, key(pod), pod, one)
        elif ordinal >= 0:
            _put(self.pods, ordinal, pod, one)
            self.settled_below = min(self.settled_below, max(ordinal, self.wanted.start))
            if ordinal not in self.wanted:
                (self.condemned.add if one > 0 else self.condemned.discard)(ordinal)
            self.ready += one * (pod.status.phase == "Running" and is_ready(pod))
            if pod.metadata.deletion_timestamp is None:
                revision = pod_revision(pod)
                self.revisions[revision] += one
                if not self.revisions[revision]:
                    del self.revisions[revision]


K = TypeVar("K")


def _put(pods: dict[K, Pod], place: K, pod: Pod, one: int) -> None:
    if one > 0:
        pods[place] = pod
    else:
        pods.pop(place, None)


def wanted_ordinals(spec: StatefulSetSpec) -> range:
    """Return the ordinals of the desired pods."""
    start = 0 if spec.ordinals is None else spec.ordinals.start
    return range(start, start + (spec.replicas or 0))


class StatefulSetController(PodOwnerController[StatefulSet]):
    NAME = "statefulset"
    KIND = StatefulSet

    def __init__(self, cluster: Cluster) -> None:
        self._history = RevisionHistory(cluster.store)
        self.claims = StatefulClaims(cluster)
        #: StatefulSet uid → count, created by its first sync.
        self._counts: dict[str, StatefulCount] = {}
        super().__init__(cluster)

    def may_adopt(self, owner: StatefulSet, pod: Pod) -> bool:
        return parent_and_ordinal(pod.metadata.name)[0] == owner.metadata.name

    def owner_went(self, owner: StatefulSet) -> None:
        self._counts.pop(owner.metadata.uid, None)

    def pod_changed(self, owner: OwnerReference, before: Pod | None, after: Pod | None) -> None:
        count = self._counts.get(owner.uid)
        if count is not None:
            count.change(before, after)

    def reconcile(self, key: str) -> None:
        stateful_set = self.store.find(StatefulSet, key)
        if stateful_set is None or not stateful_set.spec.template:
            return  # an API server rejects objects without a template
        selector = compiled_selector(stateful_set.spec.selector)
        if not self.is_template_selected(stateful_set, selector, stateful_set.spec.template):
            return
        known = self._history.revisions_of(stateful_set, selector)
        count = self._claim(stateful_set, selector)
        collisions = stateful_set.status.collision_count or 0
        latest, collisions = self._history.current(
            stateful_set, stateful_set.spec.template, known, collisions, _lost_revision(stateful_set)
        )
        named = stateful_set.status.current_revision
        current = next((revision for revision in known if revision.metadata.name == named), latest)
        step = StatefulStep(self, stateful_set, Revisions(current, latest), count)
        failure: StatusError | None = None
        try:
            step.take()
        except StatusError as refusal:
            failure = refusal
        self._write_status(stateful_set, _replace(step.status(), collision_count=collisions))
        self._truncate(stateful_set, known, {current.metadata.name, latest.metadata.name})
        if failure is not None:
            raise failure
        self._look_again(stateful_set, count)

    def _claim(self, stateful_set: StatefulSet, selector: Selector) -> StatefulCount:
        """Adopt and release pods; return the count of the set's pods."""
        uid, is_staying = stateful_set.metadata.uid, stateful_set.metadata.deletion_timestamp is None
        if is_staying:
            self.adopt(stateful_set, selector)
        count = self._counts.get(uid)
        if count is None or count.selector != stateful_set.spec.selector:
            count = self._counts[uid] = StatefulCount(stateful_set, self.owned.owned_by(uid).values())
        count.follow(stateful_set.spec)
        if is_staying and count.unselected:
            self.release(stateful_set, list(count.unselected.values()))
        return count

    def _write_status(self, stateful_set: StatefulSet, status: StatefulSetStatus) -> None:
        size = stateful_set.spec.replicas or 0
        is_rolling = stateful_set.spec.update_strategy.type == ROLLING_UPDATE
        if is_rolling and status.updated_replicas == status.ready_replicas == status.replicas == size:
            status = _replace(status, current_replicas=size, current_revision=status.update_revision)
        if status != _replace(stateful_set.status, collision_count=status.collision_count):
            self.store.update_status(_replace(stateful_set, status=status))

    def _truncate(self, stateful_set: StatefulSet, known: Sequence[ControllerRevision], in_use: set[str]) -> None:
        limit = stateful_set.spec.revision_history_limit or 0
        if len(known) > limit:
            pods = self.owned.owned_by(stateful_set.metadata.uid).values()
            self._history.truncate(known, in_use | {pod_revision(pod) for pod in pods}, limit)

    def _look_again(self, stateful_set: StatefulSet, count: StatefulCount) -> None:
        seconds = stateful_set.spec.min_ready_seconds
        if seconds:
            left = seconds_to_next_available(count.pods.values(), seconds, self.store.clock.now())
            if left is not None:
                self.enqueue_after(key(stateful_set), left)


class Revisions(NamedTuple):
    """The current and the update revision of a set."""

    current: ControllerRevision
    latest: ControllerRevision


class StatefulStep:
    """A sync of a StatefulSet."""

    def __init__(
        self, controller: StatefulSetController, stateful_set: StatefulSet, revisions: Revisions, count: StatefulCount
    ) -> None:
        self._controller = controller
        self._cluster = controller.cluster
        self._set = stateful_set
        self._revisions = revisions
        self._count = count
        #: Pods by ordinal, updated as pods are created and deleted.
        self._pods = count.pods
        self._now = controller.store.clock.now()
        self._is_ordered = stateful_set.spec.pod_management_policy != PARALLEL
        self._wanted = count.wanted

    def take(self) -> None:
        """Create, delete and update as many pods as the set currently allows."""
        if self._set.metadata.deletion_timestamp is not None:
            return
        unsettled = range(self._count.settled_below, self._wanted.stop)
        condemned = sorted(self._count.condemned, reverse=True)
        unhealthy = self._first_unavailable(condemned) if condemned else None
        steps: tuple[tuple[Sequence[int], Callable[[int], bool]], ...] = (
            (unsettled, self._is_replica_in_order),
            (condemned, self._has_condemned_claims_in_order),
            (condemned, lambda ordinal: self._may_go_on_after(ordinal, unhealthy)),
        )
        for ordinals, goes_on in steps:
            for ordinal in ordinals:
                if not goes_on(ordinal) and self._is_ordered:
                    return
        if self._set.spec.update_strategy.type != ON_DELETE:
            self._update()

    def _first_unavailable(self, condemned: Sequence[int]) -> int | None:
        """Return the lowest ordinal with a missing or unavailable pod; it may be deleted."""
        ordinals: list[int] = [*self._wanted, *reversed(condemned)]
        for ordinal in ordinals:
            pod = self._pods.get(ordinal)
            if pod is None or self._is_unavailable(pod):
                return ordinal
        return None

    # -- single pods -------------------------------------------------------------------------------

    def _is_replica_in_order(self, ordinal: int) -> bool:
        """Create, replace or update one pod; return whether an ordered set may continue."""
        pod = self._pods.get(ordinal)
        if pod is None:
            self._create(ordinal)
            return False
        if pod.status.phase in FINISHED_PHASES:
            if pod.metadata.deletion_timestamp is None and self._controller.may_replace(self._set):
                self._delete(pod)
            return False
        if pod.status.phase == "Pending":
            self._controller.claims.create_missing(self._set, pod.metadata.name, ordinal)
            self._controller.claims.own_right(self._set, pod, ordinal)
        if self._is_ordered and (self._is_unavailable(pod) or pod.status.phase != "Running"):
            return False
        self._repair_identity(pod, ordinal)
        is_settled = pod.status.phase == "Running" and not self._is_unavailable(pod)
        if is_settled and self._count.settled_below == ordinal:
            self._count.settled_below += 1
        return True

    def _repair_identity(self, pod: Pod, ordinal: int) -> None:
        """Set missing identity labels of a pod, and the owners of its claims."""
        meta = pod.metadata
        if meta.labels.get(POD_NAME_LABEL) != meta.name:
            labels = {**meta.labels, POD_NAME_LABEL: meta.name, POD_INDEX_LABEL: str(ordinal)}
            self._controller.store.update(_replace(pod, metadata=_replace(meta, labels=labels)))
            self._record("Update", pod.metadata.name)
        self._controller.claims.own_right(self._set, pod, ordinal)

    def _has_condemned_claims_in_order(self, ordinal: int) -> bool:
        self._controller.claims.own_right(self._set, self._pods[ordinal], ordinal)
        return True

    def _may_go_on_after(self, ordinal: int, unhealthy: int | None) -> bool:
        """Delete a condemned pod if permitted; return whether an ordered set may continue."""
        pod = self._pods[ordinal]
        if pod.metadata.deletion_timestamp is not None:
            return False
        if not self._is_ordered or ordinal == unhealthy or not self._is_unavailable(pod):
            self._delete(pod)
        return False

    def _update(self) -> None:
        """Delete the highest outdated pod; one at a time, while all above are available."""
        if self._count.revisions.keys() == {self._revisions.latest.metadata.name}:
            return
        rolling = self._set.spec.update_strategy.rolling_update
        lowest = self._wanted.start + ((rolling.partition or 0) if rolling is not None else 0)
        for ordinal in reversed(range(lowest, self._wanted.stop)):
            pod = self._pods.get(ordinal)
            if pod is None:
                return  # it had finished and was deleted in this sync
            if pod_revision(pod) != self._revisions.latest.metadata.name and pod.metadata.deletion_timestamp is None:
                self._delete(pod)
                return
            if self._is_unavailable(pod):
                return

    def _is_unavailable(self, pod: Pod) -> bool:
        is_on_its_way_out = pod.metadata.deletion_timestamp is not None
        return is_on_its_way_out or not is_available(pod, self._set.spec.min_ready_seconds, self._now)

    # -- writing -----------------------------------------------------------------------------------

    def _create(self, ordinal: int) -> None:
        name = f"{self._set.metadata.name}-{ordinal}"
        claims = self._controller.claims
        if claims.belong_to_former(self._set, name, ordinal):
            return
        try:
            claims.create_missing(self._set, name, ordinal)
            pod = self._made(name, ordinal)
            claims.own_right(self._set, pod, ordinal)
        except StatusError as refusal:
            if not isinstance(refusal, AlreadyExists):
                self._record("Create", name, refusal)
            raise
        self._record("Create", name)

    def _made(self, name: str, ordinal: int) -> Pod:
        revision = self._revision_for(ordinal)
        template = self._set.spec.template
        if revision is not self._revisions.latest:
            template = revision_template(revision)
        maker = self._controller.templates.pod_maker(template, self._set)
        labels = {
            **maker.metadata.labels,
            POD_NAME_LABEL: name,
            POD_INDEX_LABEL: str(ordinal),
            REVISION_LABEL: revision.metadata.name,
        }
        spec = maker.template.spec
        fields: dict[str, Any] = {"hostname": name, "subdomain": self._set.spec.service_name}
        claims = {template_name(claim): claim_name(self._set, claim, ordinal) for claim in self._claim_templates}
        if claims:
            kept = tuple(volume for volume in spec.volumes if volume.name not in claims)
            spec = _replace(spec, volumes=(*(_claim_volume(*claim) for claim in claims.items()), *kept))
            fields["volumes"] = _volume_documents(claims, template)
        pod = Pod(metadata=_replace(maker.metadata, name=name, labels=labels), spec=spec)
        return maker.create_as(pod, **{name: value for name, value in fields.items() if value})

    @property
    def _claim_templates(self) -> tuple[dict[str, Any], ...]:
        return self._set.spec.volume_claim_templates

    def _revision_for(self, ordinal: int) -> ControllerRevision:
        """Return the current revision for pods below the partition, or without one for those before
        the update; else the latest."""
        strategy, rank = self._set.spec.update_strategy, ordinal - self._wanted.start
        if strategy.rolling_update is not None:
            is_current = rank < (strategy.rolling_update.partition or 0)
        else:
            is_current = strategy.type == ROLLING_UPDATE and rank < self._set.status.current_replicas
        return self._revisions.current if is_current else self._revisions.latest

    def _delete(self, pod: Pod) -> None:
        try:
            self._controller.pods.delete(key(pod), grace_period_seconds=None)
        except NotFound:
            pass
        except StatusError as refusal:
            self._record("Delete", pod.metadata.name, refusal)
            raise
        self._record("Delete", pod.metadata.name)

    def _record(self, verb: str, pod: str, refusal: StatusError | None = None) -> None:
        about = f"{verb} Pod {pod} in StatefulSet {self._set.metadata.name}"
        if refusal is None:
            self._cluster.record(self._set, f"Successful{verb}", f"{about} successful")
        else:
            self._cluster.record(
                self._set, f"Failed{verb}", f"{about} failed error: {refusal.message}", is_warning=True
            )

    def status(self) -> StatefulSetStatus:
        """Return the status of the set from its current pods."""
        count, seconds = self._count, self._set.spec.min_ready_seconds
        current, latest = self._revisions.current.metadata.name, self._revisions.latest.metadata.name
        available = count.ready
        if seconds:
            available = sum(is_available(pod, seconds, self._now) for pod in self._pods.values())
        return StatefulSetStatus(
            observed_generation=self._set.metadata.generation,
            replicas=len(self._pods),
            ready_replicas=count.ready,
            current_replicas=count.revisions[current],
            updated_replicas=count.revisions[latest],
            current_revision=current,
            update_revision=latest,
            available_replicas=available,
        )


def _lost_revision(stateful_set: StatefulSet) -> str:
    """Return the latest revision's name, often missing in dumps, if the status is up to date."""
    status = stateful_set.status
    return status.update_revision if status.observed_generation == stateful_set.metadata.generation else ""


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """Split a pod name: `web-3` → web, 3; the ordinal is -1 without a valid one."""
    found = _ORDINAL.match(name)
    if found is None:
        return "", -1
    ordinal = int(found[2])
    return found[1], ordinal if ordinal <= _MAX_ORDINAL else -1


def awaited_predecessor(store: Store, stateful_set: StatefulSet, pod: str) -> str:
    """Return the key of the pod for which an ordered set waits before creating this pod, or ""."""
    if stateful_set.spec.pod_management_policy == PARALLEL:
        return ""
    ordinals = wanted_ordinals(stateful_set.spec)
    for ordinal in range(ordinals.start, min(parent_and_ordinal(pod)[1], ordinals.stop)):
        name = f"{key(stateful_set)}-{ordinal}"
        found = store.find(Pod, name)
        if found is None or found.status.phase != "Running" or not is_ready(found):
            return name
    return ""


def pod_revision(pod: Pod) -> str:
    """Return the name of the pod's revision."""
    return pod.metadata.labels.get(REVISION_LABEL, "")


def _claim_volume(name: str, claim: str) -> Volume:
    return Volume(name=name, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim))


def _volume_documents(claims: dict[str, str], template: dict[str, Any]) -> list[dict[str, Any]]:
    kept = [volume for volume in template["spec"].get("volumes") or () if volume.get("name") not in claims]
    return [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()] + kept
