# SPDX-License-Identifier: Apache-2.0
"""Hint functions: whether an event is a reason to retry a rejected pod.

The input are the registrations of all profiles, the output a `Strategy` per pod and event. The
registrations that match an event are computed once per kind of event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

import msgspec

from steersman import api
from steersman.base import InternalErrors
from steersman.framework import ClusterEvent, HintFn, QueueingHint
from steersman.scheduler.queue.queued_pod import QueuedPodInfo
from steersman.scheduler.queue.queued_pod_group import Queued, QueuedPodGroup
from steersman.scheduler.queue.settings import QueueMetrics, QueueProfile


class RecordedEvent(NamedTuple):
    """An event with its objects."""

    event: ClusterEvent
    old: object
    new: object


class Strategy(IntEnum):
    """What happens to a waiting pod; the greatest of several results wins."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class Interest(msgspec.Struct, frozen=True):
    """Registrations that match one kind of event."""

    event: ClusterEvent
    is_wildcard: bool
    #: Plugins with a matching registration in any profile.
    plugins: frozenset[str]
    #: Matching registrations (plugin, hint function) by profile; contains every known profile.
    rows: Mapping[str, tuple[tuple[str, HintFn | None], ...]]
    internal_errors: InternalErrors = msgspec.field(default_factory=InternalErrors)

    def __bool__(self) -> bool:
        """Return whether the event may concern any pod."""
        return self.is_wildcard or bool(self.plugins)

    def may_open_gate(self, queued: Queued) -> bool:
        """Return whether the event may ungate the pod: its gating plugin must have registered for
        the event."""
        return self.is_wildcard or queued.gating_plugin in self.plugins

    def strategy(self, queued: QueuedPodInfo, old: object, new: object) -> Strategy:
        """Return the strategy for a rejected pod after the event."""
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return Strategy.AFTER_BACKOFF
        if self.is_wildcard:
            if not _is_meant(queued, new):
                return Strategy.SKIP
            queued.woken_by = self.event.label, ""
            return Strategy.AFTER_BACKOFF
        rows = self.rows.get(queued.profile)
        if rows is None:
            return Strategy.AFTER_BACKOFF
        return self._ask_rejectors(queued, rows, old, new)

    def group_strategy(self, group: QueuedPodGroup, old: object, new: object) -> Strategy:
        """Return the greatest strategy for a member of the group."""
        if not (self.is_wildcard or group.has_unrejected_pods) and self.plugins.isdisjoint(group.rejectors):
            return Strategy.SKIP
        highest = Strategy.IMMEDIATELY if group.has_pending_plugins else Strategy.AFTER_BACKOFF
        best = Strategy.SKIP
        for member in group.pods():
            strategy = self.strategy(member, old, new)
            if strategy > best:
                best = strategy
                group.woken_by = member.woken_by
                if best >= highest:
                    break
        return best

    def _ask_rejectors(
        self, queued: QueuedPodInfo, rows: Iterable[tuple[str, HintFn | None]], old: object, new: object
    ) -> Strategy:
        best = Strategy.SKIP
        pending, rejected = queued.pending_plugins, queued.unschedulable_plugins
        for plugin, hint in rows:
            if plugin in pending:
                if self._says_queue(plugin, hint, queued, old, new):
                    queued.woken_by = self.event.label, plugin
                    return Strategy.IMMEDIATELY
            elif plugin in rejected and best is Strategy.SKIP and self._says_queue(plugin, hint, queued, old, new):
                queued.woken_by = self.event.label, plugin
                best = Strategy.AFTER_BACKOFF
                if not pending:
                    break
        return best

    def _says_queue(self, plugin: str, hint: HintFn | None, queued: QueuedPodInfo, old: object, new: object) -> bool:
        if hint is None:
            return True
        try:
            return hint(queued.pod, old, new) is QueueingHint.QUEUE
        except (Exception, SystemExit) as error:
            # An unnecessary retry is better than a pod that is stuck because its plugin is broken.
            self.internal_errors.survived(f"hint of {plugin} for {self.event.label}", f"Pod {queued.key}", error)
            return True


class HintTable:
    """Registrations of all profiles."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        metrics: QueueMetrics,
        internal_errors: InternalErrors | None = None,
    ) -> None:
        self._internal_errors = internal_errors or InternalErrors()
        self._profiles = {name: tuple(profile.hints) for name, profile in profiles.items()}
        self._metrics = metrics
        self._interests: dict[ClusterEvent, Interest] = {}

    def interest(self, event: ClusterEvent) -> Interest:
        found = self._interests.get(event)
        if found is None:
            found = self._interests[event] = self._work_out_interest(event)
        return found

    def _work_out_interest(self, event: ClusterEvent) -> Interest:
        rows = {
            profile: tuple(
                (plugin, None if row.hint is None else self._metrics.measured_hint(plugin, event, row.hint))
                for plugin, row in registered
                if row.event.matches(event)
            )
            for profile, registered in self._profiles.items()
        }
        plugins = frozenset(plugin for matching in rows.values() for plugin, _ in matching)
        return Interest(event, event.is_wildcard, plugins, rows, self._internal_errors)

    def strategy_after_flight(self, queued: QueuedPodInfo, events: Iterable[RecordedEvent]) -> Strategy:
        """Return the strategy for a rejected pod after all events during its attempt."""
        best = Strategy.SKIP
        highest = Strategy.IMMEDIATELY if queued.pending_plugins else Strategy.AFTER_BACKOFF
        for event, old, new in events:
            best = max(best, self.interest(event).strategy(queued, old, new))
            if best >= highest:
                break
        return best


def _is_meant(queued: QueuedPodInfo, target: object) -> bool:
    """Return whether a wildcard event concerns the pod: it has no target, or the target is this
    pod."""
    return target is None or (isinstance(target, api.Pod) and target.metadata.uid == queued.uid)
