# SPDX-License-Identifier: Apache-2.0
"""The node pools of a running scenario: which names nodes have had, and prices as steps have changed them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import msgspec

from steersman import api
from steersman.sim.node_pools import NodePool


class ClusterPools:
    """Pools by name; makes their nodes."""

    def __init__(self, pools: Iterable[NodePool] = ()) -> None:
        self._pools = {pool.name: pool for pool in pools}
        #: By pool: the number that the next node has at least.
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
        """Nodes of the pool that come later cost so much."""
        if name in self._pools:
            self._pools[name] = msgspec.structs.replace(self._pools[name], price_per_hour=per_hour)

    def next_nodes(self, pool: NodePool, count: int, taken: Container[str], zone: str | None = None) -> list[api.Node]:
        """The nodes that `new_nodes` would give; nothing is remembered, so that a trial changes no names."""
        return [node for _, node in self._numbered(pool, count, taken, zone)]

    def new_nodes(self, pool: NodePool, count: int, taken: Container[str], zone: str | None = None) -> list[api.Node]:
        """So many nodes with names that no node of the pool has had before, and that are not `taken`."""
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
