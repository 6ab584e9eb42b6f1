# SPDX-License-Identifier: Apache-2.0
"""The structured allocator: finds devices for a pod's claims on a node. No I/O, no plugin code.

    ResourceSlices ─► PublishedDevices ─► NodeDevices ─┐
    ResourceClaims ─► prepare ─► PreparedClaim ────────┼─► find_devices ─► FoundDevice ─► allocation_of
    allocations of other claims ─► DevicesInUse ───────┘

Reading order: `limits` bounds everything; `resource_slices` and `pools` are the supply, `usage` the
part in use; `requests` prepares claims, `suitability` matches devices, `search` allocates, and
`results` creates the result.
"""

from steersman.scheduler.plugins.dynamic_resources.allocation.limits import (
    AllocationFault,
    Features,
    NodeFault,
    OutOfTime,
    Pace,
    run_to_end,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.pools import NodeDevices, PublishedDevices
from steersman.scheduler.plugins.dynamic_resources.allocation.requests import (
    DeviceRequirement,
    PreparedClaim,
    expressions_of,
    prepare,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.resource_slices import (
    DeviceId,
    KnownTraits,
    PublishedDevice,
    PublishedSlice,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.results import allocation_of
from steersman.scheduler.plugins.dynamic_resources.allocation.search import (
    FoundDevice,
    Supply,
    find_devices,
    find_devices_in_steps,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.suitability import Selectors
from steersman.scheduler.plugins.dynamic_resources.allocation.usage import AvailableCounters, DevicesInUse, UseChange

__all__ = [
    "AllocationFault",
    "AvailableCounters",
    "DeviceId",
    "DeviceRequirement",
    "DevicesInUse",
    "Features",
    "FoundDevice",
    "KnownTraits",
    "NodeDevices",
    "NodeFault",
    "OutOfTime",
    "Pace",
    "PreparedClaim",
    "PublishedDevice",
    "PublishedDevices",
    "PublishedSlice",
    "Selectors",
    "Supply",
    "UseChange",
    "allocation_of",
    "expressions_of",
    "find_devices",
    "find_devices_in_steps",
    "prepare",
    "run_to_end",
]
