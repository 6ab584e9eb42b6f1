# SPDX-License-Identifier: Apache-2.0
"""The pools of devices that each node can use, from all ResourceSlices of the cluster.

Only the newest generation of a pool counts. A pool with missing slices is *incomplete*, a
contradictory one is *invalid*; neither provides devices. `PublishedDevices` caches the pools
between cycles: only changed slices are prepared, and a node's pools are computed when first needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from steersman.api import DeviceTaintRule, Node, ResourceSlice
from steersman.base import CacheSpec
from steersman.base.graph_copy import copied_attributes, shallow, shared_by_copies, two_levels
from steersman.framework import Objects
from steersman.scheduler.plugins.dynamic_resources.allocation.resource_slices import (
    CounterId,
    DeviceTraitsCache,
    PoolId,
    PublishedDevice,
    PublishedSlice,
    nanos,
    taints_by_rules,
)


class DevicePool(msgspec.Struct, frozen=True):
    """A pool of devices as one node sees it."""

    id: PoolId
    is_incomplete: bool = False
    #: Why the pool is invalid, or "".
    invalid: str = ""
    #: Devices of the slices that reach the node, in the order in which they are tried.
    devices: tuple[PublishedDevice, ...] = ()
    #: Devices of the other slices, which may consume the same counters.
    devices_elsewhere: tuple[PublishedDevice, ...] = ()
    #: Values in billionths.
    counters: Mapping[CounterId, int] = msgspec.field(default_factory=dict)

    @property
    def text(self) -> str:
        return "/".join(self.id)

    @property
    def is_usable(self) -> bool:
        return not self.is_incomplete and not self.invalid

    @property
    def has_binding_conditions(self) -> bool:
        return any(device.device.binding_conditions for device in self.devices)


def newest(slices: Iterable[PublishedSlice]) -> dict[PoolId, list[PublishedSlice]]:
    """Group the slices by pool, without those of older generations."""
    pools: dict[PoolId, list[PublishedSlice]] = {}
    for one in slices:
        known = pools.get(one.pool)
        if known is None or one.generation > known[0].generation:
            pools[one.pool] = [one]
        elif one.generation == known[0].generation:
            known.append(one)
    return pools


def make_pools(
    reaching: Iterable[PublishedSlice], by_pool: Mapping[PoolId, Sequence[PublishedSlice]], partitionable: bool
) -> tuple[DevicePool, ...]:
    """Return the pools of the slices that reach a node in the order of trial: sorted, with binding
    conditions last, since their devices take time. `by_pool` has all slices of the cluster."""
    found = (_pool(pool, slices, by_pool[pool], partitionable) for pool, slices in newest(reaching).items())
    pools = [pool for pool in found if pool is not None]
    return tuple(sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id)))


def _pool(
    pool: PoolId, slices: list[PublishedSlice], known: Sequence[PublishedSlice], partitionable: bool
) -> DevicePool | None:
    """Return a pool, or None if it is being replaced and the node has only old slices of it."""
    generation, expected = slices[0].generation, slices[0].slice_count
    if len(slices) == expected:
        return _complete_pool(pool, slices, (), partitionable)
    if any(one.generation > generation for one in known):
        return None
    current = [one for one in known if one.generation == generation]
    if len(current) != expected:
        return DevicePool(pool, is_incomplete=True)
    here = {one.name for one in slices}
    return _complete_pool(pool, slices, [one for one in current if one.name not in here], partitionable)


def _complete_pool(
    pool: PoolId, slices: Sequence[PublishedSlice], elsewhere: Sequence[PublishedSlice], partitionable: bool
) -> DevicePool:
    ordered = sorted(slices, key=lambda one: one.name)
    if not partitionable:
        devices = _devices(ordered)
        return DevicePool(pool, invalid=_repeated_name(devices), devices=devices)
    devices = _devices([one for one in ordered if not one.has_counters])
    counters, others = _counters(ordered), _devices(elsewhere)
    if isinstance(counters, str):
        invalid = _repeated_name(devices) or counters
        return DevicePool(pool, invalid=invalid)
    invalid = (
        _repeated_name(devices) or _unknown_counter(counters, _devices(ordered)) or _unknown_counter(counters, others)
    )
    return DevicePool(pool, invalid=invalid) if invalid else DevicePool(pool, False, "", devices, others, counters)


def _devices(slices: Iterable[PublishedSlice]) -> tuple[PublishedDevice, ...]:
    return tuple(device for one in slices for device in one.devices)


def _counters(slices: Iterable[PublishedSlice]) -> dict[CounterId, int] | str:
    """Return all counters of the pool, or an error message."""
    found: dict[CounterId, int] = {}
    sets: set[str] = set()
    for one in slices:
        for counter_set in one.counter_sets:
            if counter_set.name in sets:
                return f"duplicate counter set name {counter_set.name}"
            sets.add(counter_set.name)
            found |= {(counter_set.name, name): nanos(c.value) for name, c in counter_set.counters.items()}
    return found


def _repeated_name(devices: Iterable[PublishedDevice]) -> str:
    seen: set[str] = set()
    for device in devices:
        name = device.device.name
        if name in seen:
            return f"duplicate device name {name}"
        seen.add(name)
    return ""


def _unknown_counter(counters: Mapping[CounterId, int], devices: Iterable[PublishedDevice]) -> str:
    for device in devices:
        for counter_set, name in device.consumes:
            if (counter_set, name) not in counters:
                return f"counter {name} not found in counter set {counter_set}"
    return ""


# -- pools of all nodes ------------------------------------------------------------------------------------------------


@shared_by_copies
class NodeDevices:
    """The devices that one node can use, by pool."""

    __slots__ = ("candidates", "has_invalid_pools", "node", "pools")

    def __init__(self, node: Node, pools: tuple[DevicePool, ...]) -> None:
        self.node = node
        self.pools = pools
        self.has_invalid_pools = any(pool.invalid for pool in pools)
        #: All usable devices with their pools, in the order in which they are tried.
        self.candidates: tuple[tuple[PublishedDevice, DevicePool], ...] = tuple(
            (device, pool) for pool in pools if pool.is_usable for device in pool.devices
        )

    def is_same(self, other: NodeDevices) -> bool:
        """Return whether both are the same node with equal devices."""
        return self is other or (self.node is other.node and self.pools == other.pools)


PUBLISHED_DEVICES = CacheSpec(
    name="devices by node",
    attributes=(
        "PublishedDevices._slices_version",
        "PublishedDevices._slices",
        "PublishedDevices._by_node",
        "PublishedDevices._users",
    ),
    contents="the devices that a node can use, in the order in which they are tried",
    key="node name",
    invalidation=(
        "versions of ResourceSlice and DeviceTaintRule objects, which forks share: nodes that a changed slice reaches are "
        "recomputed; the Node object"
    ),
    limit="all nodes and ResourceSlices",
    reference="`PublishedDevices._make` of the node",
    checked_by="tests/plugins/dynamic_resources/allocation/test_pools.py",
    is_inline=True,
)


@copied_attributes(
    _slices=shallow,
    _local=shallow,
    _shared=shallow,
    _by_pool=shallow,
    _by_node=shallow,
    _users=two_levels,
)
class PublishedDevices:
    """The devices of every node, computed on demand and cached until a slice for it changes."""

    def __init__(self, objects: Objects, partitionable: bool, has_taint_rules: bool = False) -> None:
        """With `has_taint_rules`, DeviceTaintRules add taints to the devices."""
        self._objects = objects
        self._partitionable = partitionable
        self._has_taint_rules = has_taint_rules
        #: Versions of slices and DeviceTaintRules; None before the first read.
        self._slices_version: tuple[int, int] | None = None
        self._slices: dict[str, PublishedSlice] = {}
        self._traits = DeviceTraitsCache()
        self._local: dict[str, list[PublishedSlice]] = {}
        self._shared: list[PublishedSlice] = []
        self._by_pool: dict[PoolId, list[PublishedSlice]] = {}
        self._by_node: dict[str, NodeDevices] = {}
        #: By pool, the nodes with cached devices that its slices reach.
        self._users: dict[PoolId, set[str]] = {}
        #: Nodes whose devices changed since the last `take_changed_nodes`; None if any may have.
        self._changed_nodes: set[str] | None = None

    def devices_of(self, node: Node) -> NodeDevices:
        self._refresh()
        known = self._by_node.get(node.metadata.name)
        if known is None or known.node is not node:
            known = self._by_node[node.metadata.name] = self._make(node)
        return known

    def take_changed_nodes(self) -> Collection[str] | None:
        """Return the nodes whose devices changed since the last call, or None if any may have."""
        self._refresh()
        changed, self._changed_nodes = self._changed_nodes, set()
        return changed

    def nodes_using(self, pool: PoolId) -> Iterable[str]:
        """Return the nodes with cached devices that slices of the pool reach."""
        return self._users.get(pool, ())

    def has_counters(self, pool: PoolId) -> bool:
        """Return whether devices of the pool share counters, so that one may exclude others."""
        return any(one.has_counters for one in self._by_pool.get(pool, ()))

    def _make(self, node: Node) -> NodeDevices:
        slices = (*self._local.get(node.metadata.name, ()), *self._shared)
        reaching = [one for one in slices if one.reaches(node)]
        pools = make_pools(reaching, self._by_pool, self._partitionable)
        for one in reaching:
            self._users.setdefault(one.pool, set()).add(node.metadata.name)
        return NodeDevices(node, pools)

    def _refresh(self) -> None:
        version = self._objects.version(ResourceSlice), self._objects.version(DeviceTaintRule)
        if self._slices_version != version:
            self._slices_version = None
            self._read_again()
            self._slices_version = version

    def _read_again(self) -> None:
        before = self._slices
        self._read()
        self._forget_changed(before)

    def _forget_changed(self, before: Mapping[str, PublishedSlice]) -> None:
        """Drop nodes that a changed slice or its pool concerns; all nodes if it is not local."""
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
        rules = self._objects.list(DeviceTaintRule) if self._has_taint_rules else ()
        for one in slices:
            known = self._slices.get(one.metadata.name)
            taints = taints_by_rules(one, rules)
            if known is not None and known.slice is one and known.rule_taints == taints:
                yield known
            else:
                yield PublishedSlice(one, self._traits, taints)
