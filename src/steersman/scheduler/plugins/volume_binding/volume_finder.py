# SPDX-License-Identifier: Apache-2.0
"""The volumes of one pod on one node, or the reasons against the node.

Bound volumes must be usable on the node. Claims that wait for a consumer get the best fitting
volumes, the smallest claim first; the others are provisioned if their class allows it on the node
and the driver, if it publishes its capacity, has room.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from steersman.api import (
    NO_PROVISIONER,
    NOTHING,
    SELECTED_NODE,
    STORAGE,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Node,
    Operator,
    PersistentVolume,
    PersistentVolumeClaim,
    Quantity,
    Requirement,
    Selector,
    StorageClass,
    TopologySelectorTerm,
    admits_node,
    class_of_claim,
    from_label_selector,
    is_migrated_on,
    plugin_of,
    quantity,
    requested_size,
    requirement,
    translated,
)
from steersman.base import CacheSpec, InputError, Memo
from steersman.framework import Objects
from steersman.scheduler.plugins.volume_binding.assume_cache import AssumedVolumes
from steersman.scheduler.plugins.volume_binding.claims import PodClaims, VolumeFault

ERR_REASON_BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
ERR_REASON_NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
ERR_REASON_NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
ERR_REASON_PV_NOT_EXIST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class Binding(msgspec.Struct):
    """A volume that is to be bound to a claim."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume


class Provision(msgspec.Struct, frozen=True):
    """A claim that needs a new volume, and the published capacity that it would use, if any."""

    claim: PersistentVolumeClaim
    capacity: CSIStorageCapacity | None = None


class PodVolumes(msgspec.Struct):
    """The bindings and provisions for a pod on a node. Reserve replaces them by assumed ones."""

    bindings: list[Binding] = msgspec.field(default_factory=list)
    provisions: list[Provision] = msgspec.field(default_factory=list)
    #: The claim that cannot have a volume there, if it is the reason against the node.
    refused: PersistentVolumeClaim | None = None


class VolumeFinder:
    """Finds the volumes of a pod on a node. Raises `VolumeFault` for faulty objects."""

    def __init__(self, objects: Objects, volumes: AssumedVolumes) -> None:
        self._objects = objects
        self._volumes = volumes
        self.capacities = StorageCapacities(objects)

    def find(self, claims: PodClaims, node: Node) -> PodVolumes | tuple[str, ...]:
        """Return the bindings and provisions, or the reasons against the node."""
        found = PodVolumes()
        reasons = [self.objection_of_bound(claims.bound, node), self.find_unbound(claims, node, found)]
        # Reason order: volumes out of reach come first, volumes that do not exist last.
        reasons.sort(key=lambda reason: reason == ERR_REASON_PV_NOT_EXIST)
        reasons = [reason for reason in reasons if reason]
        return tuple(reasons) or found

    def objection_of_bound(self, claims: list[PersistentVolumeClaim], node: Node) -> str:
        """Return the reason against the node by the volumes of bound claims, or ""."""
        unusable = self.unusable_of_bound(claims, node)
        if unusable is None:
            return ""
        return ERR_REASON_PV_NOT_EXIST if unusable[1] is None else ERR_REASON_NODE_CONFLICT

    def unusable_of_bound(
        self, claims: list[PersistentVolumeClaim], node: Node
    ) -> tuple[PersistentVolumeClaim, PersistentVolume | None] | None:
        """Return the first bound claim with an unusable or missing volume, or None."""
        for claim in claims:
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None:
                return claim, None
            seen = self.as_driver_sees_it(volume, node.metadata.name)
            if not admits_node(seen, node.metadata.labels):
                return claim, seen
        return None

    def as_driver_sees_it(self, volume: PersistentVolume, node_name: str) -> PersistentVolume:
        """Return the volume, translated to CSI if the node has migrated its in-tree plugin."""
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
        """Add the bindings and provisions to `found`, or return why that is impossible."""
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
        """Bind volumes to claims in `found`. Return the claims without a matching volume."""
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
    """Return whether volumes of the class may be provisioned for the node."""
    terms = storage_class.allowed_topologies
    return not terms or any(selector.matches(node.metadata.labels) for selector in topology_selectors(terms))


@lru_cache(maxsize=1024)
def topology_selectors(terms: tuple[TopologySelectorTerm, ...]) -> tuple[Selector, ...]:
    """Compile the alternative terms, without empty or invalid ones, which match nothing."""
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


# -- published storage capacity ----------------------------------------------------------------------------------------


class PublishedCapacity(NamedTuple):
    """A CSIStorageCapacity with parsed fields."""

    published: CSIStorageCapacity
    #: The largest volume that it has room for.
    limit: int
    #: The nodes that can use such a volume.
    nodes: Selector


STORAGE_CAPACITIES = CacheSpec(
    name="storage capacities",
    attributes=("StorageCapacities._pools",),
    contents="published capacities with parsed sizes and node selectors",
    key="storage class",
    invalidation="version of CSIStorageCapacity objects (`Memo`)",
    limit="all published capacities",
    reference="`StorageCapacities._read`",
    checked_by="tests/plugins/volume_binding/test_provisioning.py",
)


class StorageCapacities:
    """All published capacities by storage class, parsed again when one of them changes."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._pools: Memo[dict[str, list[PublishedCapacity]]] = Memo()

    def is_checked(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> bool:
        """Return whether the driver's capacity counts and the claim has a size."""
        driver = self._objects.get(CSIDriver, storage_class.provisioner)
        return STORAGE in claim.spec.resources.requests and driver is not None and bool(driver.spec.storage_capacity)

    def room_for(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass, labels: Mapping[str, str]
    ) -> CSIStorageCapacity | None:
        """Return a capacity large enough for the claim that a node with these labels can use."""
        size = quantity.value_of(claim.spec.resources.requests[STORAGE])
        for pool in self.pools(storage_class.metadata.name):
            if pool.limit >= size and pool.nodes.matches(labels):
                return pool.published
        return None

    def pools(self, storage_class: str) -> list[PublishedCapacity]:
        return self._pools.get(self._objects.version(CSIStorageCapacity), self._read).get(storage_class, [])

    def _read(self) -> dict[str, list[PublishedCapacity]]:
        pools: dict[str, list[PublishedCapacity]] = {}
        for published in self._objects.list(CSIStorageCapacity):
            limit = volume_limit(published)
            if limit is not None:
                pool = PublishedCapacity(published, quantity.value_of(limit), _nodes(published))
                pools.setdefault(published.storage_class_name, []).append(pool)
        return pools


def volume_limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """Return the largest possible volume or None. The maximum volume size is the exact limit."""
    return capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size


def _nodes(capacity: CSIStorageCapacity) -> Selector:
    """Return the nodes that can use the capacity: none without a valid topology."""
    try:
        return from_label_selector(capacity.node_topology)
    except InputError:
        return NOTHING
