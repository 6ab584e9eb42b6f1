# SPDX-License-Identifier: Apache-2.0
"""VolumeRestrictions: disks that cannot be attached twice, and ReadWriteOncePod claims.

PreFilter finds the pod's ReadWriteOncePod claims in use; with any, Filter rejects all nodes. AddPod
and RemovePod update the count, so that preemption can free a claim. In-tree disks (GCE, AWS, iSCSI,
RBD) that a pod names directly conflict with the same disk in other pods on the node.

In the vector form a ReadWriteOncePod claim in use rejects every row. Inline disks are legacy: they
get no columns and are checked node by node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from steersman import api
from steersman.api import (
    ISCSI,
    RBD,
    READ_WRITE_ONCE_POD,
    AWSElasticBlockStore,
    GCEPersistentDisk,
    PersistentVolumeClaim,
    Volume,
)
from steersman.base import CacheSpec, Memo
from steersman.framework import (
    SKIP,
    ActionType,
    BoolColumn,
    ClusterEvent,
    ClusterEventWithHint,
    ClusterFilterKernel,
    ColumnarFilter,
    CycleState,
    EnqueueExtensions,
    EventResource,
    FilterPlugin,
    Handle,
    NodeInfo,
    NodesView,
    PodInfo,
    PreFilterPlugin,
    QueueingHint,
    ReasonColumn,
    Status,
    StatusTable,
    changed,
    deleted,
    error,
    is_skip,
    unresolvable,
    unschedulable,
)

ERR_REASON_DISK_CONFLICT = "node(s) had no available disk"
ERR_REASON_READ_WRITE_ONCE_POD_CONFLICT = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
STATE_KEY = "PreFilterVolumeRestrictions"


class ClaimConflicts:
    """PreFilter's result: the pod's ReadWriteOncePod claims and the count of their users."""

    def __init__(self, exclusive: frozenset[str], references: int) -> None:
        self.exclusive = exclusive
        self.references = references

    def clone(self) -> ClaimConflicts:
        return ClaimConflicts(self.exclusive, self.references)

    def count(self, other: PodInfo, sign: int) -> None:
        """Count an added (`sign` 1) or removed (-1) pod. Like kube-scheduler, compare claims by
        name only and ignore the namespace."""
        self.references += sign * sum(name in self.exclusive for name in claim_names(other.pod))


class VolumeRestrictions(PreFilterPlugin, FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects nodes with a disk of the pod, and all nodes if a ReadWriteOncePod claim is in use."""

    name = "VolumeRestrictions"
    filters_by_cluster = True
    reads_claims = True

    def __init__(self, args: None, handle: Handle) -> None:
        self._objects = handle.objects
        self._nodes = handle.nodes
        self.statuses = StatusTable()

    def concerns(self, pod: PodInfo) -> bool:
        return pod.shape.names_claims or any(map(is_restricted, pod.spec.volumes))

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        exclusive: set[str] = set()
        for name in claim_names(pod.pod):
            claim = self._objects.get(PersistentVolumeClaim, f"{pod.namespace}/{name}")
            if claim is None:
                return unresolvable(f'persistentvolumeclaim "{name}" not found')
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                exclusive.add(name)
        references = sum(self._nodes.claim_in_use(f"{pod.namespace}/{name}") for name in exclusive)
        if not references and not any(map(is_restricted, pod.spec.volumes)):
            return SKIP
        state.write(STATE_KEY, ClaimConflicts(frozenset(exclusive), references))
        return None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
        return self._count(state, added, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status | None:
        return self._count(state, removed, -1)

    def _count(self, state: CycleState, other: PodInfo, sign: int) -> Status | None:
        conflicts = state.read(STATE_KEY, ClaimConflicts)
        if conflicts is None:
            return error(f'cannot read "{STATE_KEY}" from cycleState')
        conflicts.count(other, sign)
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if disks_conflict(pod.pod, (other.pod for other in node.pods)):
            return unschedulable(ERR_REASON_DISK_CONFLICT)
        conflicts = state.read(STATE_KEY, ClaimConflicts)
        if conflicts is None:
            return error(f'cannot read "{STATE_KEY}" from cycleState')
        return unschedulable(ERR_REASON_READ_WRITE_ONCE_POD_CONFLICT) if conflicts.references > 0 else None

    # -- the vector form ---------------------------------------------------------------------------------------------

    def filter_fragment(self, pod: PodInfo) -> None:
        return None

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> ClusterFilterKernel | None:
        if not self.concerns(pod):
            return None
        return RestrictedRows(
            view,
            prepare=lambda: self._prepared_filter(pod),
            as_of=lambda: self._objects.version(PersistentVolumeClaim),
            has_disks=any(map(is_restricted, pod.spec.volumes)),
            statuses=self.statuses,
        )

    def _prepared_filter(self, pod: PodInfo) -> Callable[[NodeInfo], Status | None] | Status:
        state = CycleState()
        status = self.pre_filter(state, pod, ())
        return status if status is not None else lambda node: self.filter(state, pod, node)

    # -- hints -------------------------------------------------------------------------------------------------------

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE), self.after_pod_deleted),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD)),
            ClusterEventWithHint(
                ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD), self.after_claim_added
            ),
        )

    def after_pod_deleted(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the deleted pod has a conflicting disk or a claim of the waiting pod."""
        gone = deleted(api.Pod, old)
        if gone.metadata.namespace != waiting.metadata.namespace:
            return QueueingHint.SKIP
        shared = set(claim_names(waiting)) & set(claim_names(gone))
        return QueueingHint.QUEUE if shared or disks_conflict(waiting, (gone,)) else QueueingHint.SKIP

    def after_claim_added(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        _, claim = changed(PersistentVolumeClaim, old, new)
        is_used = claim.metadata.namespace == waiting.metadata.namespace and claim.metadata.name in claim_names(waiting)
        return QueueingHint.QUEUE if is_used else QueueingHint.SKIP


def claim_names(pod: api.Pod) -> list[str]:
    """Return the claims that the pod names, without generated ones, which are never shared."""
    claims = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return [claim.claim_name for claim in claims if claim is not None]


def is_restricted(volume: Volume) -> bool:
    """Return whether the volume is a disk that pods cannot share freely."""
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.rbd is not None
        or volume.iscsi is not None
    )


def disks_conflict(pod: api.Pod, others: Iterable[api.Pod]) -> bool:
    """Return whether a disk of the pod conflicts with a disk of any of the other pods."""
    wanted = [volume for volume in pod.spec.volumes if is_restricted(volume)]
    return bool(wanted) and any(
        _is_same_disk(mine, theirs) for other in others for theirs in other.spec.volumes for mine in wanted
    )


def _is_same_disk(mine: Volume, theirs: Volume) -> bool:
    return (
        _is_same_gce(mine.gce_persistent_disk, theirs.gce_persistent_disk)
        or _is_same_aws(mine.aws_elastic_block_store, theirs.aws_elastic_block_store)
        or _is_same_iscsi(mine.iscsi, theirs.iscsi)
        or _is_same_rbd(mine.rbd, theirs.rbd)
    )


def _is_same_gce(mine: GCEPersistentDisk | None, theirs: GCEPersistentDisk | None) -> bool:
    """Return whether both are one GCE disk, unless both are read-only. AWS disks lack this rule."""
    if mine is None or theirs is None:
        return False
    return mine.pd_name == theirs.pd_name and not (mine.read_only and theirs.read_only)


def _is_same_aws(mine: AWSElasticBlockStore | None, theirs: AWSElasticBlockStore | None) -> bool:
    return mine is not None and theirs is not None and mine.volume_id == theirs.volume_id


def _is_same_iscsi(mine: ISCSI | None, theirs: ISCSI | None) -> bool:
    if mine is None or theirs is None:
        return False
    return mine.iqn == theirs.iqn and not (mine.read_only and theirs.read_only)


def _is_same_rbd(mine: RBD | None, theirs: RBD | None) -> bool:
    if mine is None or theirs is None:
        return False
    same_image = (mine.pool, mine.image) == (theirs.pool, theirs.image)
    shares_monitor = not set(mine.monitors).isdisjoint(theirs.monitors)
    return same_image and shares_monitor and not (mine.read_only and theirs.read_only)


# -- the vector form ---------------------------------------------------------------------------------------------------

#: The filter for one node, after PreFilter.
NodeFilter = Callable[[NodeInfo], Status | None]


RESTRICTED_ROWS = CacheSpec(
    name="rows where disks conflict",
    attributes=("RestrictedRows._prepared", "RestrictedRows._reasons"),
    contents="why VolumeRestrictions rejects a row",
    key="one for each pod with claims or disks",
    invalidation="version of PersistentVolumeClaim objects, end of the log of changed rows (`Memo`)",
    limit="lives as long as the pod's evaluation",
    reference="the scalar filter of every row",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
)


class RestrictedRows(ClusterFilterKernel):
    """Filters the rows for one pod. `prepare` runs PreFilter: it returns a filter or a status."""

    refusal_varies = True

    def __init__(
        self,
        view: NodesView,
        prepare: Callable[[], NodeFilter | Status],
        as_of: Callable[[], Hashable],
        has_disks: bool,
        statuses: StatusTable,
    ) -> None:
        self._view = view
        self._prepare = prepare
        self._claims_as_of = as_of
        self._has_disks = has_disks
        self._statuses = statuses
        self._prepared: Memo[NodeFilter | Status] = Memo()
        self._reasons: Memo[ReasonColumn] = Memo()

    def skipped(self) -> bool:
        prepared = self._prepared.get(self._as_of(), self._prepare)
        return isinstance(prepared, Status) and is_skip(prepared)

    def refusal(self) -> Status | None:
        prepared = self._prepared.get(self._as_of(), self._prepare)
        return prepared if isinstance(prepared, Status) and not is_skip(prepared) else None

    def rejected(self) -> BoolColumn | None:
        reasons = self.reasons()
        return reasons != 0 if reasons.any() else None

    def reasons(self) -> ReasonColumn:
        as_of = self._as_of()
        prepared = self._prepared.get(as_of, self._prepare)
        return self._reasons.get(as_of, lambda: self._work_out(prepared))

    def _as_of(self) -> Hashable:
        return self._claims_as_of(), self._view.log.end

    def _work_out(self, check: NodeFilter | Status) -> ReasonColumn:
        reasons = np.zeros(self._view.capacity, np.int32)
        rows = self._view.alive.nonzero()[0]
        if isinstance(check, Status) or not len(rows):
            return reasons
        if not self._has_disks:
            # Without disks the result is the same for every row.
            reasons[rows] = self._ask(check, int(rows[0]))
            return reasons
        for row in rows.tolist():
            reasons[row] = self._ask(check, row)
        return reasons

    def _ask(self, check: NodeFilter, row: int) -> int:
        status = check(self._view.info(row))
        return 0 if status is None else self._statuses.id_of(status)
