# SPDX-License-Identifier: Apache-2.0
"""Where a pod goes next: activeQ, backoffQ, or the unschedulable pods.

`scheduling_queue` calls this module with a pod that is new, moved by an event, flushed or back from
an attempt. PreEnqueue plugins run for every pod before it enters activeQ or backoffQ, except from
backoffQ to activeQ, because they ran when it entered backoffQ. (If pods are not popped from
backoffQ it is the other way round.) A plugin that rejects the pod becomes its gating plugin and one
of its rejectors, so that the plugin's events move the pod again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from time import perf_counter

from steersman.base import InternalErrors, describe
from steersman.framework import Code, error
from steersman.scheduler.queue.hints import Strategy
from steersman.scheduler.queue.nominator import Nominator
from steersman.scheduler.queue.queued_pod import NEVER, Place, QueuedPodInfo
from steersman.scheduler.queue.queued_pod_group import Queued, QueuedMember, QueuedPodGroup
from steersman.scheduler.queue.settings import PreEnqueue, QueueMetrics, QueueProfile, ReportGate
from steersman.scheduler.queue.sub_queues import SubQueues

"""Events that may carry a nomination in the pod's status."""


class PreEnqueueGate:
    """Runs the PreEnqueue plugins of a pod's profile and records the result in the pod."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        metrics: QueueMetrics,
        internal_errors: InternalErrors | None = None,
    ) -> None:
        self._internal_errors = internal_errors or InternalErrors()
        self._plugins: dict[str, Sequence[PreEnqueue]] = {
            name: tuple(profile.pre_enqueue) for name, profile in profiles.items()
        }
        #: The plugins by profile and the name of the plugin to call first.
        self._beginning_with: dict[tuple[str, str], Sequence[PreEnqueue]] = {}
        self._metrics = metrics
        self.check = metrics.measured_gate(self._check)

    def check_entity(self, queued: Queued) -> None:
        """Check a pod, or all members of a group: the gate of the last gated member is the group's.

        Members that have passed are checked again when an event moves the group, but not when other
        members come or leave: checking all of them for each change would take quadratic time.
        """
        if not isinstance(queued, QueuedPodGroup):
            self.check(queued)
            return
        unchecked, last = queued.take_unchecked(), queued.last_gated
        if last is None:
            unchecked = unchecked or list(queued.pods())
        elif not self._is_still_gated(queued, last):
            unchecked += queued.gated
        for member in unchecked:
            self._check_member(queued, member)
        last = queued.last_gated
        queued.gating_plugin = "" if last is None else last.gating_plugin

    def _is_still_gated(self, group: QueuedPodGroup, member: QueuedMember) -> bool:
        self._check_member(group, member)
        return member.is_gated

    def _check_member(self, group: QueuedPodGroup, member: QueuedMember) -> None:
        was_gated = member.is_gated
        self.check(member)
        group.recount(member, was_gated)

    def _check(self, queued: QueuedPodInfo, report: ReportGate | None) -> None:
        """Set or clear the pod's gating plugin. The current gating plugin is called first."""
        for plugin in self._in_order(queued.profile, queued.gating_plugin):
            began = 0.0 if report is None else perf_counter()
            try:
                status = plugin.pre_enqueue(queued.pod)
            except Exception as problem:
                # An exception must neither stop the queue nor let a gated pod through.
                self._internal_errors.survived(f"PreEnqueue plugin {plugin.name}", f"Pod {queued.key}", problem)
                status = error(describe(problem))
            if report is not None:
                report(plugin.name, status, perf_counter() - began)
            if status is not None and status.code is not Code.SUCCESS:
                self._close(queued, plugin.name)
                return
        queued.gating_plugin = ""

    def _in_order(self, profile: str, first: str) -> Sequence[PreEnqueue]:
        plugins = self._plugins.get(profile, ())
        if not first:
            return plugins
        known = self._beginning_with.get((profile, first))
        if known is None:
            known = tuple(sorted(plugins, key=lambda plugin: plugin.name != first))
            self._beginning_with[profile, first] = known
        return known

    def _close(self, queued: QueuedPodInfo, plugin: str) -> None:
        if queued.gating_plugin == plugin and plugin in queued.unschedulable_plugins:
            return
        if plugin not in queued.rejectors:
            self._metrics.rejection_changed(plugin, queued.profile, 1)
        queued.unschedulable_plugins |= {plugin}
        queued.gating_plugin = plugin


class Requeuer:
    """Puts pods into sub-queues; methods return whether the pod can be popped now."""

    def __init__(
        self, queues: SubQueues, gate: PreEnqueueGate, nominator: Nominator, nominating_events: Collection[str]
    ) -> None:
        """A pod that enters activeQ because of one of the `nominating_events` is nominated as its
        status says."""
        self._nominating_events = nominating_events
        self._active = queues.active
        self._backoff = queues.backoff
        self._unschedulable = queues.unschedulable
        self._unschedulable_keys = queues.unschedulable.pods.entries
        self._backoff_keys = queues.backoff.rejected.entries
        self._error_backoff_keys = queues.backoff.failed.entries
        self._gate = gate
        self._nominator = nominator

    def requeue(self, queued: Queued, strategy: Strategy, event: str, now: int) -> bool:
        """Apply the strategy; without remaining backoff the pod goes straight to activeQ."""
        if strategy is Strategy.SKIP:
            self._unschedulable.add(queued, event)
            return False
        if strategy is Strategy.AFTER_BACKOFF and self._backoff.is_backing_off(queued, now):
            return self._to_backoff(queued, event)
        return self.to_active(queued, event, now)

    def to_active(self, queued: Queued, event: str, now: int) -> bool:
        """Put a pod into activeQ unless a PreEnqueue plugin gates it."""
        if self._is_held_back(queued, event):
            return False
        self.enter_active(queued, event, now)
        return True

    def enter_active(self, queued: Queued, event: str, now: int) -> None:
        """Put a pod that has passed PreEnqueue into activeQ."""
        if queued.initial_attempt == NEVER:
            queued.initial_attempt = now
        if isinstance(queued, QueuedPodGroup):
            queued.enter_active(now)
        key = queued.key
        if key in self._unschedulable_keys or key in self._backoff_keys or key in self._error_backoff_keys:
            self._vacate(queued, event)
        self._active.add(queued, event)
        if event in self._nominating_events:
            self._nominator.add(queued.pod)

    def leave_backoff(self, queued: Queued, event: str, now: int) -> bool:
        """Put a pod into activeQ that was just removed from backoffQ."""
        if not self._backoff.is_popped_early:
            return self.to_active(queued, event, now)
        self.enter_active(queued, event, now)
        return True

    def _to_backoff(self, queued: Queued, event: str) -> bool:
        if self._backoff.is_popped_early and self._is_held_back(queued, event):
            return False
        self._vacate(queued, event)
        self._backoff.add(queued, event)
        return self._backoff.is_popped_early

    def _is_held_back(self, queued: Queued, event: str) -> bool:
        """Run PreEnqueue. A gated pod waits, unless an object with its key is already past the
        gate."""
        self._gate.check_entity(queued)
        if not queued.gating_plugin:
            return False
        if queued.key not in self._active.pods.entries and queued.key not in self._backoff:
            # A gated pod makes no attempt, which would have cleared the flag.
            queued.mark_flushed(False)
            self._unschedulable.add(queued, event)
        return True

    def _vacate(self, queued: Queued, event: str) -> None:
        """Remove the pod, or an older object with its key, from the place where it waited."""
        resident = self._unschedulable.remove(queued.key) or self._backoff.remove(queued.key)
        if resident is not None and resident is not queued:
            resident.move_to(Place.OUTSIDE, event)
