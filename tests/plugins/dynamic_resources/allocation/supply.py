# SPDX-License-Identifier: Apache-2.0
"""A search for devices in one call: claims, slices and classes in, the names of the devices out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.plugins.handles import FakeObjects

from steersman import api
from steersman.scheduler.plugins.dynamic_resources.allocation import (
    DevicesInUse,
    Features,
    FoundDevice,
    PreparedClaim,
    PublishedDevices,
    Supply,
    allocation_of,
    find_devices,
    prepare,
)
from steersman.testing import Builder, NodeBuilder, make_device_class, make_node

NODE = make_node("n")
CLASSES = (make_device_class("any"), make_device_class("other"))

Slices = Sequence[Builder[api.ResourceSlice]]
Claims = Sequence[Builder[api.ResourceClaim]]


def search(
    claims: Claims,
    slices: Slices,
    node: NodeBuilder = NODE,
    *,
    taken: Iterable[Builder[api.ResourceClaim]] = (),
    features: Features | None = None,
) -> tuple[list[PreparedClaim], list[list[FoundDevice]] | None]:
    features = features or Features()
    classes = {builder.obj().metadata.name: builder.obj() for builder in CLASSES}
    prepared = prepare([claim.obj() for claim in claims], classes.get, features)
    in_use = DevicesInUse(features.consumable_capacity)
    for claim in taken:
        allocation = claim.obj().status.allocation
        assert allocation is not None
        in_use.add(allocation)
    published = PublishedDevices(FakeObjects([one.obj() for one in slices]), features.partitionable_devices)
    supply = Supply(in_use, features)
    return prepared, find_devices(prepared, published.devices_of(node.obj()), supply)


def devices(
    claims: Claims,
    slices: Slices,
    node: NodeBuilder = NODE,
    *,
    taken: Iterable[Builder[api.ResourceClaim]] = (),
    features: Features | None = None,
) -> list[str] | None:
    """All devices, claim after claim, as `pool/device`; None: there are not enough."""
    _, found = search(claims, slices, node, taken=taken, features=features)
    return None if found is None else ["/".join(one.device.id[1:]) for each in found for one in each]


def allocations(
    claims: Claims, slices: Slices, node: NodeBuilder = NODE, features: Features | None = None
) -> list[api.AllocationResult]:
    """What would be written into the claims."""
    features = features or Features()
    prepared, found = search(claims, slices, node, features=features)
    assert found is not None
    shares = iter(f"share-{n}" for n in range(99))
    return [
        allocation_of(claim, each, node.obj().metadata.name, features, lambda: next(shares))
        for claim, each in zip(prepared, found, strict=True)
    ]
