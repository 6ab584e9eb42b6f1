# SPDX-License-Identifier: Apache-2.0
"""The plugin: compares the volumes of a node and of the pod with the limits in its CSINode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from steersman import api
from steersman.api import CSIDriver, CSINode, PersistentVolumeClaim, VolumeAttachment
from steersman.framework import (
    SKIP,
    ActionType,
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
    Status,
    StatusTable,
    changed,
    deleted,
    unschedulable,
)
from steersman.scheduler.plugins.node_volume_limits.attachments import (
    Attachable,
    AttachableVolumes,
    Attachments,
    claim_name,
    inline_drivers,
    may_attach,
    volume_limits,
)
from steersman.scheduler.plugins.node_volume_limits.columns import EXCEEDED, LimitedRows, RowVolumes

ERR_REASON_DRIVER_NOT_INSTALLED = "{} CSI driver is not installed on the node"


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects nodes to which the pod's volumes cannot be attached in addition to existing ones."""

    name = "NodeVolumeLimits"
    filters_by_cluster = True
    reads_claims = True

    def __init__(self, args: None, handle: Handle) -> None:
        self.statuses = StatusTable()
        self._rows: RowVolumes | None = None
        self._objects = handle.objects
        self._volumes = AttachableVolumes(handle.objects)
        self._attachments = Attachments(handle.objects)
        self._requires_drivers = handle.gates.enabled("VolumeLimitScaling")

    def concerns(self, pod: PodInfo) -> bool:
        return any(map(may_attach, pod.spec.volumes))

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        return None if self.concerns(pod) else SKIP

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        csi_node = self._objects.get(CSINode, node.name)
        new = self._volumes.of_new(pod.pod, csi_node)
        if isinstance(new, Status):
            return new
        if not new:
            return None
        if self._requires_drivers and (missing := self._missing_driver(new, csi_node)):
            return unschedulable(ERR_REASON_DRIVER_NOT_INSTALLED.format(missing))
        limits = volume_limits(csi_node)
        if not limits:
            return None
        in_use: Attachable = {}
        for other in node.pods:
            fault = self._volumes.of_existing(other.pod, csi_node, in_use)
            if fault is not None:
                return fault
        attached = self._attachments.of_node(node.name)
        exceeded = first_exceeded(limits, in_use, attached, new)
        return None if exceeded is None else EXCEEDED

    def exceeded(self, pod: PodInfo, node: NodeInfo) -> ExceededLimit | None:
        """Return the limit that the pod's volumes exceed, or None; used for explanations."""
        csi_node = self._objects.get(CSINode, node.name)
        new = self._volumes.of_new(pod.pod, csi_node)
        in_use: Attachable = {}
        for other in node.pods:
            if self._volumes.of_existing(other.pod, csi_node, in_use) is not None:
                return None
        if isinstance(new, Status):
            return None
        return first_exceeded(volume_limits(csi_node), in_use, self._attachments.of_node(node.name), new)

    def _missing_driver(self, new: Attachable, node: CSINode | None) -> str:
        """Return a driver that the pod requires to be installed but is not, or ""."""
        installed = {driver.name for driver in node.spec.drivers} if node is not None else set()
        for name in new.values():
            driver = self._objects.get(CSIDriver, name)
            if driver is not None and driver.spec.prevent_pod_scheduling_if_missing and name not in installed:
                return name
        return ""

    # -- the vector form ---------------------------------------------------------------------------------------------

    def filter_fragment(self, pod: PodInfo) -> None:
        return None

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> ClusterFilterKernel | None:
        if not self.concerns(pod):
            return None
        return LimitedRows(
            pod,
            lambda node: self.filter(CycleState(), pod, node),
            self._volumes,
            self._row_volumes(view),
            self._objects,
            self.statuses,
            every_row=self._requires_drivers,
        )

    def _row_volumes(self, view: NodesView) -> RowVolumes:
        rows = self._rows
        if rows is None or not rows.are_of(view):
            rows = self._rows = RowVolumes(view, self._objects, self._attachments)
        return rows

    # -- hints -------------------------------------------------------------------------------------------------------

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, ActionType.ADD)),
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE), self.after_csi_node_updated),
            ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE), self.after_pod_deleted),
            ClusterEventWithHint(
                ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD), self.after_claim_added
            ),
            ClusterEventWithHint(
                ClusterEvent(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE), self.after_attachment_deleted
            ),
        )

    def after_pod_deleted(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the deleted pod was bound or nominated and may have had a volume attached."""
        gone = deleted(api.Pod, old)
        had_node = gone.spec.node_name or gone.status.nominated_node_name
        return QueueingHint.QUEUE if had_node and any(map(may_attach, gone.spec.volumes)) else QueueingHint.SKIP

    def after_claim_added(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        _, claim = changed(PersistentVolumeClaim, old, new)
        is_used = claim.metadata.namespace == waiting.metadata.namespace and any(
            claim_name(waiting, volume) == claim.metadata.name for volume in waiting.spec.volumes
        )
        return QueueingHint.QUEUE if is_used else QueueingHint.SKIP

    def after_attachment_deleted(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue any pod with a claim, and pods with an inline disk of the attachment's driver."""
        gone = deleted(VolumeAttachment, old)
        for volume in waiting.spec.volumes:
            if volume.persistent_volume_claim is not None:
                return QueueingHint.QUEUE
        return QueueingHint.QUEUE if gone.spec.attacher in inline_drivers(waiting) else QueueingHint.SKIP

    def after_csi_node_updated(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the limit of some driver grows."""
        before, after = changed(CSINode, old, new)
        limits = volume_limits(before)
        grows = any(limit > limits.get(driver, 0) for driver, limit in volume_limits(after).items())
        return QueueingHint.QUEUE if grows else QueueingHint.SKIP


class ExceededLimit(NamedTuple):
    """A driver's limit that a pod would exceed on a node, with existing and new volumes."""

    driver: str
    limit: int
    present: int
    coming: int


def first_exceeded(
    limits: dict[str, int], in_use: Attachable, attached: Attachable, new: Attachable
) -> ExceededLimit | None:
    """Return the first limit that the new volumes exceed. A volume in use by a pod on the node
    counts once, one that is only attached twice."""
    present = Counter((attached | in_use).values())
    coming = Counter(driver for volume, driver in new.items() if volume not in in_use)
    for driver, count in coming.items():
        if driver in limits and present[driver] + count > limits[driver]:
            return ExceededLimit(driver, limits[driver], present[driver], count)
    return None
