# SPDX-License-Identifier: Apache-2.0
"""DefaultBinder: binds a pod to its node through the API server.

Bind only, and normally the last plugin of that point. The `Binder` of the handle sends the binding
over HTTP or to the embedded cluster.
"""

from __future__ import annotations

from steersman.framework import Binder, BindPlugin, CycleState, Handle, PodInfo, Status

__all__ = ["Binder", "DefaultBinder"]


class DefaultBinder(BindPlugin):
    """Binds every pod that no earlier Bind plugin handled."""

    name = "DefaultBinder"
    #: Requests to the API server have a timeout.
    enforces_deadlines = True

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return await self._handle.binder.bind(pod, node_name)
