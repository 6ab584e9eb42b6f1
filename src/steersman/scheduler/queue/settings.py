# SPDX-License-Identifier: Apache-2.0
"""Settings of a scheduling queue: durations, the plugins of each profile, and the receiver of
metrics.

The plugins of a profile say which pods are gated and which events move them; `runtime` makes a
`QueueProfile` from them. Sizes of the queue are not counted but read from
`SchedulingQueue.statistics()`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Protocol, runtime_checkable

import msgspec

from steersman import api
from steersman.framework import (
    DEFAULT_POD_EVENTS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    GroupKey,
    HintFn,
    PodEvents,
    Status,
)
from steersman.scheduler.queue.queued_pod import QueuedPodInfo
from steersman.scheduler.queue.queued_pod_group import Queued

# -- durations and profiles --------------------------------------------------------------------------------------------


class PodGroupSettings(msgspec.Struct, frozen=True):
    """How groups of pods are queued."""

    has_composites: bool = False
    """Whether groups form trees (gate CompositePodGroup)."""


class QueueSettings(msgspec.Struct, frozen=True):
    """Durations in seconds, and whether pods may be popped during backoff."""

    initial_backoff: float = 1.0
    """Backoff after the first failure; doubled with every further failure."""
    max_backoff: float = 10.0
    """Maximum backoff; 0 disables backoff."""
    max_in_unschedulable: float = 300.0
    """Maximum time before an unschedulable pod is retried without an event."""
    pops_from_backoff: bool = True
    """Whether rejected pods are retried before their backoff is over if activeQ is empty (gate
    SchedulerPopFromBackoffQ). If so, backoff ends at whole seconds, and PreEnqueue plugins run
    before the backoff instead of after it."""
    pod_events: PodEvents = DEFAULT_POD_EVENTS
    """Events of pods in the emulated version."""
    nominates_on_add: bool = False
    """Whether adding a pod registers the nomination of its status at once, even if the pod is
    gated, and an empty node name is no nomination (v1.37)."""
    uncounts_deleted_pods: bool = False
    """Whether the metric unschedulable_pods drops deleted pods of every sub-queue (v1.37), not only
    of the unschedulable ones."""

    pod_groups: PodGroupSettings | None = None
    """Pod groups; None if pods of groups are scheduled one by one (gate GenericWorkload)."""


DEFAULT_QUEUE_SETTINGS = QueueSettings()


class PreEnqueue(Protocol):
    """A plugin that decides whether a pod may enter activeQ."""

    @property
    def name(self) -> str: ...

    def pre_enqueue(self, pod: api.Pod, /) -> Status | None:
        """Return None or Success to admit the pod; any other status gates it until an event that
        the plugin registered for."""


@runtime_checkable
class ReleasingGate(PreEnqueue, Protocol):
    """A PreEnqueue plugin that names the pods that an event ungates; see
    `framework.plugin.UngatesPods`."""

    def ungated_pods(self, event: ClusterEvent, old: object, new: object, /) -> Collection[str]: ...


@runtime_checkable
class GroupGate(PreEnqueue, Protocol):
    """A PreEnqueue plugin that names the trees of groups that an event may help; see
    `framework.HelpsGroups`."""

    def helped_groups(self, event: ClusterEvent, old: object, new: object, /) -> Collection[GroupKey]: ...


HintRow = tuple[str, ClusterEventWithHint]
"""A plugin's name with one of its registrations."""


class QueueProfile(msgspec.Struct, frozen=True):
    """PreEnqueue plugins of one profile in configured order, and its registrations."""

    pre_enqueue: Sequence[PreEnqueue] = ()
    hints: Sequence[HintRow] = ()

    @property
    def releasing_gates(self) -> list[ReleasingGate]:
        return [plugin for plugin in self.pre_enqueue if isinstance(plugin, ReleasingGate)]

    @property
    def group_gates(self) -> list[GroupGate]:
        return [plugin for plugin in self.pre_enqueue if isinstance(plugin, GroupGate)]


_EVERYTHING: Final = tuple(
    ClusterEventWithHint(ClusterEvent(resource, ActionType.ALL))
    for resource in (
        EventResource.POD,
        EventResource.NODE,
        EventResource.PERSISTENT_VOLUME,
        EventResource.PERSISTENT_VOLUME_CLAIM,
        EventResource.CSI_NODE,
        EventResource.CSI_DRIVER,
        EventResource.CSI_STORAGE_CAPACITY,
        EventResource.STORAGE_CLASS,
        EventResource.RESOURCE_CLAIM,
        EventResource.DEVICE_CLASS,
    )
)
"""Registrations of a plugin that declares none. Not a wildcard, because the resources to watch
follow from them."""

_TAINT_UPDATE: Final = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)


def hint_rows(
    plugin: str, registered: Iterable[ClusterEventWithHint] | None, covers_taints: bool = True
) -> tuple[HintRow, ...]:
    """Return the registrations of one plugin; None stands for a plugin or extender that registers
    no events itself.

    If `covers_taints`, a registration for added nodes also covers taint updates, because a new node
    often has taints until it is ready (up to v1.36).
    """
    rows = _EVERYTHING if registered is None else tuple(registered)
    on_nodes = [row.event.action for row in rows if row.event.resource == EventResource.NODE]
    waits_for_nodes = any(action & ActionType.ADD for action in on_nodes)
    if covers_taints and waits_for_nodes and not any(action & ActionType.UPDATE_NODE_TAINT for action in on_nodes):
        rows += (ClusterEventWithHint(_TAINT_UPDATE),)
    return tuple((plugin, row) for row in rows)


# -- counts ------------------------------------------------------------------------------------------------------------


#: Receives the name, status and duration in seconds of one PreEnqueue plugin.
ReportGate = Callable[[str, Status | None, float], None]
#: Runs all PreEnqueue plugins for a pod, and reports each of them if the call is sampled.
GateCheck = Callable[[QueuedPodInfo, ReportGate | None], None]


class QueueMetrics(Protocol):
    """Receives the queue's metrics; `observe` exports them under upstream's names."""

    def pod_entered(self, queued: Queued, queue: str, event: str, /) -> None:
        """Count a pod, or the members of a group, that entered `active`, `backoff` or
        `unschedulable` because of an event (queue_incoming_pods_total)."""

    def rejection_changed(self, plugin: str, profile: str, by: int, /) -> None:
        """Change the number of waiting pods that a plugin rejects (unschedulable_pods)."""

    def measured_hint(self, plugin: str, event: ClusterEvent, hint: HintFn, /) -> HintFn:
        """Return a plugin's hint function, wrapped for measurement; called once per kind of
        event."""

    def measured_gate(self, check: GateCheck, /) -> Callable[[QueuedPodInfo], None]:
        """Return the check, wrapped for measurement."""


class CountingQueueMetrics:
    """Counts in memory."""

    def __init__(self) -> None:
        #: (queue, event label) → pods that entered.
        self.entered: dict[tuple[str, str], int] = {}
        #: (plugin, profile) → pods waiting because of it.
        self.rejections: dict[tuple[str, str], int] = {}
        #: Called like `pod_entered` for every pod that enters a sub-queue.
        self.on_entered: Callable[[Queued, str, str], None] | None = None

    def pod_entered(self, queued: Queued, queue: str, event: str, /) -> None:
        key = queue, event
        self.entered[key] = self.entered.get(key, 0) + queued.size
        if self.on_entered is not None:
            self.on_entered(queued, queue, event)

    def rejection_changed(self, plugin: str, profile: str, by: int, /) -> None:
        key = plugin, profile
        self.rejections[key] = self.rejections.get(key, 0) + by

    def measured_hint(self, plugin: str, event: ClusterEvent, hint: HintFn, /) -> HintFn:
        return hint

    def measured_gate(self, check: GateCheck, /) -> Callable[[QueuedPodInfo], None]:
        return lambda queued: check(queued, None)
