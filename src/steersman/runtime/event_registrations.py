# SPDX-License-Identifier: Apache-2.0
"""Registrations of plugins, looked at once when a profile is built: a registration that can never fire is refused.

Such a pod would wait until the queue tries it again without a reason, after five minutes, and nobody would know why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias

from steersman import api
from steersman.framework.events import ACTION_NAMES, ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from steersman.framework.plugin import EnqueueExtensions
from steersman.framework.watching import event_resource, events_of
from steersman.runtime.faults import PluginError, told

METHOD: Final = 'plugin "{}": events_to_register()'

EventsByResource: TypeAlias = Mapping[str, Collection[ClusterEvent]]


def events_by_resource(watched: Iterable[type[api.Object]]) -> EventsByResource:
    """Everything that may happen to objects of the watched kinds, by the resource of a registration that covers it."""
    events: dict[str, list[ClusterEvent]] = {EventResource.POD: []}
    for event in events_of(watched):
        events.setdefault(event.resource, []).append(event)
    events[EventResource.POD] += events.get(EventResource.ASSIGNED_POD, ())
    events[EventResource.POD] += events.get(EventResource.UNSCHEDULABLE_POD, ())
    events[EventResource.WILDCARD] = [event for some in list(events.values()) for event in some]
    return events


def registrations(name: str, plugin: EnqueueExtensions, events: EventsByResource) -> tuple[ClusterEventWithHint, ...]:
    """The events that one plugin registers. PluginError, which names it, if it cannot say them or one of them is about none of
    the events."""
    method = METHOD.format(name)
    try:
        registered = tuple(plugin.events_to_register())
    except Exception as cause:
        raise PluginError(f"{method} raised {told(cause)}") from cause
    for row in registered:
        if not isinstance(row, ClusterEventWithHint):
            raise PluginError(f"{method} answered {row!r}, expected ClusterEventWithHint(ClusterEvent(…), hint)")
        _check(method, row.event, events)
    return registered


def registrations_of_kinds(plugin: object) -> tuple[ClusterEventWithHint, ...]:
    """The events for a plugin that does not say what would help: every event of the kinds that it declares."""
    kinds: Iterable[type[api.Object]] = getattr(type(plugin), "kinds", ())
    return tuple(ClusterEventWithHint(ClusterEvent(event_resource(kind), ActionType.ALL)) for kind in kinds)


def _check(method: str, registered: ClusterEvent, events: EventsByResource) -> None:
    resource = registered.resource
    happening = events.get(resource)
    if happening is None:
        raise PluginError(f'{method}: there are no events of "{resource}"{_instead(resource, events)}')
    if not any(registered.matches(event) for event in happening):
        asked = " | ".join(action.name or "" for action in registered.action) or "NONE"
        actions = dict.fromkeys(event.action.name or ACTION_NAMES[event.action] for event in happening)
        raise PluginError(f'{method}: {asked} never happens to "{resource}"; its actions are {", ".join(actions)}')


def _instead(resource: str, known: Collection[str]) -> str:
    """The resource that may have been meant: `v1/Namespace` is not how a core kind is written."""
    from difflib import get_close_matches  # takes a while to import, and only mistakes need it

    kind = resource.rpartition("/")[2]
    same = [name for name in known if name.rpartition("/")[2] == kind] or get_close_matches(resource, known, 1)
    if same:
        return f'; did you mean "{same[0]}"?'
    return f"; there are those of {', '.join(known)}, and of kinds that a plugin declares in `kinds`"
