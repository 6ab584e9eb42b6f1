# SPDX-License-Identifier: Apache-2.0
"""Pods in PreBind: preemption may cancel it until the pod is being bound.

Maintained by the binding driver around PreBind; other components use
`framework.handle.PodInPreBind`.
"""

from __future__ import annotations

from collections.abc import Callable


class PreBindWork:
    """PreBind of one pod: either cancelled or finished, whichever comes first."""

    __slots__ = ("_is_over", "_on_cancel", "cancelled_by")

    def __init__(self) -> None:
        self._on_cancel: Callable[[], object] | None = None
        self._is_over = False
        #: Reason of the cancellation, or "".
        self.cancelled_by = ""

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Set the function to call on cancellation."""
        self._on_cancel = callback

    def cancel(self, message: str) -> bool:
        """Cancel PreBind; return False if it is too late."""
        if self._is_over:
            return False
        if not self.cancelled_by:
            self.cancelled_by = message
            if self._on_cancel is not None:
                self._on_cancel()
        return True

    def finish(self) -> bool:
        """Finish PreBind, because binding begins; return False if it was cancelled before."""
        if self.cancelled_by:
            return False
        self._is_over = True
        return True


class PodsInPreBind:
    """The pods in PreBind, by uid."""

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
