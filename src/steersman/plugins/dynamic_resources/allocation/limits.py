# SPDX-License-Identifier: Apache-2.0
"""Bounds of a search for devices: the features that are on, the faults that end it, and the time that it may take.

The lowest module of the package: everything else here may raise its faults and ask for its features.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, TypeVar

import msgspec

from steersman.framework.handle import Gates

T = TypeVar("T")

#: Off by default. With one of them on, devices would be given to pods that must not have them.
UNKNOWN_GATES: Final = ("DRADeviceTaintRules", "DRANodeAllocatableResources", "DRAWorkloadResourceClaims")


class Features(msgspec.Struct, frozen=True):
    """The parts of dynamic resource allocation that are on: the feature gates, read once."""

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    consumable_capacity: bool = True
    extended_resources: bool = True
    #: Devices may have to be made ready before a pod is bound.
    binding_conditions: bool = True
    #: Attributes may have several values; expressions can look at them, constraints do not.
    list_attributes: bool = False
    #: The search for devices on a node may take only so long.
    filter_timeout: bool = True
    #: A gate that is on although what it changes is not known here; "": none.
    unknown_gate: str = ""

    @classmethod
    def of(cls, gates: Gates) -> Features:
        return cls(
            admin_access=gates.enabled("DRAAdminAccess"),
            prioritized_list=gates.enabled("DRAPrioritizedList"),
            partitionable_devices=gates.enabled("DRAPartitionableDevices"),
            device_taints=gates.enabled("DRADeviceTaints"),
            consumable_capacity=gates.enabled("DRAConsumableCapacity"),
            extended_resources=gates.enabled("DRAExtendedResource"),
            binding_conditions=gates.enabled("DRADeviceBindingConditions")
            and gates.enabled("DRAResourceClaimDeviceStatus"),
            list_attributes=gates.enabled("DRAListTypeAttributes"),
            filter_timeout=gates.enabled("DRASchedulerFilterTimeout"),
            unknown_gate=next(filter(gates.enabled, UNKNOWN_GATES), ""),
        )


# -- faults ------------------------------------------------------------------------------------------------------------


class AllocationFault(Exception):
    """A claim or class cannot be understood, or its devices cannot be told: the whole attempt ends. The text is upstream's."""


class NodeFault(Exception):
    """The devices of one node are published in a way that cannot be right: other nodes may do."""


class OutOfTime(Exception):
    """The search for devices on one node takes longer than it may."""


# -- time --------------------------------------------------------------------------------------------------------------


class Pace:
    """The pace of one search, which asks again and again. Seconds are those in which the search runs: pauses do not count."""

    __slots__ = ("_clock", "_limit", "_pause_at", "_resumed", "_used")

    def __init__(self, clock: Callable[[], float], limit: float | None = None) -> None:
        self._clock = clock
        self._limit = limit
        self._used = 0.0
        self._resumed = clock()
        self._pause_at: float | None = None

    def resume(self, seconds: float | None) -> None:
        """The search goes on, up to a pause in so many seconds; None: without one."""
        self._resumed = self._clock()
        self._pause_at = None if seconds is None else self._resumed + seconds

    def is_time_to_pause(self) -> bool:
        """OutOfTime when the search has been running for too long."""
        if self._limit is None and self._pause_at is None:
            return False
        now = self._clock()
        if self._limit is not None and self._used + now - self._resumed > self._limit:
            raise OutOfTime
        if self._pause_at is None or now <= self._pause_at:
            return False
        self._used += now - self._resumed
        return True


def run_to_end(steps: Generator[None, None, T]) -> T:
    """Runs a generator without pauses, and returns what it comes to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
