# SPDX-License-Identifier: Apache-2.0
"""Bounds of an allocation: the enabled features, the errors that end it, and its time limit.

The lowest module of the package: all other modules may raise its errors and read its features.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, TypeVar

import msgspec

from steersman.config import Rule
from steersman.framework import Gates

T = TypeVar("T")

#: Off by default. With one of them on, devices could be given to pods that must not have them.
UNKNOWN_GATES: Final = ("DRANodeAllocatableResources",)


class Features(msgspec.Struct, frozen=True):
    """The enabled parts of dynamic resource allocation, read once from the feature gates."""

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    #: DeviceTaintRules add taints to devices.
    device_taint_rules: bool = False
    consumable_capacity: bool = True
    #: Steps of capacity may be fractions.
    fractional_ranges: bool = False
    extended_resources: bool = True
    #: Devices may have to be prepared before a pod is bound.
    binding_conditions: bool = True
    #: Attributes may be lists, which constraints compare as sets.
    list_attributes: bool = False
    #: A distinct attribute differs between devices of one request, too.
    distinct_within_requests: bool = False
    #: The search for devices on a node has a time limit.
    filter_timeout: bool = True
    #: A configuration is allocated once, and names no requests if it applies to all.
    config_of_all_requests: bool = False
    #: Claims may belong to a pod group, and be reserved for it.
    workload_claims: bool = False
    #: An enabled gate whose changes are not implemented here, or "".
    unknown_gate: str = ""

    @classmethod
    def from_gates(cls, gates: Gates) -> Features:
        return cls(
            admin_access=gates.enabled("DRAAdminAccess"),
            prioritized_list=gates.enabled("DRAPrioritizedList"),
            partitionable_devices=gates.enabled("DRAPartitionableDevices"),
            device_taints=gates.enabled("DRADeviceTaints"),
            device_taint_rules=has_device_taint_rules(gates),
            consumable_capacity=gates.enabled("DRAConsumableCapacity"),
            fractional_ranges=gates.enabled("DRAFractionalCapacityRange"),
            extended_resources=gates.enabled("DRAExtendedResource"),
            binding_conditions=gates.enabled("DRADeviceBindingConditions")
            and gates.enabled("DRAResourceClaimDeviceStatus"),
            list_attributes=gates.enabled("DRAListTypeAttributes"),
            distinct_within_requests=gates.has_rule(Rule.DISTINCT_WITHIN_REQUESTS),
            filter_timeout=gates.enabled("DRASchedulerFilterTimeout"),
            config_of_all_requests=gates.has_rule(Rule.CONFIG_OF_ALL_REQUESTS),
            workload_claims=gates.enabled("DRAWorkloadResourceClaims"),
            unknown_gate=_unknown_gate(gates),
        )


def has_device_taint_rules(gates: Gates) -> bool:
    """Return whether DeviceTaintRules add taints: the gate is on and the version has API v1."""
    return gates.enabled("DRADeviceTaintRules") and gates.has_rule(Rule.DEVICE_TAINT_RULES_V1)


def _unknown_gate(gates: Gates) -> str:
    if gates.enabled("DRADeviceTaintRules") and not has_device_taint_rules(gates):
        return "DRADeviceTaintRules"
    return next(filter(gates.enabled, UNKNOWN_GATES), "")


# -- errors ------------------------------------------------------------------------------------------------------------


class AllocationFault(Exception):
    """An invalid claim or class, or a failed expression, with upstream's message. Ends the
    attempt."""


class NodeFault(Exception):
    """Invalid devices of one node, which rejects this node only."""


class OutOfTime(Exception):
    """The search for devices on one node exceeded its time limit."""


# -- time limits -------------------------------------------------------------------------------------------------------


class Pace:
    """Time limit and pauses of one search, which polls it. Pauses do not count as search time."""

    __slots__ = ("_clock", "_limit", "_pause_at", "_resumed", "_used")

    def __init__(self, clock: Callable[[], float], limit: float | None = None) -> None:
        self._clock = clock
        self._limit = limit
        self._used = 0.0
        self._resumed = clock()
        self._pause_at: float | None = None

    def resume(self, seconds: float | None) -> None:
        """Start or continue the search, up to a pause after `seconds`; without a pause if None."""
        self._resumed = self._clock()
        self._pause_at = None if seconds is None else self._resumed + seconds

    def is_time_to_pause(self) -> bool:
        """Return whether to pause; raise `OutOfTime` if the search time exceeds the limit."""
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
    """Run a generator without pauses and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
