# SPDX-License-Identifier: Apache-2.0
"""Caches for the tests of this package."""

from __future__ import annotations

from steersman.framework.pod_info import PodInfo
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import PodBuilder


class Caches:
    """A cache with what it was made of."""

    def __init__(self) -> None:
        self.objects = ObjectStore()
        self.cache = Cache(self.objects)

    def assume(self, pod: PodBuilder, node: str) -> PodInfo:
        info = self.cache.shapes.info(pod.obj())
        self.cache.assume(info, node)
        return info

    def requested(self, node: str, resource: str = "cpu") -> int:
        """Of a row, with or without a node."""
        table = self.cache.nodes
        return 0 if node not in table.rows else table.info(table.rows[node]).requested(resource)
