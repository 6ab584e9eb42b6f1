# SPDX-License-Identifier: Apache-2.0
"""Where a pod goes next: into activeQ, into backoffQ, or to the unschedulable pods.

`scheduling_queue` calls in here with a pod that is new, woken, flushed or back from an attempt. PreEnqueue plugins have
the first word about every pod that is about to enter activeQ or backoffQ, except on the way from backoffQ to activeQ:
they were asked when it entered backoffQ. (Where nothing is popped from backoffQ it is the other way round.) A plugin that
rejects the pod becomes its gating plugin and joins its rejectors, so that the plugin's events wake it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from steersman.framework.events import UNSCHEDULED_POD_ADD, UNSCHEDULED_POD_UPDATE
from steersman.framework.status import Code, error
from steersman.internal_errors import InternalErrors, describe
from steersman.queue.hints import Strategy
from steersman.queue.nominator import Nominator
from steersman.queue.queued_pod import NEVER, Place, QueuedPodInfo
from steersman.queue.settings import PreEnqueue, QueueMetrics, QueueProfile
from steersman.queue.sub_queues import SubQueues

_CARRIES_NOMINATION: Final = frozenset({UNSCHEDULED_POD_ADD.label, UNSCHEDULED_POD_UPDATE.label})
"""Events that bring a pod's own word on its nomination."""


class PreEnqueueGate:
    """Runs the PreEnqueue plugins of a pod's profile and notes the outcome in the pod."""

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
        #: The same by profile and the name of the plugin that is to be asked first.
        self._beginning_with: dict[tuple[str, str], Sequence[PreEnqueue]] = {}
        self._metrics = metrics

    def check(self, queued: QueuedPodInfo) -> None:
        """Set or clear the pod's gating plugin. The plugin that already gates it is asked first."""
        for plugin in self._in_order(queued.profile, queued.gating_plugin):
            try:
                status = plugin.pre_enqueue(queued.pod)
            except Exception as problem:
                # A broken plugin must neither stop the queue nor let a pod through that it was meant to hold back.
                self._internal_errors.survived(f"PreEnqueue plugin {plugin.name}", f"Pod {queued.key}", problem)
                status = error(describe(problem))
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
    """Puts pods into sub-queues; answers whether the pod can be popped now."""

    def __init__(self, queues: SubQueues, gate: PreEnqueueGate, nominator: Nominator) -> None:
        self._active = queues.active
        self._backoff = queues.backoff
        self._unschedulable = queues.unschedulable
        self._unschedulable_keys = queues.unschedulable.pods.entries
        self._backoff_keys = queues.backoff.rejected.entries
        self._error_backoff_keys = queues.backoff.failed.entries
        self._gate = gate
        self._nominator = nominator

    def requeue(self, queued: QueuedPodInfo, strategy: Strategy, event: str, now: int) -> bool:
        """Act on the strategy; a backoff that is over, or skipped, leads straight to activeQ."""
        if strategy is Strategy.SKIP:
            self._unschedulable.add(queued, event)
            return False
        if strategy is Strategy.AFTER_BACKOFF and self._backoff.is_backing_off(queued, now):
            return self._to_backoff(queued, event)
        return self.to_active(queued, event, now)

    def to_active(self, queued: QueuedPodInfo, event: str, now: int) -> bool:
        """Put a pod into activeQ if PreEnqueue plugins let it in."""
        if self._is_held_back(queued, event):
            return False
        self.enter_active(queued, event, now)
        return True

    def enter_active(self, queued: QueuedPodInfo, event: str, now: int) -> None:
        """Put a pod into activeQ without asking PreEnqueue plugins: it has passed them."""
        if queued.initial_attempt == NEVER:
            queued.initial_attempt = now
        key = queued.key
        if key in self._unschedulable_keys or key in self._backoff_keys or key in self._error_backoff_keys:
            self._vacate(queued, event)
        self._active.add(queued, event)
        if event in _CARRIES_NOMINATION:
            self._nominator.add(queued.pod)

    def leave_backoff(self, queued: QueuedPodInfo, event: str, now: int) -> bool:
        """Put a pod into activeQ that has just been taken out of backoffQ."""
        if not self._backoff.is_popped_early:
            return self.to_active(queued, event, now)
        self.enter_active(queued, event, now)
        return True

    def _to_backoff(self, queued: QueuedPodInfo, event: str) -> bool:
        if self._backoff.is_popped_early and self._is_held_back(queued, event):
            return False
        self._vacate(queued, event)
        self._backoff.add(queued, event)
        return self._backoff.is_popped_early

    def _is_held_back(self, queued: QueuedPodInfo, event: str) -> bool:
        """Ask the PreEnqueue plugins; a pod that they gate waits, unless one of its name is already past the gate."""
        self._gate.check(queued)
        if not queued.gating_plugin:
            return False
        if queued.key not in self._active.pods.entries and queued.key not in self._backoff:
            # A gated pod makes no attempt, which would have cleared the flag.
            queued.was_flushed = False
            self._unschedulable.add(queued, event)
        return True

    def _vacate(self, queued: QueuedPodInfo, event: str) -> None:
        """Take the pod, or an older object with its key, out of the place where it waited."""
        resident = self._unschedulable.remove(queued.key) or self._backoff.remove(queued.key)
        if resident is not None and resident is not queued:
            resident.move_to(Place.OUTSIDE, event)
