# SPDX-License-Identifier: Apache-2.0
"""The node pools of a running scenario, with used node names and current prices."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import msgspec

from steersman import api
from steersman.simulation.pools.node_pools import NodePool


class ClusterPools:
    """Pools by name, and the factory of their nodes."""

    def __init__(self, pools: Iterable[NodePool] = ()) -> None:
        self._pools = {pool.name: pool for pool in pools}
        #: Pool → minimum number of its next node.
        self._next: dict[str, int] = {}

    def __iter__(self) -> Iterator[NodePool]:
        return iter(self._pools.values())

    def __len__(self) -> int:
        return len(self._pools)

    def __getitem__(self, name: str) -> NodePool:
        return self._pools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._pools

    def set_price(self, name: str, per_hour: float) -> None:
        """Set the price of the pool's future nodes."""
        if name in self._pools:
            self._pools[name] = msgspec.structs.replace(self._pools[name], price_per_hour=per_hour)

    def next_nodes(self, pool: NodePool, count: int, taken: Container[str], zone: str | None = None) -> list[api.Node]:
        """Return the nodes that `new_nodes` would return, without reserving names, for trials."""
        return [node for _, node in self._numbered(pool, count, taken, zone)]

    def new_nodes(self, pool: NodePool, count: int, taken: Container[str], zone: str | None = None) -> list[api.Node]:
        """Return `count` nodes with names that were never used in the pool and are not `taken`."""
        numbered = list(self._numbered(pool, count, taken, zone))
        if numbered:
            self._next[pool.name] = numbered[-1][0] + 1
        return [node for _, node in numbered]

    def _numbered(
        self, pool: NodePool, count: int, taken: Container[str], zone: str | None
    ) -> Iterator[tuple[int, api.Node]]:
        number = self._next.get(pool.name, 0)
        for _ in range(count):
            while pool.node_name(number) in taken:
                number += 1
            yield number, pool.make_node(number, zone)
            number += 1
