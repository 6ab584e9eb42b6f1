# SPDX-License-Identifier: Apache-2.0
"""Plugins of queue traces, built from a trace's `config`.

Turns profiles in JSON into `QueueProfile`s with simple gates and hint functions for `queue_traces`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import quantity
from steersman.framework import (
    ACTION_NAMES,
    ASSIGNED_POD_ADD,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    HintFn,
    PodInfo,
    PodShape,
    PodTemplate,
    QueueingHint,
    Status,
    unschedulable,
)
from steersman.scheduler.plugins import SchedulingGates
from steersman.scheduler.queue import PreEnqueue, QueuedPodInfo, QueueProfile, SchedulingQueue

ACTIONS: Final = {name: ActionType(bits) for bits, name in ACTION_NAMES.items()}


class TraceGate(msgspec.Struct, frozen=True):
    """A PreEnqueue plugin that rejects the pods for which `rejects` is true."""

    name: str
    rejects: Callable[[api.Pod], bool]

    def pre_enqueue(self, pod: api.Pod, /) -> Status | None:
        return unschedulable(f"held back by {self.name}") if self.rejects(pod) else None


class TraceGates(msgspec.Struct):
    """PreEnqueue plugins of a trace; operations open and close StateGate."""

    open_values: set[str] = msgspec.field(default_factory=set)

    def gate(self, name: str) -> PreEnqueue:
        """Return the plugin with that name."""
        gates: dict[str, PreEnqueue] = {
            "SchedulingGates": SchedulingGates(),
            "LabelGate": TraceGate("LabelGate", lambda pod: pod.metadata.labels.get("hold") == "true"),
            "StateGate": TraceGate("StateGate", self._is_closed_for),
        }
        return gates[name]

    def _is_closed_for(self, pod: api.Pod) -> bool:
        value = pod.metadata.labels.get("sg", "")
        return bool(value) and value not in self.open_values


def build_profile(profile: Mapping[str, Any], gates: TraceGates) -> QueueProfile:
    """Build a profile of a trace's `config.profiles`."""
    return QueueProfile(
        pre_enqueue=[gates.gate(name) for name in profile["preEnqueue"]],
        hints=[(row["plugin"], _registration(row)) for row in profile["hints"]],
    )


def _registration(row: Mapping[str, Any]) -> ClusterEventWithHint:
    actions = reduce(or_, (ACTIONS[name] for name in row["actions"]))
    return ClusterEventWithHint(ClusterEvent(row["resource"], actions), _HINT_FUNCTIONS[row["fn"]])


def _hint(queue: bool) -> QueueingHint:
    return QueueingHint.QUEUE if queue else QueueingHint.SKIP


def _always(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    return QueueingHint.QUEUE


def _never(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    return QueueingHint.SKIP


def _error(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    raise RuntimeError("this hint function always fails")


def _same_x(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    changed = new if new is not None else old
    labels = changed.metadata.labels if isinstance(changed, api.Object) else {}
    return _hint(labels.get("x", "") == waiting.metadata.labels.get("x", ""))


def _self(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    return _hint(isinstance(new, api.Pod) and new.metadata.uid == waiting.metadata.uid)


def _node_grew(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    if not isinstance(new, api.Node):
        return QueueingHint.SKIP
    return _hint(not isinstance(old, api.Node) or _milli_cpu(new) > _milli_cpu(old))


def _milli_cpu(node: api.Node) -> int:
    return quantity.milli_value_of(node.status.allocatable.get("cpu", "0"))


_HINT_FUNCTIONS: Final[Mapping[str, HintFn]] = {
    "always": _always,
    "never": _never,
    "error": _error,
    "sameX": _same_x,
    "self": _self,
    "nodeGrew": _node_grew,
}


# -- prefiltered moves -------------------------------------------------------------------------------------------------


_SPREADING_PLUGIN: Final = "PodTopologySpread"
_SCALE_DOWN: Final = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN)

NamespaceLabels = Callable[[str], Mapping[str, str]]
"""Returns the labels of a namespace; none if it does not exist."""


def assigned_pod_added(queue: SchedulingQueue, pod: api.Pod, labels: NamespaceLabels) -> None:
    """Move the pods with affinity to, or spread relative to, a newly assigned pod."""
    queue.move_all(ASSIGNED_POD_ADD, None, pod, _helped_by(queue, pod, labels))


def assigned_pod_updated(
    queue: SchedulingQueue, old: api.Pod, new: api.Pod, event: ClusterEvent, labels: NamespaceLabels
) -> None:
    """Move pods after an event of an assigned pod; all of them if it freed resources."""
    queue.move_all(event, old, new, None if _SCALE_DOWN.matches(event) else _helped_by(queue, new, labels))


def _helped_by(queue: SchedulingQueue, assigned: api.Pod, labels: NamespaceLabels) -> Callable[[api.Pod], bool]:
    namespace_labels = labels(assigned.metadata.namespace)

    def is_helped(waiting: api.Pod) -> bool:
        queued = queue.get(api.key(waiting))
        return queued is not None and may_be_helped(queued, assigned, namespace_labels)

    return is_helped


def may_be_helped(queued: QueuedPodInfo, assigned: api.Pod, namespace_labels: Mapping[str, str]) -> bool:
    """Return whether spreading rejected the pod there, or it has affinity to `assigned`."""
    pod = queued.pod
    if _SPREADING_PLUGIN in queued.unschedulable_plugins and pod.metadata.namespace == assigned.metadata.namespace:
        return True
    if pod.spec.affinity is None or pod.spec.affinity.pod_affinity is None:
        return False
    neighbour = PodInfo(assigned, PodTemplate(PodShape(assigned)))
    return any(term.matches(neighbour, namespace_labels) for term in PodShape(pod).required_affinity)
