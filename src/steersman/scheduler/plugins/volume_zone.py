# SPDX-License-Identifier: Apache-2.0
"""VolumeZone: places pods in the zones and regions that the labels of their volumes name.

PreFilter collects the zone and region labels of the volumes bound to the pod's claims; Filter
compares them with the node's labels. A node without any such label accepts every volume. Newer
volumes have a node affinity instead, which VolumeBinding checks. The vector form compares zones and
regions with the nodes' label columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from steersman import api
from steersman.api import (
    WAIT_FOR_FIRST_CONSUMER,
    ZONE_DELIMITER,
    Operator,
    PersistentVolume,
    PersistentVolumeClaim,
    Requirement,
    StorageClass,
    class_of_claim,
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
    PodLimits,
    PreFilterPlugin,
    QueueingHint,
    ReasonColumn,
    Status,
    StatusTable,
    changed,
    limits_by_node,
    unresolvable,
)

ERR_REASON_CONFLICT = "node(s) had no available volume zone"
ERR_CLAIM_WITHOUT_NAME = "PersistentVolumeClaim had no name"
ERR_NEITHER_VOLUME_NOR_CLASS = "PersistentVolumeClaim had no pv name and storageClass name"
ERR_VOLUME_WITHOUT_NAME = "PersistentVolume had no name"
STATE_KEY = "PreFilterVolumeZone"
TOPOLOGY_LABELS = (api.BETA_ZONE_LABEL, api.BETA_REGION_LABEL, api.ZONE_LABEL, api.REGION_LABEL)
_KINDS = (PersistentVolumeClaim, PersistentVolume, StorageClass)
_PRESENT_LABEL = {api.BETA_ZONE_LABEL: api.ZONE_LABEL, api.BETA_REGION_LABEL: api.REGION_LABEL}


class VolumeTopology(NamedTuple):
    """One zone or region label of a volume: the node must have one of the values."""

    volume: str
    key: str
    values: frozenset[str]
    #: The name of the claim that is bound to the volume; "" where it does not matter.
    claim: str = ""

    def admits(self, labels: Mapping[str, str]) -> bool:
        """Return whether the node has the label, in the beta or GA form, with one of the values."""
        value = labels.get(self.key)
        if value is None:
            value = labels.get(_PRESENT_LABEL.get(self.key, self.key))
        return value in self.values


class VolumeTopologies(NamedTuple):
    """The zone and region labels of the pod's volumes, passed from PreFilter to Filter."""

    topologies: tuple[VolumeTopology, ...]


class VolumeZone(PreFilterPlugin, FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects nodes outside the zones of the pod's volumes."""

    name = "VolumeZone"
    filters_by_cluster = True
    reads_claims = True

    def __init__(self, args: None, handle: Handle) -> None:
        self._objects = handle.objects
        self.statuses = StatusTable()

    def concerns(self, pod: PodInfo) -> bool:
        return pod.shape.names_claims

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        topologies = self.topologies_of(pod.pod)
        if isinstance(topologies, Status):
            return topologies
        if not topologies:
            return SKIP
        state.write(STATE_KEY, VolumeTopologies(topologies))
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if not pod.spec.volumes:
            return None
        known = state.read(STATE_KEY, VolumeTopologies)
        topologies = self.topologies_of(pod.pod) if known is None else known.topologies
        if isinstance(topologies, Status):
            return topologies
        return None if admits(topologies, node.labels) else unresolvable(ERR_REASON_CONFLICT)

    def topologies_of(self, pod: api.Pod) -> tuple[VolumeTopology, ...] | Status:
        """Return the zone and region labels of the pod's volumes, or the error of a claim."""
        found: list[VolumeTopology] = []
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                topologies = self._claim_topologies(pod.metadata.namespace, volume.persistent_volume_claim.claim_name)
                if isinstance(topologies, Status):
                    return topologies
                found += topologies
        return tuple(found)

    def _claim_topologies(self, namespace: str, name: str) -> list[VolumeTopology] | Status:
        if not name:
            return unresolvable(ERR_CLAIM_WITHOUT_NAME)
        claim = self._objects.get(PersistentVolumeClaim, f"{namespace}/{name}")
        if claim is None:
            return unresolvable(f'persistentvolumeclaim "{name}" not found')
        if not claim.spec.volume_name:
            return self._why_unbound(claim) or []
        volume = self._objects.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            return unresolvable(f'persistentvolume "{claim.spec.volume_name}" not found')
        return [topology._replace(claim=name) for topology in volume_topologies(volume)]

    def _why_unbound(self, claim: PersistentVolumeClaim) -> Status | None:
        """Return why a claim has no volume, or None if it waits for its first consumer."""
        name = class_of_claim(claim)
        if not name:
            return unresolvable(ERR_NEITHER_VOLUME_NOR_CLASS)
        storage_class = self._objects.get(StorageClass, name)
        if storage_class is None:
            return unresolvable(f'storageclass.storage.k8s.io "{name}" not found')
        if storage_class.volume_binding_mode is None:
            return unresolvable(f'VolumeBindingMode not set for StorageClass "{name}"')
        waits = storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        return None if waits else unresolvable(ERR_VOLUME_WITHOUT_NAME)

    # -- the vector form ---------------------------------------------------------------------------------------------

    def filter_fragment(self, pod: PodInfo) -> None:
        return None

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> ClusterFilterKernel | None:
        if not self.concerns(pod):
            return None
        return ZonedRows(
            view,
            prepare=lambda: self._conditions(pod.pod),
            as_of=lambda: tuple([self._objects.version(kind) for kind in _KINDS]),
            reason=self.statuses.id_of(unresolvable(ERR_REASON_CONFLICT)),
        )

    def _conditions(self, pod: api.Pod) -> list[tuple[str, frozenset[str]]] | Status:
        topologies = self.topologies_of(pod)
        return topologies if isinstance(topologies, Status) else [(t.key, t.values) for t in topologies]

    # -- hints -------------------------------------------------------------------------------------------------------

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        add_or_update = ActionType.ADD | ActionType.UPDATE
        return (
            ClusterEventWithHint(
                ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD), self.after_storage_class_added
            ),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)),
            ClusterEventWithHint(
                ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, add_or_update), self.after_claim_changed
            ),
            ClusterEventWithHint(
                ClusterEvent(EventResource.PERSISTENT_VOLUME, add_or_update), self.after_volume_changed
            ),
        )

    def after_storage_class_added(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        _, added = changed(StorageClass, None, new)
        waits = added.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        return QueueingHint.QUEUE if waits else QueueingHint.SKIP

    def after_claim_changed(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        _, claim = changed(PersistentVolumeClaim, old, new)
        names = (v.persistent_volume_claim.claim_name for v in waiting.spec.volumes if v.persistent_volume_claim)
        is_used = claim.metadata.namespace == waiting.metadata.namespace and claim.metadata.name in names
        return QueueingHint.QUEUE if is_used else QueueingHint.SKIP

    def after_volume_changed(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        before, after = changed(PersistentVolume, old, new)
        if before is None or list(volume_topologies(before)) != list(volume_topologies(after)):
            return QueueingHint.QUEUE
        return QueueingHint.SKIP


def volume_topologies(volume: PersistentVolume) -> Iterator[VolumeTopology]:
    """Yield the zone and region labels of a volume, except invalid ones."""
    for key in TOPOLOGY_LABELS:
        label = volume.metadata.labels.get(key)
        if label is not None:
            values = frozenset(value.strip() for value in label.split(ZONE_DELIMITER))
            if "" not in values:
                yield VolumeTopology(volume.metadata.name, key, values)


def admits(topologies: Sequence[VolumeTopology], labels: Mapping[str, str]) -> bool:
    """Return whether a node with these labels accepts the volumes; without zone labels it does."""
    if not any(key in labels for key in TOPOLOGY_LABELS):
        return True
    return all(topology.admits(labels) for topology in topologies)


# -- the vector form ---------------------------------------------------------------------------------------------------

#: A label key and the values of which a node must have one.
ZoneCondition = tuple[str, frozenset[str]]


ZONE_CONDITIONS = CacheSpec(
    name="zones of volumes",
    attributes=("ZonedRows._conditions",),
    contents="the labels that a node must have for the pod's volumes",
    key="one for each pod with claims",
    invalidation="versions of claims, volumes and storage classes (`Memo`)",
    limit="lives as long as the pod's evaluation",
    reference="PreFilter of VolumeZone",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
)


class ZonedRows(ClusterFilterKernel):
    """Filters the rows for one pod. `prepare` runs PreFilter: it returns conditions or a status."""

    refusal_varies = True

    def __init__(
        self,
        view: NodesView,
        prepare: Callable[[], Iterable[ZoneCondition] | Status],
        as_of: Callable[[], Hashable],
        reason: int,
    ) -> None:
        self._view = view
        self._prepare = prepare
        self._as_of = as_of
        self._reason = reason
        self._conditions: Memo[tuple[ZoneCondition, ...] | Status] = Memo()

    def skipped(self) -> bool:
        return self._current_conditions() == ()

    def refusal(self) -> Status | None:
        conditions = self._current_conditions()
        return conditions if isinstance(conditions, Status) else None

    def rejected(self) -> BoolColumn | None:
        """Evaluate the label columns of the view; these are always up to date."""
        conditions = self._current_conditions()
        if isinstance(conditions, Status) or not conditions:
            return None
        rejected = np.zeros(self._view.capacity, np.bool_)
        for key, values in conditions:
            rejected |= ~self._admitted(key, values)
        rejected &= self._zoned()
        return rejected

    def reasons(self) -> ReasonColumn:
        rejected = self.rejected()
        if rejected is None:
            return np.zeros(self._view.capacity, np.int32)
        return np.where(rejected, np.int32(self._reason), np.int32(0))

    def pod_limits(self, coming: Iterable[PodInfo]) -> PodLimits:
        return limits_by_node(self.reasons())

    def _current_conditions(self) -> tuple[ZoneCondition, ...] | Status:
        return self._conditions.get(self._as_of(), self._find_conditions)

    def _find_conditions(self) -> tuple[ZoneCondition, ...] | Status:
        prepared = self._prepare()
        return prepared if isinstance(prepared, Status) else tuple(prepared)

    def _zoned(self) -> BoolColumn:
        """Return the rows with any zone or region label; other rows accept every volume."""
        zoned = np.zeros(self._view.capacity, np.bool_)
        for key in TOPOLOGY_LABELS:
            zoned |= self._has(key)
        return zoned

    def _admitted(self, key: str, values: frozenset[str]) -> BoolColumn:
        present = _PRESENT_LABEL.get(key, key)
        return self._is_one_of(key, values) | (~self._has(key) & self._is_one_of(present, values))

    def _has(self, key: str) -> BoolColumn:
        return self._view.requirement(Requirement(key, Operator.EXISTS))

    def _is_one_of(self, key: str, values: frozenset[str]) -> BoolColumn:
        return self._view.requirement(Requirement(key, Operator.IN, tuple(sorted(values))))
