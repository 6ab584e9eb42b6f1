# SPDX-License-Identifier: Apache-2.0
"""Pods whose PreBind work is under way: until they are being bound, preemption may call the work off.

Filled by the binding driver around PreBind; `framework.handle.PodInPreBind` is what others see of a pod here.
"""

from __future__ import annotations

from collections.abc import Callable


class PreBindWork:
    """One pod. Either it is cancelled, or its PreBind work is over; whatever comes first holds."""

    __slots__ = ("_is_over", "_on_cancel", "cancelled_by")

    def __init__(self) -> None:
        self._on_cancel: Callable[[], object] | None = None
        self._is_over = False
        #: Why the work was called off, "" if it was not.
        self.cancelled_by = ""

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Called at once when the work is called off."""
        self._on_cancel = callback

    def cancel(self, message: str) -> bool:
        """Calls the work off; False when it is too late."""
        if self._is_over:
            return False
        if not self.cancelled_by:
            self.cancelled_by = message
            if self._on_cancel is not None:
                self._on_cancel()
        return True

    def finish(self) -> bool:
        """The work is done and binding begins; False when it was called off before."""
        if self.cancelled_by:
            return False
        self._is_over = True
        return True


class PodsInPreBind:
    """The pods that are in PreBind, by uid."""

    def __init__(self) -> None:
        self._pods: dict[str, PreBindWork] = {}

    def add(self, uid: str) -> PreBindWork:
        pod = self._pods[uid] = PreBindWork()
        return pod

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def get(self, uid: str) -> PreBindWork | None:
        return self._pods.get(uid)

    def __len__(self) -> int:
        return len(self._pods)
