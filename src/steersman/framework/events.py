# SPDX-License-Identifier: Apache-2.0
"""Events of the cluster, in the words of the scheduling queue.

Watch events come in at `ingest`, which turns an old and a new object into `ClusterEvent`s (for Pods and Nodes with the
diff functions at the end of this module). Plugins say with `ClusterEventWithHint` which events may make a pod that they
rejected schedulable. The queue brings the two together: an event wakes a waiting pod if a plugin that rejected it has
registered for the event and that plugin's hint function does not object.
"""

from collections.abc import Callable
from enum import Enum, IntFlag
from typing import Final

import msgspec

from steersman import api
from steersman.api import quantity
from steersman.framework.pod_resources import request_amounts


class ActionType(IntFlag):
    """The action on an object; registrations combine several bits."""

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
    UPDATE_POD_LABEL = 256
    UPDATE_POD_SCALE_DOWN = 512
    UPDATE_POD_TOLERATION = 1024
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096
    UPDATE = 8188
    """Every update bit: an update that no specific bit describes, or an interest in all of them."""
    ALL = 8191


ACTION_NAMES: Final[dict[int, str]] = {
    ActionType.ADD: "Add",
    ActionType.DELETE: "Delete",
    ActionType.UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    ActionType.UPDATE_NODE_LABEL: "UpdateNodeLabel",
    ActionType.UPDATE_NODE_TAINT: "UpdateNodeTaint",
    ActionType.UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    ActionType.UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    ActionType.UPDATE_NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    ActionType.UPDATE_POD_LABEL: "UpdatePodLabel",
    ActionType.UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    ActionType.UPDATE_POD_TOLERATION: "UpdatePodToleration",
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "UpdatePodGeneratedResourceClaim",
    ActionType.UPDATE: "Update",
    ActionType.ALL: "All",
}
"""Names as Kubernetes writes them. Other combinations have no name; they occur in registrations only."""


class EventResource:
    """The kinds of object that in-tree plugins register for; any other `group/Kind` text is as good."""

    POD: Final = "Pod"
    """For registrations: any pod, whether it has a node or not."""
    ASSIGNED_POD: Final = "AssignedPod"
    """For incoming events: a pod that has a node."""
    UNSCHEDULABLE_POD: Final = "UnschedulablePod"
    """For incoming events: a pod without a node."""
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
    WILDCARD: Final = "*"


_PODS: Final = frozenset({EventResource.POD, EventResource.ASSIGNED_POD, EventResource.UNSCHEDULABLE_POD})


class ClusterEvent(msgspec.Struct, frozen=True):
    """A change of the cluster, or a plugin's interest in such changes.

    `label` names the event in logs and metrics; left out, it is resource and action (`NodeAdd`).
    """

    resource: str
    action: ActionType
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            msgspec.structs.force_setattr(self, "label", self.resource + ACTION_NAMES.get(self.action, ""))

    @property
    def is_wildcard(self) -> bool:
        """Whether this is about everything: as an incoming event it moves pods whatever their plugins registered."""
        return self.resource == EventResource.WILDCARD and self.action == ActionType.ALL

    def matches(self, incoming: "ClusterEvent") -> bool:
        """Whether this registration covers the incoming event, which must be the same or more specific."""
        if self.is_wildcard:
            return True
        registered, happened = int(self.action), int(incoming.action)
        return self._covers_resource(incoming.resource) and registered & happened != 0 and happened <= registered

    def _covers_resource(self, incoming: str) -> bool:
        if self.resource == EventResource.POD:
            return incoming in _PODS
        return self.resource in (EventResource.WILDCARD, incoming)


class QueueingHint(Enum):
    """A plugin's opinion whether an event may make a pod schedulable."""

    SKIP = "QueueSkip"
    QUEUE = "Queue"


HintFn = Callable[[api.Pod, object, object], QueueingHint]
"""Called with the waiting pod, the old and the new object (None where there is none). An exception counts as QUEUE."""


class ClusterEventWithHint(msgspec.Struct, frozen=True):
    """One row of a plugin's registration; without a hint function every matching event means QUEUE."""

    event: ClusterEvent
    hint: HintFn | None = None


FORCE_ACTIVATE: Final = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "ForceActivate")
"""A plugin asked for a particular pod to be tried again at once."""
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "UnschedulableTimeout")
"""A pod has been unschedulable for so long that it is tried again without a reason."""
ASSIGNED_POD_ADD: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_UPDATE: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE)
ASSIGNED_POD_DELETE: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULED_POD_ADD: Final = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.ADD)
UNSCHEDULED_POD_UPDATE: Final = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE)
UNSCHEDULED_POD_DELETE: Final = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.DELETE)
NODE_ADD: Final = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE: Final = ClusterEvent(EventResource.NODE, ActionType.DELETE)


def refreshed(plugin: str) -> ClusterEvent:
    """The plugin of that name has learned something from outside; it alone hears of it."""
    return ClusterEvent(f"plugin/{plugin}", ActionType.UPDATE, f"{plugin}Refreshed")


def pod_update_events(old: api.Pod, new: api.Pod) -> tuple[ClusterEvent, ...]:
    """The events that the update of a pod amounts to, never none: a change nobody distinguishes is a general UPDATE."""
    resource = EventResource.ASSIGNED_POD if new.spec.node_name else EventResource.UNSCHEDULABLE_POD
    actions = [action for action, has_changed in _POD_CHANGES if has_changed(old, new)]
    return tuple(ClusterEvent(resource, action) for action in actions or (ActionType.UPDATE,))


def node_update_events(old: api.Node, new: api.Node) -> tuple[ClusterEvent, ...]:
    """The events that the update of a node amounts to; none if nothing changed that scheduling depends on."""
    return tuple(
        ClusterEvent(EventResource.NODE, action) for action, has_changed in _NODE_CHANGES if has_changed(old, new)
    )


def _labels_changed(old: api.Pod | api.Node, new: api.Pod | api.Node) -> bool:
    return old.metadata.labels != new.metadata.labels


def _requests_shrank(old: api.Pod, new: api.Pod) -> bool:
    if _what_requests_rest_on(old) == _what_requests_rest_on(new):
        return False
    requested = request_amounts(new)
    return any(
        name not in requested or quantity.milli_value(amount) > quantity.milli_value(requested[name])
        for name, amount in request_amounts(old).items()
    )


def _what_requests_rest_on(pod: api.Pod) -> tuple[object, ...]:
    """Parts that a change of phase leaves alone; mostly the very same objects before and after an update."""
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
    # The API server admits additions only, so that the number tells everything.
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


_POD_CHANGES: Final[tuple[tuple[ActionType, Callable[[api.Pod, api.Pod], bool]], ...]] = (
    (ActionType.UPDATE_POD_LABEL, _labels_changed),
    (ActionType.UPDATE_POD_SCALE_DOWN, _requests_shrank),
    (ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, _gates_eliminated),
    (ActionType.UPDATE_POD_TOLERATION, _tolerations_added),
    (ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, _generated_claims_changed),
)
_NODE_CHANGES: Final[tuple[tuple[ActionType, Callable[[api.Node, api.Node], bool]], ...]] = (
    (ActionType.UPDATE_NODE_TAINT, _uncordoned),
    (ActionType.UPDATE_NODE_ALLOCATABLE, _allocatable_changed),
    (ActionType.UPDATE_NODE_LABEL, _labels_changed),
    (ActionType.UPDATE_NODE_TAINT, _taints_changed),
    (ActionType.UPDATE_NODE_CONDITION, _conditions_changed),
    (ActionType.UPDATE_NODE_ANNOTATION, _annotations_changed),
    (ActionType.UPDATE_NODE_DECLARED_FEATURE, _declared_features_changed),
)
