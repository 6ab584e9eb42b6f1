# SPDX-License-Identifier: Apache-2.0
"""The search for devices on one node: depth first by claim, request and device.

Candidates are tried in order, with backtracking if the rest cannot be allocated. Within a request
only combinations are tried, not permutations. Like upstream, the first solution is taken, since it
decides what remains for later pods.

There may be very many combinations. So the search is a generator: it pauses when its `Pace` says
so, and the caller resumes or drops it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final

import msgspec

from steersman.api import Quantity
from steersman.scheduler.plugins.dynamic_resources.allocation.limits import (
    AllocationFault,
    Features,
    NodeFault,
    Pace,
    run_to_end,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.pools import DevicePool, NodeDevices
from steersman.scheduler.plugins.dynamic_resources.allocation.requests import (
    MAX_DEVICES,
    DeviceRequirement,
    PreparedClaim,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.resource_slices import DeviceId, PublishedDevice, nanos
from steersman.scheduler.plugins.dynamic_resources.allocation.suitability import (
    Selectors,
    are_tolerated,
    consumed_capacity,
    has_capacity,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.usage import (
    AvailableCounters,
    ConsumedCounters,
    DevicesInUse,
)

Candidate = tuple[PublishedDevice, DevicePool]

_NOTHING: dict[str, int] = {}


class FoundDevice(msgspec.Struct, frozen=True, eq=False):
    """A device chosen for a request, and the data to undo the choice."""

    request: DeviceRequirement
    device: PublishedDevice
    pool: DevicePool
    #: The capacity that a share of the device consumes; None if the device is not shared.
    consumed: dict[str, Quantity] | None
    took_counters: bool
    #: Whether the search had already allocated another share of it.
    was_shared: bool


class Supply:
    """State shared by the searches of one cycle. `clock` limits the evaluation of expressions."""

    __slots__ = ("counters", "features", "in_use", "selectors")

    def __init__(self, in_use: DevicesInUse, features: Features, clock: Callable[[], float] | None = None) -> None:
        self.in_use = in_use
        self.counters = AvailableCounters(in_use)
        self.features = features
        self.selectors = Selectors(features.list_attributes, clock)

    def freeze(self) -> None:
        """Copy the devices in use, for a search that continues after the cycle."""
        self.in_use = self.in_use.copy()
        self.counters.count_by(self.in_use)


class _TooManyDevices(Exception):
    """More devices than an allocation can have."""


Found = list[list[FoundDevice]]
"""The devices for each claim."""
_Steps = Generator[None, None, bool]
"""A part of the search: yields to pause, and returns whether it succeeded."""

_CHECK_EVERY: Final = 32
"""Number of candidates between two checks of the pace."""


def find_devices(
    claims: Sequence[PreparedClaim], node: NodeDevices, supply: Supply, pace: Pace | None = None
) -> Found | None:
    """Return the devices for each claim, or None if the node lacks them. Does not pause.

    Raises AllocationFault for the claims, NodeFault for the node's devices, OutOfTime for the pace.
    """
    return run_to_end(find_devices_in_steps(claims, node, supply, pace))


def find_devices_in_steps(
    claims: Sequence[PreparedClaim], node: NodeDevices, supply: Supply, pace: Pace | None = None
) -> Generator[None, None, Found | None]:
    """Search like `find_devices`, but pause when the pace says so."""
    try:
        found = yield from Search(claims, node, supply, pace).run()
    except _TooManyDevices:
        raise AllocationFault("allocation max size exceeded") from None
    if found is None and node.has_invalid_pools:
        raise NodeFault("invalid resource pools were encountered")
    return found


class Search:
    """One search. `_found` has the current choices; all other attributes are consistent with it."""

    def __init__(self, claims: Sequence[PreparedClaim], node: NodeDevices, supply: Supply, pace: Pace | None) -> None:
        self._claims = claims
        self._node = node
        self._supply = supply
        self._features = supply.features
        self._selectors = supply.selectors
        self._pace = pace
        #: Candidates since the last check of the pace.
        self._unpaced = 0
        self._found: list[list[FoundDevice]] = [[] for _ in claims]
        self._constraints = [claim.constraints(supply.features) for claim in claims]
        self._counters = ConsumedCounters(supply.counters)
        #: The claims, by position, to which a device is exclusively allocated.
        self._allocating: dict[DeviceId, set[int]] = {}
        #: The capacity taken from shared devices, in billionths.
        self._sharing: dict[DeviceId, dict[str, int]] = {}
        #: The matching devices of requests for all devices.
        self._all: dict[DeviceRequirement, list[Candidate]] = {}

    def run(self) -> Generator[None, None, Found | None]:
        for claim in self._claims:
            yield from self._find_all_devices(claim)
        done = yield from self._claim(0)
        return self._found if done else None

    def _is_time_to_pause(self) -> bool:
        self._unpaced = 0
        return self._pace is not None and self._pace.is_time_to_pause()

    def _is_pace_check_due(self, evaluations: int) -> bool:
        """Return whether to check the pace; expressions may take milliseconds."""
        self._unpaced += 1
        return self._unpaced >= _CHECK_EVERY or self._selectors.evaluations != evaluations

    # -- requests for all devices ------------------------------------------------------------------------------------

    def _find_all_devices(self, claim: PreparedClaim) -> Generator[None, None, None]:
        """Find the devices of "all" requests. Raise `AllocationFault` for too large claims."""
        least = 0
        for alternatives in claim.requests:
            for request in alternatives:
                if request.wants_all:
                    self._all[request] = yield from self._all_devices(request)
            least += min(map(self._count, alternatives))
        if least > MAX_DEVICES:
            raise AllocationFault(
                f"claim {claim.key}: number of requested devices {least} exceeds the claim limit of {MAX_DEVICES}"
            )

    def _all_devices(self, request: DeviceRequirement) -> Generator[None, None, list[Candidate]]:
        found: list[Candidate] = []
        for pool in self._node.pools:
            if not pool.is_usable:
                state = "being updated" if pool.is_incomplete else "invalid"
                asks = f"claim {request.claim}, request {request.name}: asks for all devices"
                raise AllocationFault(f"{asks}, but resource pool {pool.text} is currently {state}")
            for device in pool.devices:
                evaluations = self._selectors.evaluations
                if self._is_suitable(device, request) and self._has_room(device, request):
                    found.append((device, pool))
                if self._is_pace_check_due(evaluations) and self._is_time_to_pause():
                    yield
        return found

    def _count(self, request: DeviceRequirement) -> int:
        return len(self._all[request]) if request.wants_all else request.count

    # -- backtracking ------------------------------------------------------------------------------------------------

    def _claim(self, index: int) -> _Steps:
        return True if index >= len(self._claims) else (yield from self._request(index, 0))

    def _request(self, claim: int, index: int) -> _Steps:
        """Search for this request and everything after it."""
        requests = self._claims[claim].requests
        if index >= len(requests):
            try:
                return (yield from self._claim(claim + 1))
            except _TooManyDevices:
                # With other devices here, the next claim may get a smaller subrequest.
                return False
        alternatives = requests[index]
        if not alternatives[0].parent:
            return (yield from self._devices(claim, index, alternatives[0], 0, 0))
        return (yield from self._first_of(claim, index, alternatives))

    def _first_of(self, claim: int, index: int, alternatives: Sequence[DeviceRequirement]) -> _Steps:
        all_too_many = True
        for request in alternatives:
            try:
                if (yield from self._devices(claim, index, request, 0, 0)):
                    return True
            except _TooManyDevices:
                continue
            all_too_many = False
        if all_too_many:
            raise _TooManyDevices
        return False

    def _devices(self, claim: int, index: int, request: DeviceRequirement, nth: int, start: int) -> _Steps:
        """Search for the nth device of the request from candidate `start` on, and for the rest."""
        if self._is_time_to_pause():
            yield
        count = self._count(request)
        if request.wants_all and not count:
            return False
        if nth >= count:
            return (yield from self._request(claim, index + 1))
        if len(self._found[claim]) + count - nth > MAX_DEVICES:
            raise _TooManyDevices
        if request.wants_all:
            device, pool = self._all[request][nth]
            return (yield from self._try(claim, index, request, nth, device, pool, 0))
        candidates = self._node.candidates
        for position in range(start, len(candidates)):
            device, pool = candidates[position]
            evaluations = self._selectors.evaluations
            if (
                self._is_free(claim, request, device)
                and self._is_suitable(device, request)
                and self._has_room(device, request)
                and (yield from self._try(claim, index, request, nth, device, pool, position + 1))
            ):
                return True
            if self._is_pace_check_due(evaluations) and self._is_time_to_pause():
                yield
        return False

    def _try(
        self,
        claim: int,
        index: int,
        request: DeviceRequirement,
        nth: int,
        device: PublishedDevice,
        pool: DevicePool,
        after: int,
    ) -> _Steps:
        """Continue the search with this device as the nth of the request."""
        if not self._take(claim, request, device, pool):
            return False
        done = False
        try:
            done = yield from self._devices(claim, index, request, nth + 1, after)
        finally:
            if not done:
                self._give_back(claim)
        return done

    # -- one device --------------------------------------------------------------------------------------------------

    def _is_free(self, claim: int, request: DeviceRequirement, device: PublishedDevice) -> bool:
        """Return whether the device is free or, for admin access, not yet in this claim."""
        allocating = self._allocating.get(device.id)
        if request.admin_access:
            return not allocating or claim not in allocating
        return not allocating and device.id not in self._supply.in_use.devices

    def _is_suitable(self, device: PublishedDevice, request: DeviceRequirement) -> bool:
        if device.device.binding_conditions and not self._features.binding_conditions:
            return False
        if not self._selectors.select(device, request):
            return False
        return device.reach is None or device.reach.includes(self._node.node)

    def _has_room(self, device: PublishedDevice, request: DeviceRequirement) -> bool:
        if not self._features.consumable_capacity:
            return True
        allocated = self._supply.in_use.capacity.get(device.id, _NOTHING)
        return has_capacity(
            device.device,
            request.capacity,
            allocated,
            self._sharing.get(device.id, _NOTHING),
            self._features.fractional_ranges,
        )

    def _take(self, claim: int, request: DeviceRequirement, device: PublishedDevice, pool: DevicePool) -> bool:
        """Choose the device if possible. Constraints are checked after cheaper conditions, since
        removing a device does not always restore their state exactly."""
        is_shared = device.is_shared and self._features.consumable_capacity
        if not (is_shared and request.admin_access) and not self._is_free(claim, request, device):
            return False
        if device.consumes and not self._features.partitionable_devices:
            return False
        was_shared = is_shared and (device.id in self._supply.in_use.capacity or device.id in self._sharing)
        counts = bool(device.consumes) and not was_shared
        if counts and not self._counters.suffice_for(device, pool):
            return False
        if device.taints and self._features.device_taints and not are_tolerated(device.taints, request.tolerations):
            return False
        if not self._meets_constraints(claim, request, device):
            return False
        if request.wants_all and not self._has_room(device, request):
            self._leave_constraints(claim, request, len(self._constraints[claim]))
            return False
        share = self._share(device, request) if is_shared else None
        self._commit(claim, FoundDevice(request, device, pool, share, counts, device.id in self._sharing))
        return True

    def _share(self, device: PublishedDevice, request: DeviceRequirement) -> dict[str, Quantity]:
        return consumed_capacity(device.device, request.capacity, self._features.fractional_ranges)

    def _meets_constraints(self, claim: int, request: DeviceRequirement, device: PublishedDevice) -> bool:
        for met, constraint in enumerate(self._constraints[claim]):
            if constraint.add(request.base_name, request.full_name, device):
                continue
            self._leave_constraints(claim, request, met)
            if request.wants_all:
                why = f"cannot add device {device.text} because a claim constraint would not be satisfied"
                raise AllocationFault(f"claim {request.claim}, request {request.name}: {why}")
            return False
        return True

    def _leave_constraints(self, claim: int, request: DeviceRequirement, count: int) -> None:
        for constraint in reversed(self._constraints[claim][:count]):
            constraint.remove(request.base_name, request.full_name)

    def _commit(self, claim: int, found: FoundDevice) -> None:
        device = found.device
        if found.took_counters:
            self._counters.take(device, found.pool)
        if found.consumed is None:
            self._allocating.setdefault(device.id, set()).add(claim)
        else:
            sharing = self._sharing.setdefault(device.id, {})
            for name, amount in found.consumed.items():
                sharing[name] = sharing.get(name, 0) + nanos(amount)
        self._found[claim].append(found)

    def _give_back(self, claim: int) -> None:
        """Undo the last choice of a device for the claim."""
        found = self._found[claim].pop()
        device = found.device
        if found.consumed is None:
            self._allocating[device.id].discard(claim)
        else:
            self._stop_sharing(found, found.consumed)
        self._leave_constraints(claim, found.request, len(self._constraints[claim]))
        if found.took_counters:
            self._counters.give_back(device, found.pool)

    def _stop_sharing(self, found: FoundDevice, consumed: dict[str, Quantity]) -> None:
        sharing = self._sharing[found.device.id]
        for name, amount in consumed.items():
            sharing[name] -= nanos(amount)
        if not found.was_shared:
            del self._sharing[found.device.id]
