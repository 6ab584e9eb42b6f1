# SPDX-License-Identifier: Apache-2.0
"""Pods waiting for permission: scheduled and reserved, not yet bound.

Added by the binding driver after Permit returned Wait; plugins, preemption and ingest may allow or
reject a pod. The driver awaits the verdict and enforces the timeouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from steersman.api import Duration
from steersman.framework import Code, PodInfo, Status

REMOVED = "removed"
TIMED_OUT = "rejected due to timeout after waiting {} at plugin {}"
_NANOSECONDS = 1_000_000_000


class PodAtPermit:
    """One pod, the plugins it still waits for, and the verdict once there is one."""

    __slots__ = ("_on_verdict", "node_name", "pending", "pod", "verdict")

    def __init__(self, pod: PodInfo, node_name: str, plugins: dict[str, float]) -> None:
        self.pod = pod
        self.node_name = node_name
        #: Timeout in seconds by plugin.
        self.pending = dict(plugins)
        #: SUCCESS once every plugin has allowed it, or the first rejection.
        self.verdict: Status | None = None
        self._on_verdict: Callable[[], None] | None = None

    def on_verdict(self, callback: Callable[[], None]) -> None:
        """Set the function to call once with the verdict; called immediately if there is one."""
        self._on_verdict = callback
        if self.verdict is not None:
            callback()

    def allow(self, plugin: str) -> None:
        self.pending.pop(plugin, None)
        if not self.pending:
            self._settle(Status(Code.SUCCESS))

    def reject(self, plugin: str, message: str) -> bool:
        """Reject the pod; return False if there was already a verdict."""
        return self._settle(Status(Code.UNSCHEDULABLE, (message,), plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """Reject the pod in favour of another one: it is retried after the error backoff."""
        return self._settle(Status(Code.ERROR, (message,), plugin))

    def time_out(self, plugin: str) -> None:
        """Reject the pod because the plugin's timeout is over, unless the plugin has allowed it."""
        seconds = self.pending.get(plugin)
        if seconds is not None:
            waited = Duration(round(seconds * _NANOSECONDS))
            self.reject(plugin, TIMED_OUT.format(waited, plugin))

    def _settle(self, verdict: Status) -> bool:
        if self.verdict is not None:
            return False
        self.verdict = verdict
        if self._on_verdict is not None:
            self._on_verdict()
        return True


class WaitingPods:
    """All waiting pods of a scheduler, by uid."""

    def __init__(self) -> None:
        self._pods: dict[str, PodAtPermit] = {}

    def add(self, waiting: PodAtPermit) -> None:
        self._pods[waiting.pod.uid] = waiting

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def get(self, uid: str) -> PodAtPermit | None:
        return self._pods.get(uid)

    def __iter__(self) -> Iterator[PodAtPermit]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def reject(self, uid: str, plugin: str = "", message: str = REMOVED) -> bool:
        """Reject the pod; return False if it does not wait, or there was already a verdict."""
        waiting = self._pods.get(uid)
        return waiting is not None and waiting.reject(plugin, message)
