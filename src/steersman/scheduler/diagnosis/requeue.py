# SPDX-License-Identifier: Apache-2.0
"""Events that requeue a rejected pod, in words: those for which the rejecting plugins have
registered.

The input is the registrations of a profile (`runtime.Profile.hints`), the output a list of events
per plugin. A plugin's hint function still decides whether a particular event requeues the pod.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from steersman.framework import POD_RESOURCES, ActionType, ClusterEvent, ClusterEventWithHint, EventResource

_NOUNS: Final = {
    EventResource.POD: "pod",
    EventResource.ASSIGNED_POD: "pod on a node",
    EventResource.UNSCHEDULABLE_POD: "pod without a node",
    EventResource.UNSCHEDULED_POD: "pod without a node",
    EventResource.TARGET_POD: "the pod",
    EventResource.NODE: "node",
    EventResource.WILDCARD: "object of any kind",
}
#: Part of an object that changes, by action.
_CHANGES: Final = {
    ActionType.UPDATE_NODE_ALLOCATABLE: "allocatable resources",
    ActionType.UPDATE_NODE_LABEL: "labels",
    ActionType.UPDATE_NODE_TAINT: "taints",
    ActionType.UPDATE_NODE_CONDITION: "conditions",
    ActionType.UPDATE_NODE_ANNOTATION: "annotations",
    ActionType.UPDATE_NODE_DECLARED_FEATURE: "declared features",
    ActionType.UPDATE_POD_LABEL: "labels",
    ActionType.UPDATE_POD_TOLERATION: "tolerations",
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "generated resource claims",
}
_SCALED_DOWN: Final = "{} requests less than before"
_UNGATED: Final = "the pod's last scheduling gate is removed"
_NODE_BITS: Final = ActionType(sum(bit for bit in _CHANGES if "NODE" in (bit.name or "")))
_POD_BITS: Final = ActionType.UPDATE & ~_NODE_BITS


class RequeueEvents(msgspec.Struct, frozen=True, rename="camel"):
    """A plugin that rejected a pod, and the events for which it registered; without events, no
    particular one."""

    plugin: str
    events: tuple[str, ...]
    #: Rejections that such an event may lift: the plugin's reasons, and the number of nodes; empty
    #: if unknown.
    reasons: tuple[str, ...] = ()
    nodes: int = 0


def requeue_events(
    hints: Iterable[tuple[str, ClusterEventWithHint]], rejectors: Collection[str]
) -> tuple[RequeueEvents, ...]:
    """Return the events of each rejecting plugin, by the name of the plugin."""
    events: dict[str, dict[str, None]] = {plugin: {} for plugin in sorted(rejectors)}
    for plugin, row in hints:
        if plugin in events:
            events[plugin].update(dict.fromkeys(event_texts(row.event)))
    return tuple(RequeueEvents(plugin, tuple(found)) for plugin, found in events.items())


def event_texts(event: ClusterEvent) -> Iterator[str]:
    """Yield `a node is added`, `a node's labels or taints change`."""
    noun, action = _noun(event.resource), event.action
    made = [word for bit, word in ((ActionType.ADD, "added"), (ActionType.DELETE, "deleted")) if action & bit]
    if made:
        yield f"{_a(noun)} is {' or '.join(made)}"
    updates = action & ActionType.UPDATE & _bits_of(event.resource)
    if updates and updates == ActionType.UPDATE & _bits_of(event.resource):
        yield f"{_a(noun)} changes"
    else:
        yield from _updates(noun, updates)


def _updates(noun: str, action: ActionType) -> Iterator[str]:
    parts = [text for bit, text in _CHANGES.items() if action & bit]
    if parts:
        yield f"{_a(noun)}'s {' or '.join(parts)} change"
    if action & ActionType.UPDATE_POD_SCALE_DOWN:
        yield _SCALED_DOWN.format(_a(noun))
    if action & ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED:
        yield _UNGATED


def _bits_of(resource: str) -> ActionType:
    """Return the update actions that exist for a kind of object."""
    if resource == EventResource.NODE:
        return _NODE_BITS
    return _POD_BITS if resource in POD_RESOURCES else ActionType.UPDATE


def _noun(resource: str) -> str:
    """Return the noun for a kind of object; kinds other than pods and nodes keep their names,
    without the group."""
    return _NOUNS.get(resource) or resource.rpartition("/")[2]


def _a(noun: str) -> str:
    if noun.startswith("the "):
        return noun
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"
