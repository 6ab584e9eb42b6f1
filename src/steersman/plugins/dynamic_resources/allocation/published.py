# SPDX-License-Identifier: Apache-2.0
"""All ResourceSlices of the cluster, and the pools that each node can use.

Kept from cycle to cycle: slices that have not changed are not prepared again, and a node's pools are put together when
somebody first asks for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from steersman.api import Node, ResourceSlice
from steersman.framework.handle import Objects
from steersman.plugins.dynamic_resources.allocation.devices import PoolId, PublishedDevice
from steersman.plugins.dynamic_resources.allocation.pools import Pool, make_pools
from steersman.plugins.dynamic_resources.allocation.slices import PublishedSlice


class NodeDevices:
    """What one node can use."""

    __slots__ = ("candidates", "has_invalid_pools", "node", "pools")

    def __init__(self, node: Node, pools: tuple[Pool, ...]) -> None:
        self.node = node
        self.pools = pools
        self.has_invalid_pools = any(pool.invalid for pool in pools)
        #: Every device that can be chosen, with its pool, in the order in which they are tried.
        self.candidates: tuple[tuple[PublishedDevice, Pool], ...] = tuple(
            (device, pool) for pool in pools if pool.is_usable for device in pool.devices
        )

    def is_same(self, other: NodeDevices) -> bool:
        """The same node with the same devices."""
        return self is other or (self.node is other.node and self.pools == other.pools)


class PublishedDevices:
    """See the module's text."""

    def __init__(self, objects: Objects, partitionable: bool) -> None:
        self._objects = objects
        self._partitionable = partitionable
        self._version = -1
        self._slices: dict[str, PublishedSlice] = {}
        self._local: dict[str, list[PublishedSlice]] = {}
        self._shared: list[PublishedSlice] = []
        self._by_pool: dict[PoolId, list[PublishedSlice]] = {}
        self._by_node: dict[str, NodeDevices] = {}
        #: The nodes, as far as anybody asked for them, that slices of a pool reach.
        self._users: dict[PoolId, set[str]] = {}
        #: Nodes whose devices changed since somebody asked for them; None: any node's may have.
        self._changed_nodes: set[str] | None = None

    def of(self, node: Node) -> NodeDevices:
        self._refresh()
        known = self._by_node.get(node.metadata.name)
        if known is None or known.node is not node:
            known = self._by_node[node.metadata.name] = self._make(node)
        return known

    def take_changed_nodes(self) -> Collection[str] | None:
        """The nodes whose devices changed since the last call; None: any node's may have."""
        self._refresh()
        changed, self._changed_nodes = self._changed_nodes, set()
        return changed

    def nodes_using(self, pool: PoolId) -> Iterable[str]:
        """As far as their devices have been asked for."""
        return self._users.get(pool, ())

    def has_counters(self, pool: PoolId) -> bool:
        """Whether what is taken of the pool may keep others from devices that are free."""
        return any(one.has_counters for one in self._by_pool.get(pool, ()))

    def _make(self, node: Node) -> NodeDevices:
        slices = (*self._local.get(node.metadata.name, ()), *self._shared)
        reaching = [one for one in slices if one.reaches(node)]
        pools = make_pools(reaching, self._by_pool, self._partitionable)
        for one in reaching:
            self._users.setdefault(one.pool, set()).add(node.metadata.name)
        return NodeDevices(node, pools)

    def _refresh(self) -> None:
        if self._objects.version(ResourceSlice) != self._version:
            before = self._slices
            self._read()
            self._forget_changed(before)

    def _forget_changed(self, before: Mapping[str, PublishedSlice]) -> None:
        """The nodes that a changed slice reaches, or that use its pool. One that is not tied to a node may reach any."""
        now = self._slices
        changed = [one for name, one in before.items() if now.get(name) is not one]
        changed += [one for name, one in now.items() if before.get(name) is not one]
        if not all(one.is_local for one in changed):
            self._by_node, self._users, self._changed_nodes = {}, {}, None
            return
        nodes = {one.reach.node_name for one in changed}.union(*(self.nodes_using(one.pool) for one in changed))
        for name in nodes:
            self._by_node.pop(name, None)
        if self._changed_nodes is not None:
            self._changed_nodes |= nodes

    def _read(self) -> None:
        self._version = self._objects.version(ResourceSlice)
        self._slices = {one.name: one for one in self._prepared(self._objects.list(ResourceSlice))}
        self._local, self._shared, self._by_pool = {}, [], {}
        for one in self._slices.values():
            self._by_pool.setdefault(one.pool, []).append(one)
            if one.needs_partitions and not self._partitionable:
                continue
            if one.is_local:
                self._local.setdefault(one.reach.node_name, []).append(one)
            else:
                self._shared.append(one)

    def _prepared(self, slices: Iterable[ResourceSlice]) -> Iterable[PublishedSlice]:
        for one in slices:
            known = self._slices.get(one.metadata.name)
            yield known if known is not None and known.slice is one else PublishedSlice(one)
