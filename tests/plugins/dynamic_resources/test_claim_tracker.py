# SPDX-License-Identifier: Apache-2.0
"""The claim tracker keeps up with claims that come, change and go, and with those under way."""

from __future__ import annotations

from steersman import api
from steersman.scheduler.plugins.dynamic_resources import claim_tracker_of, extended_resources
from steersman.scheduler.plugins.dynamic_resources.claims import ClaimTracker
from steersman.scheduler.state.objects import HISTORY, ObjectStore
from steersman.testing import ResourceClaimBuilder, make_pod, make_resource_claim

D0 = ("gpu.example.com", "p", "d0")
D1 = ("gpu.example.com", "p", "d1")


def having(name: str, *devices: tuple[str, str, str], version: int = 1) -> ResourceClaimBuilder:
    claim = make_resource_claim(name).resource_version(version)
    return claim.allocated(*(("r", *device) for device in devices)) if devices else claim


def taken(tracker: ClaimTracker) -> set[tuple[str, str, str]]:
    return set(tracker.in_use().devices)


def test_allocations_that_the_server_shows_count() -> None:
    store = ObjectStore()
    tracker = ClaimTracker(store, consumable=True)
    store.put(having("a", D0).obj())
    assert taken(tracker) == {D0}
    store.put(having("b", D1).obj())
    assert taken(tracker) == {D0, D1}
    store.put(having("a", version=2).obj())
    assert taken(tracker) == {D1}
    store.remove(having("b", D1).obj())
    assert taken(tracker) == set()


def test_it_starts_over_when_it_has_missed_too_much() -> None:
    store = ObjectStore()
    tracker = ClaimTracker(store, consumable=True)
    store.put(having("gone", D0).obj())
    assert taken(tracker) == {D0}
    store.remove(having("gone").obj())
    for version in range(3 * HISTORY):
        store.put(having("busy", D1, version=version).obj())
    assert taken(tracker) == {D1}


def test_an_allocation_under_way_counts_until_it_is_released() -> None:
    store = ObjectStore()
    tracker = ClaimTracker(store, consumable=True)
    allocation = having("a", D0).obj().status.allocation
    assert allocation is not None
    claim = having("a").obj()
    uid = claim.metadata.uid
    tracker.signal(claim, allocation)
    assert (taken(tracker), tracker.pending(uid)) == ({D0}, allocation)
    assert tracker.release(uid)
    assert not tracker.release(uid)
    assert taken(tracker) == set()


def test_an_allocation_that_pods_share_is_released_with_the_last_of_them_or_when_it_was_written() -> None:
    tracker = ClaimTracker(ObjectStore(), consumable=True)
    claim, allocation = having("a").obj(), having("a", D0).obj().status.allocation
    assert allocation is not None
    for _ in range(2):
        tracker.signal(claim, allocation)
    assert not tracker.release(claim.metadata.uid)
    assert taken(tracker) == {D0}
    tracker.signal(claim, allocation)
    assert tracker.release(claim.metadata.uid, is_written=True)
    assert not tracker.release(claim.metadata.uid)
    assert taken(tracker) == set()


def test_a_claim_that_was_allocated_in_the_meantime_has_no_allocation_under_way() -> None:
    store = ObjectStore()
    tracker = ClaimTracker(store, consumable=True)
    store.put(having("a", D0).obj())
    allocation = having("a", D1).obj().status.allocation
    assert allocation is not None
    tracker.signal(having("a").obj(), allocation)
    assert tracker.pending(having("a").obj().metadata.uid) is None
    assert taken(tracker) == {D0}


def test_what_was_written_is_believed_until_something_newer_is_shown() -> None:
    store = ObjectStore()
    tracker = ClaimTracker(store, consumable=True)
    store.put(having("a", version=1).obj())
    written = having("a", D0, version=5).obj()
    assert tracker.assume(written)
    assert tracker.get("default/a") is written
    assert taken(tracker) == {D0}
    store.put(having("a", version=3).obj())  # on its way before the write
    assert (tracker.get("default/a"), taken(tracker)) == (written, {D0})
    store.put(having("a", version=6).obj())
    assert taken(tracker) == set()
    assert not tracker.assume(written)


def test_what_was_written_can_be_taken_back() -> None:
    store = ObjectStore()
    tracker = ClaimTracker(store, consumable=True)
    store.put(having("a", version=1).obj())
    tracker.assume(having("a", D0, version=2).obj())
    tracker.restore("default/a")
    assert taken(tracker) == set()


def test_a_claim_that_was_never_shown_is_not_assumed() -> None:
    assert not ClaimTracker(ObjectStore(), consumable=True).assume(having("a", D0).obj())


def test_devices_for_admins_are_not_taken() -> None:
    store = ObjectStore()
    tracker = ClaimTracker(store, consumable=True)
    result = api.DeviceRequestAllocationResult(driver="d", pool="p", device="x", admin_access=True)
    allocation = api.AllocationResult(devices=api.DeviceAllocationResult(results=(result,)))
    tracker.signal(having("a").obj(), allocation)
    assert taken(tracker) == set()


def test_everybody_who_sees_the_same_objects_has_the_same_tracker() -> None:
    store = ObjectStore()
    assert claim_tracker_of(store, consumable=True) is claim_tracker_of(store, consumable=True)
    assert claim_tracker_of(store, consumable=True) is not claim_tracker_of(ObjectStore(), consumable=True)


def test_a_claim_that_is_shown_again_does_not_count_as_a_change() -> None:
    store = ObjectStore()
    tracker = ClaimTracker(store, consumable=True)
    store.put(having("a", version=1).obj())
    tracker.assume(having("a", D0, version=2).obj())
    before = tracker.in_use().version
    store.put(having("a", D0, version=2).obj())
    store.put(having("a", D0, version=3).obj())
    assert (tracker.in_use().version, taken(tracker)) == (before, {D0})


def test_claims_for_extended_resources_are_found_by_their_pod() -> None:
    store = ObjectStore()
    tracker = ClaimTracker(store, consumable=True)
    made = make_resource_claim("made").annotation(extended_resources.ANNOTATION, "true").owner("Pod", "train").obj()
    pod = make_pod("train").obj()
    assert tracker.made_for(pod) is None
    store.put(made)
    assert tracker.made_for(pod) is made
    assert tracker.made_for(make_pod("another").obj()) is None
    store.put(make_resource_claim("made").owner("Pod", "train").obj())
    assert tracker.made_for(pod) is None
    store.put(made)
    store.remove(made)
    assert tracker.made_for(pod) is None
