"""The gate in front of activeQ and backoffQ: PreEnqueue plugins.

Called by `requeue` whenever a pod is about to enter one of the two from elsewhere. A plugin that rejects the pod
becomes its gating plugin and joins its rejectors, so that the plugin's events wake it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steersman.framework.status import Code, error
from steersman.internal_errors import InternalErrors, describe
from steersman.queue.metrics import QueueMetrics
from steersman.queue.profile import PreEnqueue, QueueProfile
from steersman.queue.queued_pod import QueuedPodInfo


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
