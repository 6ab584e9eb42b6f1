# SPDX-License-Identifier: Apache-2.0
"""The structured allocator: finds devices for a pod's claims on a node. No I/O, no plugin code.

    ResourceSlices ─► PublishedDevices ─► NodeDevices ─┐
    ResourceClaims ─► prepare ─► PreparedClaim ────────┼─► find_devices ─► FoundDevice ─► allocation_of
    allocations of other claims ─► DevicesInUse ───────┘

Reading order: `limits` bounds everything; `resource_slices` and `pools` are the supply, `usage` the
part in use; `requests` prepares claims, `suitability` matches devices, `search` allocates, and
`results` creates the result.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "limits": "AllocationFault Features NodeFault OutOfTime Pace run_to_end",
        "pools": "NodeDevices PublishedDevices",
        "requests": "DeviceRequirement PreparedClaim expressions_of prepare",
        "resource_slices": "DeviceId DeviceTraitsCache PublishedDevice PublishedSlice",
        "results": "allocation_of",
        "search": "FoundDevice Supply find_devices find_devices_in_steps",
        "suitability": "Selectors",
        "usage": "AvailableCounters DevicesInUse UseChange",
    },
)
