# SPDX-License-Identifier: Apache-2.0
"""The setup of a scheduling queue: durations, the shares of the scheduling profiles, and the receiver of its counts.

`scheduling_queue` is made with these and hands them to its neighbours. The share of a profile says who may gate its pods
and which events may wake them; `runtime` makes it of the plugins. Sizes of the queue are not counted but read off
`SchedulingQueue.statistics()` when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Protocol, runtime_checkable

import msgspec

from steersman import api
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, HintFn
from steersman.framework.status import Status
from steersman.queue.queued_pod import QueuedPodInfo

# -- durations and profiles --------------------------------------------------------------------------------------------


class QueueSettings(msgspec.Struct, frozen=True):
    """Durations in seconds, and whether pods may be popped while they back off."""

    initial_backoff: float = 1.0
    """After the first failure; every further failure doubles it."""
    max_backoff: float = 10.0
    """Where the doubling ends; 0 switches backoff off."""
    max_in_unschedulable: float = 300.0
    """A pod that has been unschedulable for longer is tried again without a reason."""
    pops_from_backoff: bool = True
    """A rejected pod is tried before its backoff is over when nothing else is to be tried (gate SchedulerPopFromBackoffQ). Ends
    of backoff are whole seconds then, and PreEnqueue plugins are asked before the backoff instead of after it."""


DEFAULT_QUEUE_SETTINGS = QueueSettings()


class PreEnqueue(Protocol):
    """A plugin that decides whether a pod may enter activeQ."""

    @property
    def name(self) -> str: ...

    def pre_enqueue(self, pod: api.Pod, /) -> Status | None:
        """None or Success lets the pod in; everything else gates it until an event that the plugin registered for."""


@runtime_checkable
class TellingGate(PreEnqueue, Protocol):
    """A PreEnqueue plugin that tells whom an event releases; see `framework.plugin.TellsReleasedPods`."""

    def released_by(self, event: ClusterEvent, old: object, new: object, /) -> Collection[str]: ...


HintRow = tuple[str, ClusterEventWithHint]
"""A plugin's name with one of its registrations."""


class QueueProfile(msgspec.Struct, frozen=True):
    """One profile's share in the queue: PreEnqueue plugins in their order, and registrations."""

    pre_enqueue: Sequence[PreEnqueue] = ()
    hints: Sequence[HintRow] = ()

    @property
    def telling_gates(self) -> list[TellingGate]:
        return [plugin for plugin in self.pre_enqueue if isinstance(plugin, TellingGate)]


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
"""The events of a plugin that does not say which it is interested in. Not a wildcard: watches are chosen by resource."""

_TAINT_UPDATE: Final = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)


def hint_rows(plugin: str, registered: Iterable[ClusterEventWithHint] | None) -> tuple[HintRow, ...]:
    """The rows for one plugin; None stands for a plugin, or an extender, that registers no events itself.

    Who waits for new nodes is also woken by taint updates: a new node often has taints until it is ready.
    """
    rows = _EVERYTHING if registered is None else tuple(registered)
    on_nodes = [row.event.action for row in rows if row.event.resource == EventResource.NODE]
    waits_for_nodes = any(action & ActionType.ADD for action in on_nodes)
    if waits_for_nodes and not any(action & ActionType.UPDATE_NODE_TAINT for action in on_nodes):
        rows += (ClusterEventWithHint(_TAINT_UPDATE),)
    return tuple((plugin, row) for row in rows)


# -- counts ------------------------------------------------------------------------------------------------------------


class QueueMetrics(Protocol):
    """Receives the queue's counts; `observe` exports them under upstream's names."""

    def pod_entered(self, queued: QueuedPodInfo, queue: str, event: str, /) -> None:
        """A pod entered `active`, `backoff` or `unschedulable` because of an event (queue_incoming_pods_total)."""

    def rejection_changed(self, plugin: str, profile: str, by: int, /) -> None:
        """The number of waiting pods that a plugin stands in the way of changed (unschedulable_pods)."""

    def measured_hint(self, plugin: str, event: ClusterEvent, hint: HintFn, /) -> HintFn:
        """A plugin's hint for a kind of event, as it is to be called; asked once per kind of event."""


class CountingQueueMetrics:
    """Keeps the counts in memory."""

    def __init__(self) -> None:
        #: (queue, event label) → pods that entered.
        self.entered: dict[tuple[str, str], int] = {}
        #: (plugin, profile) → pods waiting because of it.
        self.rejections: dict[tuple[str, str], int] = {}
        #: Told of every pod that enters a queue, as `pod_entered` is; None: nobody wants to know.
        self.on_entered: Callable[[QueuedPodInfo, str, str], None] | None = None

    def pod_entered(self, queued: QueuedPodInfo, queue: str, event: str, /) -> None:
        key = queue, event
        self.entered[key] = self.entered.get(key, 0) + 1
        if self.on_entered is not None:
            self.on_entered(queued, queue, event)

    def rejection_changed(self, plugin: str, profile: str, by: int, /) -> None:
        key = plugin, profile
        self.rejections[key] = self.rejections.get(key, 0) + by

    def measured_hint(self, plugin: str, event: ClusterEvent, hint: HintFn, /) -> HintFn:
        return hint
