# SPDX-License-Identifier: Apache-2.0
"""The plugin: counts volumes on the node, those the pod brings, and compares with what the node's CSINode allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from steersman import api
from steersman.api import CSIDriver, CSINode, PersistentVolumeClaim, VolumeAttachment
from steersman.framework.columns import ClusterFilterKernel, ColumnarFilter, StatusTable
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from steersman.framework.handle import Handle
from steersman.framework.hints import changed, deleted
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import NodesView
from steersman.framework.plugin import EnqueueExtensions, FilterPlugin, PreFilterPlugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import SKIP, Status, unschedulable
from steersman.plugins.node_volume_limits.attachments import (
    Attachable,
    AttachableVolumes,
    Attachments,
    claim_name,
    inline_drivers,
    may_attach,
    volume_limits,
)
from steersman.plugins.node_volume_limits.columns import EXCEEDED, LimitedRows, RowVolumes

ERR_REASON_DRIVER_NOT_INSTALLED = "{} CSI driver is not installed on the node"


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects nodes to which the pod's volumes cannot be attached in addition to those that are."""

    name = "NodeVolumeLimits"
    filters_by_cluster = True
    looks_at_claims = True

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
        """For explanations: the limit that the pod's volumes would go beyond on the node; None: none, or it is not known."""
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
        """A driver of the pod that insists on being installed and is not; "" if there is none."""
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
        """Helps if the pod had a node, or was about to get one, and may have had a volume attached."""
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
        """Helps a pod with a claim, whatever its driver, and one with a disk of the driver."""
        gone = deleted(VolumeAttachment, old)
        for volume in waiting.spec.volumes:
            if volume.persistent_volume_claim is not None:
                return QueueingHint.QUEUE
        return QueueingHint.QUEUE if gone.spec.attacher in inline_drivers(waiting) else QueueingHint.SKIP

    def after_csi_node_updated(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Helps if the limit of some driver grows."""
        before, after = changed(CSINode, old, new)
        limits = volume_limits(before)
        grows = any(limit > limits.get(driver, 0) for driver, limit in volume_limits(after).items())
        return QueueingHint.QUEUE if grows else QueueingHint.SKIP


class ExceededLimit(NamedTuple):
    """A driver's limit that a pod would go beyond on a node: what is attached, and what the pod brings."""

    driver: str
    limit: int
    present: int
    coming: int


def first_exceeded(
    limits: dict[str, int], in_use: Attachable, attached: Attachable, new: Attachable
) -> ExceededLimit | None:
    """The first limit that the new volumes go beyond. One that a pod on the node uses takes no further place; one that is
    merely attached does."""
    present = Counter((attached | in_use).values())
    coming = Counter(driver for volume, driver in new.items() if volume not in in_use)
    for driver, count in coming.items():
        if driver in limits and present[driver] + count > limits[driver]:
            return ExceededLimit(driver, limits[driver], present[driver], count)
    return None
