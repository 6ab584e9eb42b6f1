# SPDX-License-Identifier: Apache-2.0
"""One pod and one node: where the pod's volumes would come from, or why they cannot.

Bound volumes must be usable on the node. Claims that wait for a consumer get the volumes that fit best, the smallest claim
first; those that find none are provisioned, if their class can do that here and the driver, where it publishes its capacity,
has the room.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from steersman.api import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Quantity,
    StorageClass,
    TopologySelectorTerm,
    quantity,
)
from steersman.api.csi_migration import is_migrated_on, plugin_of, translated
from steersman.api.persistent_volumes import NO_PROVISIONER, SELECTED_NODE, STORAGE, admits_node, class_of_claim
from steersman.api.selectors import NOTHING, Operator, Requirement, Selector, from_label_selector, requirement
from steersman.api.volume_matching import requested_size
from steersman.derived import Derived
from steersman.errors import InputError
from steersman.framework.handle import Objects
from steersman.kept import Kept
from steersman.plugins.volume_binding.assume_cache import AssumedVolumes
from steersman.plugins.volume_binding.claims import PodClaims, VolumeFault

ERR_REASON_BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
ERR_REASON_NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
ERR_REASON_NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
ERR_REASON_PV_NOT_EXIST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class Binding(msgspec.Struct):
    """A volume that is to be bound to a claim."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume


class Provision(msgspec.Struct, frozen=True):
    """A claim for which a volume is to be made, and the capacity that it would come from, where one is published."""

    claim: PersistentVolumeClaim
    capacity: CSIStorageCapacity | None = None


class PodVolumes(msgspec.Struct):
    """The bindings and provisions that a pod needs if it is placed on the node. Reserve replaces them by what it assumed."""

    bindings: list[Binding] = msgspec.field(default_factory=list)
    provisions: list[Provision] = msgspec.field(default_factory=list)
    #: The claim that cannot have a volume there, if there is a reason against the node.
    refused: PersistentVolumeClaim | None = None


class VolumeFinder:
    """Finds the volumes of a pod on a node. Faults of the objects involved raise `VolumeFault`."""

    def __init__(self, objects: Objects, volumes: AssumedVolumes) -> None:
        self._objects = objects
        self._volumes = volumes
        self.capacities = StorageCapacities(objects)

    def find(self, claims: PodClaims, node: Node) -> PodVolumes | tuple[str, ...]:
        """Finds what has to be done, or the reasons why the node will not do."""
        found = PodVolumes()
        reasons = [self.objection_of_bound(claims.bound, node), self.find_unbound(claims, node, found)]
        # A volume that does not exist is told last, one that is out of reach first.
        reasons.sort(key=lambda reason: reason == ERR_REASON_PV_NOT_EXIST)
        reasons = [reason for reason in reasons if reason]
        return tuple(reasons) or found

    def objection_of_bound(self, claims: list[PersistentVolumeClaim], node: Node) -> str:
        """The objection of the volumes of bound claims to the node; "" if there is none."""
        unusable = self.unusable_of_bound(claims, node)
        if unusable is None:
            return ""
        return ERR_REASON_PV_NOT_EXIST if unusable[1] is None else ERR_REASON_NODE_CONFLICT

    def unusable_of_bound(
        self, claims: list[PersistentVolumeClaim], node: Node
    ) -> tuple[PersistentVolumeClaim, PersistentVolume | None] | None:
        """The first bound claim whose volume is out of the node's reach, or not there; None: there is none."""
        for claim in claims:
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None:
                return claim, None
            seen = self.as_driver_sees_it(volume, node.metadata.name)
            if not admits_node(seen, node.metadata.labels):
                return claim, seen
        return None

    def as_driver_sees_it(self, volume: PersistentVolume, node_name: str) -> PersistentVolume:
        """An in-tree volume in terms of the driver to which the node has handed its plugin over; any other as it is."""
        plugin = plugin_of(volume.spec)
        if plugin is None or not plugin.is_migrated:
            return volume
        if not is_migrated_on(self._objects.get(CSINode, node_name), plugin):
            return volume
        try:
            return translated(volume, plugin)
        except InputError as problem:
            raise VolumeFault(f"could not translate pv: {problem}") from problem

    def find_unbound(self, claims: PodClaims, node: Node, found: PodVolumes) -> str:
        """Adds to `found` what is to be bound and provisioned; or the reason why that cannot be."""
        to_provision: list[PersistentVolumeClaim] = []
        to_match: list[PersistentVolumeClaim] = []
        for claim in claims.waiting:
            selected = claim.metadata.annotations.get(SELECTED_NODE)
            if selected is None:
                to_match.append(claim)
            elif selected == node.metadata.name:
                to_provision.append(claim)
            else:
                found.refused = claim
                return ERR_REASON_BIND_CONFLICT
        to_provision += self._match(claims, to_match, node, found)
        return self._provision(to_provision, node, found)

    def _match(
        self, claims: PodClaims, to_match: list[PersistentVolumeClaim], node: Node, found: PodVolumes
    ) -> list[PersistentVolumeClaim]:
        """The claims for which there is no volume."""
        taken: set[str] = set()
        unmatched: list[PersistentVolumeClaim] = []
        for claim in sorted(to_match, key=requested_size):
            volume = self._choose(claims, claim, node, taken)
            if volume is None:
                unmatched.append(claim)
            else:
                taken.add(volume.metadata.name)
                found.bindings.append(Binding(claim, volume))
        return unmatched

    def _choose(
        self, claims: PodClaims, claim: PersistentVolumeClaim, node: Node, taken: set[str]
    ) -> PersistentVolume | None:
        try:
            return claims.choice(claim, self._volumes).on_node(node.metadata.labels, taken)
        except InputError as problem:
            raise VolumeFault(str(problem)) from problem

    def _provision(self, claims: list[PersistentVolumeClaim], node: Node, found: PodVolumes) -> str:
        for claim in claims:
            storage_class = self.class_of(claim)
            found.refused = claim
            if storage_class.provisioner in ("", NO_PROVISIONER):
                return ERR_REASON_BIND_CONFLICT
            if not allows(storage_class, node):
                return ERR_REASON_BIND_CONFLICT
            capacity: CSIStorageCapacity | None = None
            if self.capacities.is_checked(claim, storage_class):
                capacity = self.capacities.room_for(claim, storage_class, node.metadata.labels)
                if capacity is None:
                    return ERR_REASON_NOT_ENOUGH_SPACE
            found.provisions.append(Provision(claim, capacity))
        found.refused = None
        return ""

    def class_of(self, claim: PersistentVolumeClaim) -> StorageClass:
        name = class_of_claim(claim)
        if not name:
            raise VolumeFault(f'no class for claim "{claim.metadata.namespace}/{claim.metadata.name}"')
        storage_class = self._objects.get(StorageClass, name)
        if storage_class is None:
            raise VolumeFault(f'failed to find storage class "{name}"')
        return storage_class


def allows(storage_class: StorageClass, node: Node) -> bool:
    """Whether volumes of the class may be provisioned for the node."""
    terms = storage_class.allowed_topologies
    return not terms or any(selector.matches(node.metadata.labels) for selector in topology_selectors(terms))


@lru_cache(maxsize=1024)
def topology_selectors(terms: tuple[TopologySelectorTerm, ...]) -> tuple[Selector, ...]:
    """The terms, of which one must match; without those that are empty or make no sense, which match nothing."""
    compiled = (_topology_selector(term) for term in terms if term.match_label_expressions)
    return tuple(selector for selector in compiled if selector is not None)


def _topology_selector(term: TopologySelectorTerm) -> Selector | None:
    try:
        requirements: list[Requirement] = [
            requirement(expression.key, Operator.IN, expression.values) for expression in term.match_label_expressions
        ]
    except InputError:
        return None
    return Selector(tuple(requirements))


# -- what drivers publish of their capacity ----------------------------------------------------------------------------


class PublishedCapacity(NamedTuple):
    """One CSIStorageCapacity, made ready."""

    published: CSIStorageCapacity
    #: The largest volume that it has room for.
    limit: int
    #: The nodes that can use such a volume.
    nodes: Selector


STORAGE_CAPACITIES = Kept(
    name="storage capacities",
    attributes=("StorageCapacities._pools",),
    holds="published capacities, with sizes and nodes read",
    key="storage class",
    stamps="version of CSIStorageCapacity objects (`Derived`)",
    bound="capacities that there are",
    twin="`StorageCapacities._read`",
    held_equal="tests/plugins/volume_binding/test_provisioning.py",
)


class StorageCapacities:
    """All published capacities by storage class, made ready anew when one of them has changed."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._pools: Derived[dict[str, list[PublishedCapacity]]] = Derived()

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

    def pools(self, storage_class: str) -> list[PublishedCapacity]:
        return self._pools.at(self._objects.version(CSIStorageCapacity), self._read).get(storage_class, [])

    def _read(self) -> dict[str, list[PublishedCapacity]]:
        pools: dict[str, list[PublishedCapacity]] = {}
        for published in self._objects.list(CSIStorageCapacity):
            limit = volume_limit(published)
            if limit is not None:
                pool = PublishedCapacity(published, quantity.value_of(limit), _nodes(published))
                pools.setdefault(published.storage_class_name, []).append(pool)
        return pools


def volume_limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """The largest volume that there is room for; None: not known. What the driver says of single volumes is more exact."""
    return capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size


def _nodes(capacity: CSIStorageCapacity) -> Selector:
    """The nodes that can use the capacity: none without a topology, or with one that cannot be read."""
    try:
        return from_label_selector(capacity.node_topology)
    except InputError:
        return NOTHING
