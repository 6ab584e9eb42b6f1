# SPDX-License-Identifier: Apache-2.0
"""Events that would wake a rejected pod, in words: those that the plugins which rejected it have registered for.

In come the registrations of a profile (`runtime.Profile.hints`); out goes, per plugin, a list for people. A plugin's hint
function has the last word on a particular event; the list says which kinds of event it is asked about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource

_NOUNS: Final = {
    EventResource.POD: "pod",
    EventResource.ASSIGNED_POD: "pod on a node",
    EventResource.UNSCHEDULABLE_POD: "pod without a node",
    EventResource.NODE: "node",
    EventResource.WILDCARD: "object of any kind",
}
#: What changes of an object, by the bit of the event.
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
_REQUESTS_SHRINK: Final = "a {} asks for less than before"
_GATES_GO: Final = "the pod's last scheduling gate is removed"
_NODE_BITS: Final = ActionType(sum(bit for bit in _CHANGES if "NODE" in (bit.name or "")))
_POD_BITS: Final = ActionType.UPDATE & ~_NODE_BITS


class Waker(msgspec.Struct, frozen=True, rename="camel"):
    """A plugin that rejected the pod, and what it waits for; without events it waits for nothing in particular."""

    plugin: str
    events: tuple[str, ...]
    #: The rejections that such an event could lift: the plugin's reasons, and on how many nodes; none where that is not known.
    reasons: tuple[str, ...] = ()
    nodes: int = 0


def wakers(hints: Iterable[tuple[str, ClusterEventWithHint]], rejectors: Collection[str]) -> tuple[Waker, ...]:
    """By the name of the plugin; `rejectors` are those that stand in the way."""
    events: dict[str, dict[str, None]] = {plugin: {} for plugin in sorted(rejectors)}
    for plugin, row in hints:
        if plugin in events:
            events[plugin].update(dict.fromkeys(in_words(row.event)))
    return tuple(Waker(plugin, tuple(found)) for plugin, found in events.items())


def in_words(event: ClusterEvent) -> Iterator[str]:
    """`a node is added`, `a node's labels or taints change`."""
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
        yield _REQUESTS_SHRINK.format(noun)
    if action & ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED:
        yield _GATES_GO


def _bits_of(resource: str) -> ActionType:
    """The updates that there are of an object; those that are not told apart have them all."""
    if resource == EventResource.NODE:
        return _NODE_BITS
    is_pod = resource in (EventResource.POD, EventResource.ASSIGNED_POD, EventResource.UNSCHEDULABLE_POD)
    return _POD_BITS if is_pod else ActionType.UPDATE


def _noun(resource: str) -> str:
    """Kinds other than pods and nodes keep their names, without the group."""
    return _NOUNS.get(resource) or resource.rpartition("/")[2]


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"
