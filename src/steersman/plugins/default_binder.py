# SPDX-License-Identifier: Apache-2.0
"""DefaultBinder: writes the binding of a pod to its node through the API server.

Bind only, and normally the last plugin of that point. How a binding reaches the API server (over HTTP, or into the
embedded cluster) is the business of the `Binder` that the handle offers.
"""

from __future__ import annotations

from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import Handle
from steersman.framework.plugin import BindPlugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import Binder
from steersman.framework.status import Status

__all__ = ["Binder", "DefaultBinder"]


class DefaultBinder(BindPlugin):
    """Binds every pod that no earlier Bind plugin took."""

    name = "DefaultBinder"
    #: Requests to the API server have a deadline.
    keeps_time = True

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return await self._handle.binder.bind(pod, node_name)
