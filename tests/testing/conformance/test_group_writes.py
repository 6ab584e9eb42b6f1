# SPDX-License-Identifier: Apache-2.0
"""Writes of a scheduler to the stored objects of a replay."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from steersman import api
from steersman.testing.conformance.group_cluster import GroupWriter, StoredObjects

_replace = msgspec.structs.replace


def claim(*users: str, allocated: bool = True) -> api.ResourceClaim:
    reserved = tuple(api.ResourceClaimConsumerReference(resource="pods", name=user, uid=user) for user in users)
    allocation = api.AllocationResult() if allocated else None
    status = api.ResourceClaimStatus(allocation=allocation, reserved_for=reserved)
    return api.ResourceClaim(metadata=api.ObjectMeta(name="c", namespace="default"), status=status)


def test_a_deleted_pod_leaves_its_claims_and_the_last_one_frees_the_devices() -> None:
    stored = StoredObjects()
    for name in ("p", "q"):
        stored.put(api.Pod(metadata=api.ObjectMeta(name=name, namespace="default", uid=name)))
    stored.put(claim("p", "q"))
    stored.delete(api.Pod, "default/p")
    (left,) = stored.by_name(api.ResourceClaim)
    assert ([user.name for user in left.status.reserved_for], left.status.allocation is None) == (["q"], False)
    stored.delete(api.Pod, "default/q")
    (left,) = stored.by_name(api.ResourceClaim)
    assert (left.status.reserved_for, left.status.allocation) == ((), None)


def test_an_outdated_claim_is_changed_again_from_its_current_version() -> None:
    stored = StoredObjects()
    writer = GroupWriter(stored, {})
    outdated = stored.put(claim(allocated=False))
    stored.put(_replace(outdated, status=api.ResourceClaimStatus(allocation=api.AllocationResult())))

    def allocate(latest: api.ResourceClaim) -> api.ResourceClaim:
        if latest.status.allocation is not None:
            raise ValueError("allocated elsewhere")
        return latest

    with pytest.raises(ValueError, match="allocated elsewhere"):
        asyncio.run(writer.change_resource_claim(outdated, allocate))


def test_changes_are_taken_once_in_their_order() -> None:
    stored = StoredObjects()
    stored.put(claim())
    stored.delete(api.ResourceClaim, "default/c")
    assert [change.is_deletion for change in stored.take_changes()] == [False, True]
    assert stored.take_changes() == []
