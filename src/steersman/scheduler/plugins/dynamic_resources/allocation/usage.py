# SPDX-License-Identifier: Apache-2.0
"""The devices in use and the remaining capacity.

`DevicesInUse` is the sum of all allocations: devices, and the used capacity of shared ones. Pools
may also have shared counters, by which partitions of the same hardware exclude each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from steersman.api import AllocationResult, DeviceRequestAllocationResult
from steersman.base import ChangeLog
from steersman.scheduler.plugins.dynamic_resources.allocation.pools import DevicePool
from steersman.scheduler.plugins.dynamic_resources.allocation.resource_slices import (
    CounterId,
    DeviceId,
    PoolId,
    PublishedDevice,
    nanos,
)

#: The minimum number of changes that a reader may lag behind.
HISTORY = 1 << 12


class UseChange(NamedTuple):
    """A device, or a share of it, was allocated or released."""

    device: DeviceId
    is_taken: bool
    is_share: bool

    @property
    def pool(self) -> PoolId:
        return self.device[:2]


class DevicesInUse:
    """The sum of allocations. `consumable`: devices can be shared (gate DRAConsumableCapacity)."""

    def __init__(self, consumable: bool = True) -> None:
        self._consumable = consumable
        #: Exclusively allocated devices with the number of claims that have them.
        self.devices: dict[DeviceId, int] = {}
        #: Number of allocated shares by device.
        self.shares: dict[DeviceId, int] = {}
        #: Capacity consumed by shares in billionths, for devices with any.
        self.capacity: dict[DeviceId, dict[str, int]] = {}
        self._log: ChangeLog[UseChange] = ChangeLog(2 * HISTORY)

    def add(self, allocation: AllocationResult) -> None:
        for result in allocation.devices.results:
            self._count(result, 1)

    def remove(self, allocation: AllocationResult) -> None:
        for result in allocation.devices.results:
            self._count(result, -1)

    def copy(self) -> DevicesInUse:
        """Return a snapshot of the devices in use."""
        copied = DevicesInUse(self._consumable)
        copied.devices, copied.shares = dict(self.devices), dict(self.shares)
        copied.capacity = {device: dict(taken) for device, taken in self.capacity.items()}
        copied._log = ChangeLog(2 * HISTORY, begin=self.version)
        return copied

    @property
    def version(self) -> int:
        """Grows with every device that is allocated or released."""
        return self._log.end

    def changes_since(self, version: int) -> Sequence[UseChange] | None:
        """Return the changes after a version, or None if they are no longer available."""
        return self._log.each_since(version)

    def is_allocated(self, device: DeviceId) -> bool:
        return device in self.devices or device in self.shares or device in self.capacity

    def _count(self, result: DeviceRequestAllocationResult, sign: int) -> None:
        if result.admin_access:
            return
        device = (result.driver, result.pool, result.device)
        if self._consumable and result.share_id is not None:
            _change(self.shares, device, sign)
            self._log.append(UseChange(device, sign > 0, is_share=True))
            if result.consumed_capacity:
                self._take(device, {name: sign * nanos(q) for name, q in result.consumed_capacity.items()})
        else:
            was_taken = device in self.devices
            _change(self.devices, device, sign)
            if was_taken is not (device in self.devices):
                self._log.append(UseChange(device, not was_taken, is_share=False))

    def _take(self, device: DeviceId, amounts: Mapping[str, int]) -> None:
        taken = self.capacity.setdefault(device, {})
        for name, amount in amounts.items():
            taken[name] = taken.get(name, 0) + amount
        if not any(taken.values()):
            del self.capacity[device]


def _change(counts: dict[DeviceId, int], device: DeviceId, by: int) -> None:
    left = counts.get(device, 0) + by
    if left > 0:
        counts[device] = left
    else:
        counts.pop(device, None)


# -- shared counters of pools ------------------------------------------------------------------------------------------


class Available(msgspec.Struct, frozen=True):
    """The counters of a pool minus the consumption of its allocated devices, in billionths."""

    left: dict[CounterId, int]
    #: Whether a counter is negative, so that no device that consumes counters can be allocated.
    is_overdrawn: bool


class AvailableCounters:
    """Available counters by pool, computed on demand; valid until the devices in use change."""

    def __init__(self, in_use: DevicesInUse) -> None:
        self._in_use = in_use
        self._by_pool: dict[PoolId, Available] = {}

    def count_by(self, in_use: DevicesInUse) -> None:
        """Replace the devices in use by an equal copy."""
        self._in_use = in_use

    def available_in(self, pool: DevicePool) -> Available:
        known = self._by_pool.get(pool.id)
        if known is None:
            known = self._by_pool[pool.id] = self._work_out(pool)
        return known

    def _work_out(self, pool: DevicePool) -> Available:
        left = dict(pool.counters)
        for device in (*pool.devices, *pool.devices_elsewhere):
            if device.consumes and self._in_use.is_allocated(device.id):
                for counter, amount in device.consumes.items():
                    left[counter] -= amount
        return Available(left, any(amount < 0 for amount in left.values()))


class ConsumedCounters:
    """The counters consumed by the devices that one search has chosen so far."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._taken: dict[tuple[PoolId, CounterId], int] = {}

    def suffice_for(self, device: PublishedDevice, pool: DevicePool) -> bool:
        available = self._available.available_in(pool)
        if available.is_overdrawn:
            return False
        taken, left = self._taken, available.left
        return all(
            taken.get((pool.id, counter), 0) + amount <= left[counter] for counter, amount in device.consumes.items()
        )

    def take(self, device: PublishedDevice, pool: DevicePool) -> None:
        self._change(device, pool, 1)

    def give_back(self, device: PublishedDevice, pool: DevicePool) -> None:
        self._change(device, pool, -1)

    def _change(self, device: PublishedDevice, pool: DevicePool, sign: int) -> None:
        for counter, amount in device.consumes.items():
            key = (pool.id, counter)
            self._taken[key] = self._taken.get(key, 0) + sign * amount
