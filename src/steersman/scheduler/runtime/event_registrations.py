# SPDX-License-Identifier: Apache-2.0
"""Event registrations of plugins, checked when a profile is built: a registration that can never
match is an error.

Pods rejected by such a plugin would wait five minutes for the unconditional retry, for no visible
reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias

from steersman import api
from steersman.config import Rule
from steersman.framework import (
    ACTION_NAMES,
    POD_RESOURCES,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EnqueueExtensions,
    EventResource,
    Gates,
    PodEvents,
    event_resource,
    events_of,
)
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, PluginError, describe_fault

METHOD: Final = 'plugin "{}": events_to_register()'

EventsByResource: TypeAlias = Mapping[str, Collection[ClusterEvent]]


def events_by_resource(watched: Iterable[type[api.Object]]) -> EventsByResource:
    """Return all events of the watched kinds, by the resource of a registration that covers
    them."""
    events: dict[str, list[ClusterEvent]] = {EventResource.POD: []}
    for event in events_of(watched):
        events.setdefault(event.resource, []).append(event)
    for resource in POD_RESOURCES - {EventResource.POD}:
        events[EventResource.POD] += events.get(resource, ())
    events[EventResource.WILDCARD] = [event for some in list(events.values()) for event in some]
    return events


def pod_events_of(gates: Gates) -> PodEvents:
    """Return the events of pods in the emulated version."""
    return PodEvents(
        by_role=gates.has_rule(Rule.POD_EVENTS_BY_ROLE), resize_by_totals=gates.has_rule(Rule.RESIZE_BY_TOTALS)
    )


def registrations(name: str, plugin: EnqueueExtensions, events: EventsByResource) -> tuple[ClusterEventWithHint, ...]:
    """Return the events that a plugin registers. Raises PluginError if the plugin fails, or a
    registration matches no event."""
    method = METHOD.format(name)
    try:
        registered = tuple(plugin.events_to_register())
    except PLUGIN_FAULTS as cause:
        raise PluginError(f"{method} raised {describe_fault(cause)}") from cause
    for row in registered:
        if not isinstance(row, ClusterEventWithHint):
            raise PluginError(f"{method} returned {row!r}, expected ClusterEventWithHint(ClusterEvent(…), hint)")
        _check(method, row.event, events)
    return registered


def registrations_of_kinds(plugin: object) -> tuple[ClusterEventWithHint, ...]:
    """Return registrations for a plugin that declares none: every event of its kinds."""
    kinds: Iterable[type[api.Object]] = getattr(type(plugin), "kinds", ())
    return tuple(ClusterEventWithHint(ClusterEvent(event_resource(kind), ActionType.ALL)) for kind in kinds)


def _check(method: str, registered: ClusterEvent, events: EventsByResource) -> None:
    resource = registered.resource
    happening = events.get(resource)
    if happening is None:
        raise PluginError(f'{method}: there are no events of "{resource}"{_suggestion(resource, events)}')
    if not any(registered.matches(event) for event in happening):
        actions_text = " | ".join(action.name or "" for action in registered.action) or "NONE"
        actions = dict.fromkeys(event.action.name or ACTION_NAMES[event.action] for event in happening)
        raise PluginError(
            f'{method}: {actions_text} never happens to "{resource}"; its actions are {", ".join(actions)}'
        )


def _suggestion(resource: str, known: Collection[str]) -> str:
    """Return a suggestion for a mistyped resource; `v1/Namespace`, for example, is not how a core
    kind is written."""
    from difflib import get_close_matches  # slow to import, and only needed for errors

    kind = resource.rpartition("/")[2]
    same = [name for name in known if name.rpartition("/")[2] == kind] or get_close_matches(resource, known, 1)
    if same:
        return f'; did you mean "{same[0]}"?'
    return f"; there are those of {', '.join(known)}, and of kinds that a plugin declares in `kinds`"
