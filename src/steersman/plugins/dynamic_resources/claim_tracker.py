# SPDX-License-Identifier: Apache-2.0
"""ResourceClaims as the scheduler believes them to be, and the devices that are taken by them.

On top of what the API server last showed come claims that were just written (*assumed*, until the watch shows them) and
allocations that are decided but not written yet (*pending*: Reserve makes them, PreBind or Unreserve ends them). All
profiles of a scheduler share one tracker, since they share the devices.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

from steersman import api
from steersman.api.meta import version_number
from steersman.framework.handle import Objects
from steersman.kept import Kept
from steersman.plugins.dynamic_resources import extended_resources
from steersman.plugins.dynamic_resources.allocation import DevicesInUse

DEVICES_IN_USE = Kept(
    name="devices in use",
    attributes=(
        "ClaimTracker._in_use",
        "ClaimTracker._counted",
        "ClaimTracker._made",
        "ClaimTracker._owners",
        "ClaimTracker._version",
    ),
    holds="the devices that claims have, those of allocations under way included",
    key="claim; device",
    stamps="position in the log of changed ResourceClaims, and claims assumed since: those are counted again",
    bound="claims that there are",
    twin="the allocations of all claims, added up",
    held_equal="tests/plugins/dynamic_resources/test_claim_tracker.py",
    is_inline=True,
)


class ClaimTracker:
    """The claims of all objects of one store, with the devices that they take."""

    def __init__(self, objects: Objects, consumable: bool) -> None:
        self._objects = objects
        self._consumable = consumable
        self._assumed: dict[str, api.ResourceClaim] = {}
        self._pending: dict[str, api.AllocationResult] = {}
        self._in_use = DevicesInUse(consumable)
        #: By claim, the allocation that is part of `_in_use`.
        self._counted: dict[str, api.AllocationResult] = {}
        #: Claims for extended resources: their keys by the uid of the pod, and the other way round.
        self._made: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        self._version: int | None = None
        #: Claims that were assumed or restored since the tracker was brought up to date.
        self._touched: set[str] = set()

    # -- claims ------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> api.ResourceClaim | None:
        shown = self._objects.get(api.ResourceClaim, key)
        assumed = self._assumed.get(key)
        if assumed is None or shown is None:
            return shown
        return shown if _version(shown) > _version(assumed) else assumed

    def made_for(self, pod: api.Pod) -> api.ResourceClaim | None:
        """The claim that an earlier attempt made for the pod's extended resources."""
        self._catch_up()
        key = self._made.get(pod.metadata.uid)
        return None if key is None else self.get(key)

    def assume(self, claim: api.ResourceClaim) -> bool:
        """Believes in what the API server answered. False: the watch has not shown the claim yet, or something newer."""
        key = api.key(claim)
        shown = self._objects.get(api.ResourceClaim, key)
        if shown is None or _version(shown) > _version(claim):
            return False
        self._assumed[key] = claim
        self._touched.add(key)
        return True

    def restore(self, key: str) -> None:
        """Back to what the API server last showed."""
        if self._assumed.pop(key, None) is not None:
            self._touched.add(key)

    # -- allocations under way ---------------------------------------------------------------------------------------

    def pending(self, uid: str) -> api.AllocationResult | None:
        return self._pending.get(uid)

    def signal(self, uid: str, allocation: api.AllocationResult) -> None:
        """The claim's devices are taken from now on."""
        if uid not in self._pending:
            self._pending[uid] = allocation
            self._in_use.add(allocation)

    def release(self, uid: str) -> bool:
        """The allocation is written, or given up. False: there was none. Where it is written, the devices are not free
        for a moment in between."""
        self._catch_up()
        allocation = self._pending.pop(uid, None)
        if allocation is not None:
            self._in_use.remove(allocation)
        return allocation is not None

    # -- devices -----------------------------------------------------------------------------------------------------

    def in_use(self) -> DevicesInUse:
        """The devices in use as of now, which change with the next claim that does."""
        self._catch_up()
        return self._in_use

    def _catch_up(self) -> None:
        version = self._objects.version(api.ResourceClaim)
        if version != self._version or self._touched:
            for key in self._changed():
                self._count(key)
                self._note_owner(key)
            self._version = version
            self._touched.clear()

    def _changed(self) -> set[str]:
        known = None if self._version is None else self._objects.changed_since(api.ResourceClaim, self._version)
        if known is None:
            known = {*self._counted, *self._owners, *map(api.key, self._objects.list(api.ResourceClaim))}
        return {*known, *self._touched}

    def _count(self, key: str) -> None:
        self._forget_confirmed(key)
        claim, counted = self.get(key), self._counted.pop(key, None)
        allocation = None if claim is None else claim.status.allocation
        if allocation is not None and counted is not None and allocation.devices == counted.devices:
            self._counted[key] = counted
            return
        if counted is not None:
            self._in_use.remove(counted)
        if allocation is not None:
            self._in_use.add(allocation)
            self._counted[key] = allocation

    def _note_owner(self, key: str) -> None:
        claim, known = self.get(key), self._owners.pop(key, None)
        if known is not None and self._made.get(known) == key:
            del self._made[known]
        owner = None if claim is None else extended_resources.owner_of(claim)
        if owner is not None:
            self._owners[key] = owner
            self._made[owner] = key

    def _forget_confirmed(self, key: str) -> None:
        """Drops an assumed claim that the watch has shown by now."""
        shown, assumed = self._objects.get(api.ResourceClaim, key), self._assumed.get(key)
        if assumed is not None and (shown is None or _version(shown) >= _version(assumed)):
            del self._assumed[key]


#: By the id of the objects, which a tracker refers to: as long as it is here, nothing else has that id.
_trackers: WeakValueDictionary[int, ClaimTracker] = WeakValueDictionary()


def claim_tracker_of(objects: Objects, consumable: bool) -> ClaimTracker:
    """The one tracker of everybody who sees these objects."""
    known = _trackers.get(id(objects))
    if known is None:
        known = _trackers[id(objects)] = ClaimTracker(objects, consumable)
    return known


def _version(claim: api.ResourceClaim) -> int:
    return version_number(claim.metadata.resource_version)
