# SPDX-License-Identifier: Apache-2.0
"""What plugins register for, looked at once when a profile is built: a registration that can never fire is refused.

Such a pod would wait until the queue tries it again without a reason, after five minutes, and nobody would know why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Final

from steersman import api
from steersman.framework.events import ACTION_NAMES, ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from steersman.framework.plugin import EnqueueExtensions
from steersman.framework.watching import WATCHED_KINDS, event_resource, events_of
from steersman.runtime.faults import PluginError, told

METHOD: Final = 'plugin "{}": events_to_register()'


def registrations(
    name: str, plugin: EnqueueExtensions, watched: Iterable[type[api.Object]] = WATCHED_KINDS
) -> tuple[ClusterEventWithHint, ...]:
    """Of one plugin. PluginError, which names it, if it cannot say them or one of them is about nothing that is watched."""
    method = METHOD.format(name)
    try:
        registered = tuple(plugin.events_to_register())
    except Exception as cause:
        raise PluginError(f"{method} raised {told(cause)}") from cause
    events = tuple(events_of(watched))
    for row in registered:
        if not isinstance(row, ClusterEventWithHint):
            raise PluginError(f"{method} answered {row!r}, expected ClusterEventWithHint(ClusterEvent(…), hint)")
        _check(method, row.event, events)
    return registered


def registrations_of_kinds(plugin: object) -> tuple[ClusterEventWithHint, ...]:
    """Of a plugin that does not say what would help: every event of the kinds that it declares."""
    kinds: Iterable[type[api.Object]] = getattr(type(plugin), "kinds", ())
    return tuple(ClusterEventWithHint(ClusterEvent(event_resource(kind), ActionType.ALL)) for kind in kinds)


def _check(method: str, registered: ClusterEvent, events: Iterable[ClusterEvent]) -> None:
    if any(registered.matches(event) for event in events):
        return
    known = dict.fromkeys([EventResource.POD, *(event.resource for event in events), EventResource.WILDCARD])
    if registered.resource not in known:
        raise PluginError(
            f'{method}: there are no events of "{registered.resource}"{_instead(registered.resource, known)}'
        )
    asked = " | ".join(action.name or "" for action in registered.action) or "NONE"
    raise PluginError(
        f'{method}: {asked} never happens to "{registered.resource}"; '
        f"its actions are {_actions(registered.resource, events)}"
    )


def _instead(resource: str, known: Collection[str]) -> str:
    """What may have been meant: `v1/Namespace` is not how a core kind is written."""
    kind = resource.rpartition("/")[2]
    same = [name for name in known if name.rpartition("/")[2] == kind] or get_close_matches(resource, known, 1)
    if same:
        return f'; did you mean "{same[0]}"?'
    return f"; there are those of {', '.join(known)}, and of kinds that a plugin declares in `kinds`"


def _actions(resource: str, events: Iterable[ClusterEvent]) -> str:
    covering = ClusterEvent(resource, ActionType.ALL)
    return ", ".join(
        dict.fromkeys(event.action.name or ACTION_NAMES[event.action] for event in events if covering.matches(event))
    )
