# SPDX-License-Identifier: Apache-2.0
"""The pools of devices that one node can use, from the slices that reach it.

Only the newest generation of a pool counts. A pool of which slices are missing is *incomplete*, one that contradicts
itself is *invalid*; devices are taken from neither. `published` keeps what is made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from steersman.plugins.dynamic_resources.allocation.devices import CounterId, PoolId, PublishedDevice, nanos
from steersman.plugins.dynamic_resources.allocation.slices import PublishedSlice


@dataclass(frozen=True, slots=True)
class Pool:
    """As one node sees it."""

    id: PoolId
    is_incomplete: bool = False
    #: Why it cannot be right; "": it can.
    invalid: str = ""
    #: Of the slices that reach the node, in the order in which they are tried.
    devices: tuple[PublishedDevice, ...] = ()
    #: Of the other slices, for they may take from the same counters.
    devices_elsewhere: tuple[PublishedDevice, ...] = ()
    #: In billionths.
    counters: Mapping[CounterId, int] = field(default_factory=dict)

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
    """By pool, without those of older generations."""
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
) -> tuple[Pool, ...]:
    """The pools of the slices that reach a node, in the order in which they are tried: sorted, and those with binding
    conditions last, for their devices take time. `by_pool` has all slices of the cluster."""
    found = (_pool(pool, slices, by_pool[pool], partitionable) for pool, slices in newest(reaching).items())
    pools = [pool for pool in found if pool is not None]
    return tuple(sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id)))


def _pool(
    pool: PoolId, slices: list[PublishedSlice], known: Sequence[PublishedSlice], partitionable: bool
) -> Pool | None:
    """None: the driver is about to replace what is there, and has nothing newer for the node."""
    generation, expected = slices[0].generation, slices[0].slice_count
    if len(slices) == expected:
        return _complete_pool(pool, slices, (), partitionable)
    if any(one.generation > generation for one in known):
        return None
    current = [one for one in known if one.generation == generation]
    if len(current) != expected:
        return Pool(pool, is_incomplete=True)
    here = {one.name for one in slices}
    return _complete_pool(pool, slices, [one for one in current if one.name not in here], partitionable)


def _complete_pool(
    pool: PoolId, slices: Sequence[PublishedSlice], elsewhere: Sequence[PublishedSlice], partitionable: bool
) -> Pool:
    ordered = sorted(slices, key=lambda one: one.name)
    if not partitionable:
        devices = _devices(ordered)
        return Pool(pool, invalid=_repeated_name(devices), devices=devices)
    devices = _devices([one for one in ordered if not one.has_counters])
    counters, others = _counters(ordered), _devices(elsewhere)
    if isinstance(counters, str):
        invalid = _repeated_name(devices) or counters
        return Pool(pool, invalid=invalid)
    invalid = (
        _repeated_name(devices) or _unknown_counter(counters, _devices(ordered)) or _unknown_counter(counters, others)
    )
    return Pool(pool, invalid=invalid) if invalid else Pool(pool, False, "", devices, others, counters)


def _devices(slices: Iterable[PublishedSlice]) -> tuple[PublishedDevice, ...]:
    return tuple(device for one in slices for device in one.devices)


def _counters(slices: Iterable[PublishedSlice]) -> dict[CounterId, int] | str:
    """All counters of the pool, or what is wrong with them."""
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
