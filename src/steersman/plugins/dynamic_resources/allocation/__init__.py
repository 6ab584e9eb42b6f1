# SPDX-License-Identifier: Apache-2.0
"""The structured allocator: which devices a pod's claims get on a node. No I/O, and nothing of the plugin.

    ResourceSlices ─► PublishedDevices ─► NodeDevices ─┐
    ResourceClaims ─► prepare ─► PreparedClaim ────────┼─► find_devices ─► FoundDevice ─► allocation_of
    allocations of other claims ─► DevicesInUse ───────┘

`published`, `slices`, `pools`, `devices`, `reach` are the supply; `requests`, `selectors`, `constraints`, `capacity`,
`taints`, `counters` say what may be chosen; `search` chooses; `results` writes it down.
"""

from steersman.plugins.dynamic_resources.allocation.counters import AvailableCounters
from steersman.plugins.dynamic_resources.allocation.devices import DeviceId
from steersman.plugins.dynamic_resources.allocation.faults import AllocationFault, NodeFault, OutOfTime
from steersman.plugins.dynamic_resources.allocation.features import Features
from steersman.plugins.dynamic_resources.allocation.pace import Pace
from steersman.plugins.dynamic_resources.allocation.published import NodeDevices, PublishedDevices
from steersman.plugins.dynamic_resources.allocation.requests import PreparedClaim, Request, prepare
from steersman.plugins.dynamic_resources.allocation.results import allocation_of
from steersman.plugins.dynamic_resources.allocation.search import (
    FoundDevice,
    Supply,
    find_devices,
    find_devices_in_steps,
    run_to_end,
)
from steersman.plugins.dynamic_resources.allocation.selectors import Selectors
from steersman.plugins.dynamic_resources.allocation.totals import DeviceTotals
from steersman.plugins.dynamic_resources.allocation.usage import DevicesInUse, UseChange

__all__ = [
    "AllocationFault",
    "AvailableCounters",
    "DeviceId",
    "DeviceTotals",
    "DevicesInUse",
    "Features",
    "FoundDevice",
    "NodeDevices",
    "NodeFault",
    "OutOfTime",
    "Pace",
    "PreparedClaim",
    "PublishedDevices",
    "Request",
    "Selectors",
    "Supply",
    "UseChange",
    "allocation_of",
    "find_devices",
    "find_devices_in_steps",
    "prepare",
    "run_to_end",
]
