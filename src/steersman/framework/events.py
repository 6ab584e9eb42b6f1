# SPDX-License-Identifier: Apache-2.0
"""Cluster events as the scheduling queue uses them.

`ingest` turns watch events, an old and a new object, into `ClusterEvent`s (for Pods and Nodes with
the diff functions at the end of this module). Plugins declare with `ClusterEventWithHint` which
events may make a pod schedulable that they rejected. The queue requeues a pod if a plugin that
rejected it has registered for the event and that plugin's hint function does not return SKIP.
"""

from collections.abc import Callable, Iterator
from enum import Enum, IntFlag
from typing import Final

import msgspec

from steersman import api
from steersman.api import quantity
from steersman.framework.pod_resources import Amounts, request_amounts


class ActionType(IntFlag):
    """Action on an object; registrations combine several bits."""

    NONE = 0
    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    UPDATE_NODE_TAINT = 16
    """Taints changed, or the node was uncordoned."""
    UPDATE_NODE_CONDITION = 32
    UPDATE_NODE_ANNOTATION = 64
    UPDATE_NODE_DECLARED_FEATURE = 128
    UPDATE_NODE_PREEMPTION_POLICY = 256
    UPDATE_POD_LABEL = 512
    UPDATE_POD_SCALE_DOWN = 1024
    UPDATE_POD_SCALE_UP = 2048
    """Requests grew; since v1.37."""
    UPDATE_POD_TOLERATION = 4096
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 8192
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 16384
    UPDATE = 32764
    """All update bits: an update without a specific bit, or a registration for all updates."""
    ALL = 32767


ACTION_NAMES: Final[dict[int, str]] = {
    ActionType.ADD: "Add",
    ActionType.DELETE: "Delete",
    ActionType.UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    ActionType.UPDATE_NODE_LABEL: "UpdateNodeLabel",
    ActionType.UPDATE_NODE_TAINT: "UpdateNodeTaint",
    ActionType.UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    ActionType.UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    ActionType.UPDATE_NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    ActionType.UPDATE_NODE_PREEMPTION_POLICY: "UpdateNodePreemptionPolicy",
    ActionType.UPDATE_POD_LABEL: "UpdatePodLabel",
    ActionType.UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    ActionType.UPDATE_POD_SCALE_UP: "UpdatePodScaleUp",
    ActionType.UPDATE_POD_TOLERATION: "UpdatePodToleration",
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "UpdatePodGeneratedResourceClaim",
    ActionType.UPDATE: "Update",
    ActionType.ALL: "All",
}
"""Names as Kubernetes writes them. Other combinations occur in registrations only and have no name.
"""


class EventResource:
    """Resources that in-tree plugins register for. Any other `group/Kind` string is valid too."""

    POD: Final = "Pod"
    """For registrations: any pod, with or without a node."""
    ASSIGNED_POD: Final = "AssignedPod"
    """For incoming events: a pod that has a node."""
    UNSCHEDULABLE_POD: Final = "UnschedulablePod"
    """For incoming events up to v1.36: a pod without a node."""
    UNSCHEDULED_POD: Final = "UnscheduledPod"
    """Since v1.37: a pod without a node, other than the waiting pod."""
    TARGET_POD: Final = "TargetPod"
    """Since v1.37: the waiting pod itself."""
    NODE: Final = "Node"
    PERSISTENT_VOLUME: Final = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM: Final = "PersistentVolumeClaim"
    CSI_NODE: Final = "storage.k8s.io/CSINode"
    CSI_DRIVER: Final = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT: Final = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY: Final = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS: Final = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM: Final = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE: Final = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS: Final = "resource.k8s.io/DeviceClass"
    POD_GROUP: Final = "scheduling.k8s.io/PodGroup"
    COMPOSITE_POD_GROUP: Final = "scheduling.k8s.io/CompositePodGroup"
    WILDCARD: Final = "*"


POD_RESOURCES: Final = frozenset(
    {
        EventResource.POD,
        EventResource.ASSIGNED_POD,
        EventResource.UNSCHEDULABLE_POD,
        EventResource.UNSCHEDULED_POD,
        EventResource.TARGET_POD,
    }
)
"""Resources of events about pods; a registration for `Pod` covers all of them."""


class ClusterEvent(msgspec.Struct, frozen=True):
    """A change of the cluster, or a plugin's registration for such changes.

    `label` names the event in logs and metrics. It defaults to resource and action (`NodeAdd`).
    """

    resource: str
    action: ActionType
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            msgspec.structs.force_setattr(self, "label", self.resource + ACTION_NAMES.get(self.action, ""))

    @property
    def is_wildcard(self) -> bool:
        """Whether this covers all events. As an incoming event it requeues pods regardless of
        registrations."""
        return self.resource == EventResource.WILDCARD and self.action == ActionType.ALL

    def matches(self, incoming: "ClusterEvent") -> bool:
        """Return whether this registration covers the incoming event, which must be equal or more
        specific."""
        if self.is_wildcard:
            return True
        registered, happened = int(self.action), int(incoming.action)
        return self._covers_resource(incoming.resource) and registered & happened != 0 and happened <= registered

    def _covers_resource(self, incoming: str) -> bool:
        if self.resource == EventResource.POD:
            return incoming in POD_RESOURCES
        return self.resource in (EventResource.WILDCARD, incoming)


class QueueingHint(Enum):
    """Result of a hint function: whether an event may make the pod schedulable."""

    SKIP = "QueueSkip"
    QUEUE = "Queue"


HintFn = Callable[[api.Pod, object, object], QueueingHint]
"""Called with the waiting pod, the old object and the new object (None if there is none). An
exception counts as QUEUE."""


class ClusterEventWithHint(msgspec.Struct, frozen=True):
    """One registration of a plugin. Without a hint function every matching event means QUEUE."""

    event: ClusterEvent
    hint: HintFn | None = None


FORCE_ACTIVATE: Final = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "ForceActivate")
"""A plugin requested the immediate retry of a pod."""
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "UnschedulableTimeout")
"""The pod has exceeded the maximum time in the unschedulable pods and is retried unconditionally.
"""
ASSIGNED_POD_ADD: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_UPDATE: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE)
ASSIGNED_POD_DELETE: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
NODE_ADD: Final = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE: Final = ClusterEvent(EventResource.NODE, ActionType.DELETE)


def refreshed(plugin: str) -> ClusterEvent:
    """Return the event that the plugin has refreshed its external data. Only this plugin receives
    it."""
    return ClusterEvent(f"plugin/{plugin}", ActionType.UPDATE, f"{plugin}Refreshed")


class PodEvents:
    """The events of pods in one emulated version.

    `by_role` distinguishes a waiting pod from other pods without a node, and reports larger
    requests (v1.37). `resize_by_totals` is the rule for resized pods (`pod_resources`).
    """

    def __init__(self, *, by_role: bool = False, resize_by_totals: bool = False) -> None:
        self.by_role = by_role
        self._by_totals = resize_by_totals
        self._waiting_pod = EventResource.TARGET_POD if by_role else EventResource.UNSCHEDULABLE_POD
        other = EventResource.UNSCHEDULED_POD if by_role else EventResource.UNSCHEDULABLE_POD
        self.unscheduled_add = ClusterEvent(other, ActionType.ADD)
        self.unscheduled_update = ClusterEvent(other, ActionType.UPDATE)
        self.unscheduled_delete = ClusterEvent(other, ActionType.DELETE)

    def of_update(self, old: api.Pod, new: api.Pod) -> tuple[ClusterEvent, ...]:
        """Return the events of a pod update, at least one: a change without a specific action is a
        general UPDATE."""
        resource = EventResource.ASSIGNED_POD if new.spec.node_name else self._waiting_pod
        return tuple(ClusterEvent(resource, action) for action in self._actions(old, new)) or (
            ClusterEvent(resource, ActionType.UPDATE),
        )

    def _actions(self, old: api.Pod, new: api.Pod) -> Iterator[ActionType]:
        if _labels_changed(old, new):
            yield ActionType.UPDATE_POD_LABEL
        if _request_inputs(old) != _request_inputs(new):
            yield from self._request_changes(old, new)
        if _gates_eliminated(old, new):
            yield ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        if _tolerations_added(old, new):
            yield ActionType.UPDATE_POD_TOLERATION
        if _generated_claims_changed(old, new):
            yield ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM

    def _request_changes(self, old: api.Pod, new: api.Pod) -> Iterator[ActionType]:
        before, after = (request_amounts(pod, by_totals=self._by_totals) for pod in (old, new))
        if _exceeds(before, after):
            yield ActionType.UPDATE_POD_SCALE_DOWN
        if self.by_role and _exceeds(after, before):
            yield ActionType.UPDATE_POD_SCALE_UP


def node_update_events(old: api.Node, new: api.Node) -> tuple[ClusterEvent, ...]:
    """Return the events of a node update, or none if nothing relevant to scheduling changed."""
    return tuple(
        ClusterEvent(EventResource.NODE, action) for action, has_changed in _NODE_CHANGES if has_changed(old, new)
    )


def _labels_changed(old: api.Pod | api.Node, new: api.Pod | api.Node) -> bool:
    return old.metadata.labels != new.metadata.labels


def _exceeds(amounts: Amounts, others: Amounts) -> bool:
    """Return whether one of the amounts is larger than the other amount of its resource, or the
    only one."""
    return any(
        name not in others or quantity.milli_value(amount) > quantity.milli_value(others[name])
        for name, amount in amounts.items()
    )


def _request_inputs(pod: api.Pod) -> tuple[object, ...]:
    """Return the fields that requests depend on. A change of phase usually keeps them identical
    objects."""
    spec, status = pod.spec, pod.status
    resized = status.container_statuses or status.init_container_statuses or status.resources
    return (
        spec.containers,
        spec.init_containers,
        spec.overhead,
        spec.resources,
        status.container_statuses,
        status.init_container_statuses,
        status.resources,
        status.allocated_resources,
        status.conditions if resized else None,
    )


def _gates_eliminated(old: api.Pod, new: api.Pod) -> bool:
    return bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates


def _tolerations_added(old: api.Pod, new: api.Pod) -> bool:
    # The API server admits additions only, so comparing the number is enough.
    return len(old.spec.tolerations) != len(new.spec.tolerations)


def _generated_claims_changed(old: api.Pod, new: api.Pod) -> bool:
    return (
        old.status.resource_claim_statuses != new.status.resource_claim_statuses
        or old.status.extended_resource_claim_status != new.status.extended_resource_claim_status
    )


def _uncordoned(old: api.Node, new: api.Node) -> bool:
    return old.spec.unschedulable and not new.spec.unschedulable


def _taints_changed(old: api.Node, new: api.Node) -> bool:
    return old.spec.taints != new.spec.taints


def _condition_statuses(node: api.Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def _conditions_changed(old: api.Node, new: api.Node) -> bool:
    return _condition_statuses(old) != _condition_statuses(new)


def _annotations_changed(old: api.Node, new: api.Node) -> bool:
    return old.metadata.annotations != new.metadata.annotations


def _declared_features_changed(old: api.Node, new: api.Node) -> bool:
    return old.status.declared_features != new.status.declared_features


def _allocatable_changed(old: api.Node, new: api.Node) -> bool:
    before, after = old.status.allocatable, new.status.allocatable
    return before.keys() != after.keys() or any(_differ(amount, after[name]) for name, amount in before.items())


def _differ(before: api.Quantity, after: api.Quantity) -> bool:
    return before != after and quantity.compare(quantity.parse(before), quantity.parse(after)) != 0


_NODE_CHANGES: Final[tuple[tuple[ActionType, Callable[[api.Node, api.Node], bool]], ...]] = (
    (ActionType.UPDATE_NODE_TAINT, _uncordoned),
    (ActionType.UPDATE_NODE_ALLOCATABLE, _allocatable_changed),
    (ActionType.UPDATE_NODE_LABEL, _labels_changed),
    (ActionType.UPDATE_NODE_TAINT, _taints_changed),
    (ActionType.UPDATE_NODE_CONDITION, _conditions_changed),
    (ActionType.UPDATE_NODE_ANNOTATION, _annotations_changed),
    (ActionType.UPDATE_NODE_DECLARED_FEATURE, _declared_features_changed),
)

_OF_ASSIGNED_PODS: Final = (
    ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_SCALE_DOWN
)
_OF_TARGET_PODS: Final = ActionType.UPDATE


def split_by_role(row: ClusterEventWithHint) -> Iterator[ClusterEventWithHint]:
    """Yield an in-tree plugin's registration as v1.37 has it: for assigned pods and for the waiting
    pod instead of any pod. A registration for all updates is about the waiting pod."""
    event = row.event
    if event.resource != EventResource.POD:
        yield row
        return
    roles = ((EventResource.ASSIGNED_POD, _OF_ASSIGNED_PODS), (EventResource.TARGET_POD, _OF_TARGET_PODS))
    for resource, covered in roles:
        action = event.action & covered
        if action and not (event.action == ActionType.UPDATE and resource == EventResource.ASSIGNED_POD):
            yield ClusterEventWithHint(ClusterEvent(resource, action), row.hint)


DEFAULT_POD_EVENTS: Final = PodEvents()
"""The events of the default version."""
