# SPDX-License-Identifier: Apache-2.0
"""Which parts of dynamic resource allocation are on: the feature gates, read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from steersman.framework.handle import Gates

#: Off by default. With one of them on, devices would be given to pods that must not have them.
UNKNOWN_GATES: Final = ("DRADeviceTaintRules", "DRANodeAllocatableResources", "DRAWorkloadResourceClaims")


@dataclass(frozen=True, slots=True)
class Features:
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
