# SPDX-License-Identifier: Apache-2.0
"""Which devices are allocated, and how much of those that are shared: the sum of the allocations of all claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steersman.api import AllocationResult, DeviceRequestAllocationResult
from steersman.plugins.dynamic_resources.allocation.devices import DeviceId, PoolId, nanos

#: So many changes, at least, a reader may lag behind.
HISTORY = 1 << 12


class UseChange(NamedTuple):
    """A device was taken or given back, or a share of it."""

    device: DeviceId
    is_taken: bool
    is_share: bool

    @property
    def pool(self) -> PoolId:
        return self.device[:2]


class DevicesInUse:
    """Allocations come and go. `consumable` says whether devices can be shared at all (gate DRAConsumableCapacity)."""

    def __init__(self, consumable: bool = True) -> None:
        self._consumable = consumable
        #: Devices that somebody has for himself, with the number of claims that say so.
        self.devices: dict[DeviceId, int] = {}
        #: Shares that were given of a device.
        self.shares: dict[DeviceId, int] = {}
        #: What the shares take, in billionths; no device without.
        self.capacity: dict[DeviceId, dict[str, int]] = {}
        #: In order; the oldest are dropped.
        self._log: list[UseChange] = []
        self._dropped = 0

    def add(self, allocation: AllocationResult) -> None:
        for result in allocation.devices.results:
            self._count(result, 1)

    def remove(self, allocation: AllocationResult) -> None:
        for result in allocation.devices.results:
            self._count(result, -1)

    def copy(self) -> DevicesInUse:
        """As they are now, whatever comes and goes later."""
        copied = DevicesInUse(self._consumable)
        copied.devices, copied.shares = dict(self.devices), dict(self.shares)
        copied.capacity = {device: dict(taken) for device, taken in self.capacity.items()}
        copied._dropped = self.version
        return copied

    @property
    def version(self) -> int:
        """Grows with every device that is taken or given back."""
        return self._dropped + len(self._log)

    def changes_since(self, version: int) -> Sequence[UseChange] | None:
        """None: that is too long ago to tell."""
        return None if version < self._dropped else self._log[version - self._dropped :]

    def is_allocated(self, device: DeviceId) -> bool:
        return device in self.devices or device in self.shares or device in self.capacity

    def _count(self, result: DeviceRequestAllocationResult, sign: int) -> None:
        if result.admin_access:
            return
        device = (result.driver, result.pool, result.device)
        if self._consumable and result.share_id is not None:
            _change(self.shares, device, sign)
            self._note(UseChange(device, sign > 0, is_share=True))
            if result.consumed_capacity:
                self._take(device, {name: sign * nanos(q) for name, q in result.consumed_capacity.items()})
        else:
            was_taken = device in self.devices
            _change(self.devices, device, sign)
            if was_taken is not (device in self.devices):
                self._note(UseChange(device, not was_taken, is_share=False))

    def _note(self, change: UseChange) -> None:
        self._log.append(change)
        if len(self._log) > 2 * HISTORY:
            del self._log[:HISTORY]
            self._dropped += HISTORY

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
