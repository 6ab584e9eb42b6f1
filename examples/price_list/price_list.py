# SPDX-License-Identifier: Apache-2.0
"""Prefer node pools that are cheap, by a ConfigMap that is read when it is due and not watched."""

from collections.abc import Mapping

from steersman import api
from steersman.framework import BackgroundPlugin, Handle, NodeInfo, PodInfo, ScorePlugin

NAMESPACE, NAME = "kube-system", "node-prices"


class ConfigMap(api.Object, frozen=True):
    API_VERSION, KIND, PLURAL = "v1", "ConfigMap", "configmaps"

    data: dict[str, str] = {}


class PriceList(ScorePlugin, BackgroundPlugin):
    """100 for a pool that costs nothing, 0 for one that costs 100 or more, or is not in the list."""

    name = "PriceList"
    reads = (ConfigMap,)
    period_seconds = 60.0

    def __init__(self, args: Mapping[str, object] | None, handle: Handle) -> None:
        self._client = handle.client
        self._prices: Mapping[str, str] = {}

    async def refresh(self) -> None:
        found = await self._client.get(ConfigMap, NAME, NAMESPACE)
        self._prices = {} if found is None else found.data

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        price = self._prices.get(node.labels.get("disk", ""), "100")
        return 100 - min(100, int(price))
