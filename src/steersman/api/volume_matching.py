# SPDX-License-Identifier: Apache-2.0
"""Selection of a volume for a claim.

A volume reserved for the claim takes precedence, then the smallest that is large enough, then the
first by name. The scheduler selects per node for claims that wait for a consumer; the volume
controller selects without a node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Final

from steersman.api import quantity, selectors
from steersman.api.meta import Quantity
from steersman.api.persistent_volumes import STORAGE, admits_node, class_of_claim, class_of_volume, is_bound_to
from steersman.api.quantity import Amount
from steersman.api.selectors import Selector
from steersman.api.storage import PersistentVolume, PersistentVolumeClaim
from steersman.base import InputError

AVAILABLE: Final = "Available"
FILESYSTEM: Final = "Filesystem"
_NOTHING: Final = quantity.parse("0")


class VolumeChoice:
    """Volumes that a claim may bind to, on any node. Raise `InputError` for an invalid selector."""

    def __init__(self, claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]) -> None:
        self.claim = claim
        self._class = class_of_claim(claim)
        self._size = requested_size(claim)
        self._selector = _selector_of(claim)
        self._modes = frozenset(claim.spec.access_modes)
        suitable = [volume for volume in volumes if self._is_suitable(volume)]
        #: Volumes reserved for the claim, by name.
        self.reserved = sorted((v for v in suitable if v.spec.claim_ref is not None), key=_name)
        #: Available volumes, unordered.
        self.free = [v for v in suitable if v.spec.claim_ref is None and self._is_free(v)]

    @cached_property
    def by_preference(self) -> list[PersistentVolume]:
        """Available volumes, best first."""
        return sorted(self.free, key=_size_and_name)

    def on_node(self, labels: Mapping[str, str], taken: Collection[str]) -> PersistentVolume | None:
        """Return the volume for the claim on a node with these labels, excluding `taken` ones.

        If a volume is reserved for the claim, no other is returned even if it is inaccessible from
        the node.
        """
        for volume in self.reserved:
            if volume.metadata.name not in taken:
                return volume if admits_node(volume, labels) else None
        free = (v for v in self.by_preference if v.metadata.name not in taken)
        return next((volume for volume in free if admits_node(volume, labels)), None)

    def anywhere(self) -> PersistentVolume | None:
        """Return the volume for a claim without a node: with the fewest surplus access modes,
        rather than the smallest."""
        if self.reserved:
            return self.reserved[0]
        return min(self.by_preference, key=lambda volume: len(set(volume.spec.access_modes)), default=None)

    def _is_suitable(self, volume: PersistentVolume) -> bool:
        if volume.spec.claim_ref is not None and not is_bound_to(volume, self.claim):
            return False
        mine, offered = self.claim.spec, volume.spec
        return (
            offered_size(volume) >= self._size
            and (mine.volume_mode or FILESYSTEM) == (offered.volume_mode or FILESYSTEM)
            and (mine.volume_attributes_class_name or "") == (offered.volume_attributes_class_name or "")
            and volume.metadata.deletion_timestamp is None
        )

    def _is_free(self, volume: PersistentVolume) -> bool:
        return (
            volume.status.phase == AVAILABLE
            and (self._selector is None or self._selector.matches(volume.metadata.labels))
            and class_of_volume(volume) == self._class
            and self._modes.issubset(volume.spec.access_modes)
        )


def requested_storage(claim: PersistentVolumeClaim) -> Amount:
    """Return the minimum size of the claim's volume."""
    requests = claim.spec.resources.requests
    return quantity.parse(requests[STORAGE]) if STORAGE in requests else _NOTHING


def offered_storage(volume: PersistentVolume) -> Amount:
    capacity = volume.spec.capacity
    return quantity.parse(capacity[STORAGE]) if STORAGE in capacity else _NOTHING


def _selector_of(claim: PersistentVolumeClaim) -> Selector | None:
    if claim.spec.selector is None:
        return None
    try:
        return selectors.from_label_selector(claim.spec.selector)
    except InputError as problem:
        name = f"{claim.metadata.namespace}/{claim.metadata.name}"
        raise InputError(f"error creating internal label selector for claim: {name}: {problem}") from problem


@lru_cache(maxsize=4096)
def exact_size(amount: Quantity) -> int:
    """Return the size in nano-units, the smallest of quantities, for comparisons."""
    parsed = quantity.parse(amount)
    return parsed.unscaled * 10 ** (parsed.scale - quantity.NANO) if parsed.unscaled else 0


def requested_size(claim: PersistentVolumeClaim) -> int:
    return exact_size(claim.spec.resources.requests.get(STORAGE, 0))


def offered_size(volume: PersistentVolume) -> int:
    return exact_size(volume.spec.capacity.get(STORAGE, 0))


def _size_and_name(volume: PersistentVolume) -> tuple[int, str]:
    return offered_size(volume), volume.metadata.name


def _name(volume: PersistentVolume) -> str:
    return volume.metadata.name
