# SPDX-License-Identifier: Apache-2.0
"""Prefer nodes that have little to do, by what a metrics service says: requests are promises, load is what happens.

The service answers a GET with JSON, `{"n1": 0.35, "n2": 0.9}`: the load of every node, 0 to 1. Nodes of which nothing was heard
score in the middle; when the service is silent three times in a row, that is all of them.
"""

from __future__ import annotations

import aiohttp
import msgspec

from steersman import api, framework as fw

UNKNOWN = 50
#: So many refreshes in a row may fail before what is known is forgotten.
PATIENCE = 3


class NodeLoadArgs(api.Struct, frozen=True):
    """The arguments in `pluginConfig`."""

    #: The address of the metrics service.
    url: str
    period_seconds: float = 30.0
    #: The load from which on a node takes no more pods.
    full_at: float = 2.0


class NodeLoad(fw.ScorePlugin, fw.FilterPlugin, fw.BackgroundPlugin):
    """Prefers nodes with a low load, and rejects full ones."""

    name = "NodeLoad"
    args = NodeLoadArgs
    deadline_seconds = 5.0

    def __init__(self, args: NodeLoadArgs, handle: fw.Handle) -> None:
        self._url = args.url
        self._full_at = args.full_at
        self.period_seconds = args.period_seconds
        self._loads: dict[str, float] = {}
        self._failures = 0

    async def refresh(self) -> bool:
        """A pod that found all nodes full is worth another attempt when one of them is not any more."""
        was_full = {name for name, load in self._loads.items() if load >= self._full_at}
        try:
            self._loads = await self._asked()
            self._failures = 0
        except Exception:
            self._failures += 1
            if self._failures >= PATIENCE:
                self._loads = {}
            raise
        return any(self._loads.get(name, 0.0) < self._full_at for name in was_full)

    async def _asked(self) -> dict[str, float]:
        timeout = aiohttp.ClientTimeout(total=self.deadline_seconds - 1)
        session = aiohttp.ClientSession(timeout=timeout)
        async with session, session.get(self._url, raise_for_status=True) as answer:
            return msgspec.json.decode(await answer.read(), type=dict[str, float])

    def filter(self, pod: fw.PodInfo, node: fw.NodeInfo) -> bool | str:
        return self._loads.get(node.name, 0.0) < self._full_at or "node(s) have too much to do"

    def score(self, pod: fw.PodInfo, node: fw.NodeInfo) -> int:
        load = self._loads.get(node.name)
        return UNKNOWN if load is None else round(fw.MAX_NODE_SCORE * (1 - min(1.0, max(0.0, load))))
