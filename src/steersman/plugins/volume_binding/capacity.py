# SPDX-License-Identifier: Apache-2.0
"""Whether a driver that publishes its capacity has room for a new volume that a node can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from steersman.api import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim, Quantity, StorageClass, quantity
from steersman.api.persistent_volumes import STORAGE
from steersman.api.selectors import NOTHING, Selector, from_label_selector
from steersman.errors import InputError
from steersman.framework.handle import Objects


class Pool(NamedTuple):
    """One CSIStorageCapacity, made ready."""

    published: CSIStorageCapacity
    #: The largest volume that it has room for.
    limit: int
    #: The nodes that can use such a volume.
    nodes: Selector


class StorageCapacities:
    """All published capacities by storage class, made ready anew when one of them has changed."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._version = -1
        self._pools: dict[str, list[Pool]] = {}

    def is_checked(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> bool:
        """Whether capacity matters at all: the claim has a size, and the driver wants its capacity to be heeded."""
        driver = self._objects.get(CSIDriver, storage_class.provisioner)
        return STORAGE in claim.spec.resources.requests and driver is not None and bool(driver.spec.storage_capacity)

    def room_for(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass, labels: Mapping[str, str]
    ) -> CSIStorageCapacity | None:
        """A capacity large enough for the claim that a node with these labels can use."""
        size = quantity.value_of(claim.spec.resources.requests[STORAGE])
        for pool in self.pools(storage_class.metadata.name):
            if pool.limit >= size and pool.nodes.matches(labels):
                return pool.published
        return None

    def pools(self, storage_class: str) -> list[Pool]:
        version = self._objects.version(CSIStorageCapacity)
        if version != self._version:
            self._pools = {}
            for published in self._objects.list(CSIStorageCapacity):
                limit = volume_limit(published)
                if limit is not None:
                    pool = Pool(published, quantity.value_of(limit), _nodes(published))
                    self._pools.setdefault(published.storage_class_name, []).append(pool)
            self._version = version
        return self._pools.get(storage_class, [])


def volume_limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """The largest volume that there is room for; None: not known. What the driver says of single volumes is more exact."""
    return capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size


def _nodes(capacity: CSIStorageCapacity) -> Selector:
    """Without a topology, or with one that cannot be read, no node."""
    try:
        return from_label_selector(capacity.node_topology)
    except InputError:
        return NOTHING
