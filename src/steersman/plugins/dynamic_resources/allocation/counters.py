# SPDX-License-Identifier: Apache-2.0
"""Shared counters of a pool: partitions of one piece of hardware exclude each other by what they take of them."""

from __future__ import annotations

from dataclasses import dataclass

from steersman.plugins.dynamic_resources.allocation.devices import CounterId, PoolId, PublishedDevice
from steersman.plugins.dynamic_resources.allocation.pools import Pool
from steersman.plugins.dynamic_resources.allocation.usage import DevicesInUse


@dataclass(frozen=True, slots=True)
class Available:
    """What the allocated devices of a pool leave, in billionths."""

    left: dict[CounterId, int]
    #: More is taken of some counter than there is: then nothing that counts can be had.
    is_overdrawn: bool


class AvailableCounters:
    """By pool, worked out when first asked for; valid as long as no device is allocated or given back."""

    def __init__(self, in_use: DevicesInUse) -> None:
        self._in_use = in_use
        self._by_pool: dict[PoolId, Available] = {}

    def count_by(self, in_use: DevicesInUse) -> None:
        """From now on by these, which are equal."""
        self._in_use = in_use

    def of(self, pool: Pool) -> Available:
        known = self._by_pool.get(pool.id)
        if known is None:
            known = self._by_pool[pool.id] = self._work_out(pool)
        return known

    def _work_out(self, pool: Pool) -> Available:
        left = dict(pool.counters)
        for device in (*pool.devices, *pool.devices_elsewhere):
            if device.consumes and self._in_use.is_allocated(device.id):
                for counter, amount in device.consumes.items():
                    left[counter] -= amount
        return Available(left, any(amount < 0 for amount in left.values()))


class CountersTaken:
    """What the devices take that one search has chosen so far."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._taken: dict[tuple[PoolId, CounterId], int] = {}

    def suffice_for(self, device: PublishedDevice, pool: Pool) -> bool:
        available = self._available.of(pool)
        if available.is_overdrawn:
            return False
        taken, left = self._taken, available.left
        return all(
            taken.get((pool.id, counter), 0) + amount <= left[counter] for counter, amount in device.consumes.items()
        )

    def take(self, device: PublishedDevice, pool: Pool) -> None:
        self._change(device, pool, 1)

    def give_back(self, device: PublishedDevice, pool: Pool) -> None:
        self._change(device, pool, -1)

    def _change(self, device: PublishedDevice, pool: Pool, sign: int) -> None:
        for counter, amount in device.consumes.items():
            key = (pool.id, counter)
            self._taken[key] = self._taken.get(key, 0) + sign * amount
