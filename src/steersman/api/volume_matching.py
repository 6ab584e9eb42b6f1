# SPDX-License-Identifier: Apache-2.0
"""Which of the volumes there are a claim gets.

A volume that is set aside for the claim comes first; otherwise the smallest that is large enough, and of equally small
ones the first by name. The scheduler asks per node, for claims that wait for a consumer; the controller that binds the
other claims at once asks without a node.
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
from steersman.errors import InputError

AVAILABLE: Final = "Available"
FILESYSTEM: Final = "Filesystem"
_NOTHING: Final = quantity.parse("0")


class VolumeChoice:
    """The volumes that one claim may get, on whatever node; raises `InputError` for a claim whose selector is none."""

    def __init__(self, claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]) -> None:
        self.claim = claim
        self._class = class_of_claim(claim)
        self._size = requested_size(claim)
        self._selector = _selector_of(claim)
        self._modes = frozenset(claim.spec.access_modes)
        suitable = [volume for volume in volumes if self._is_suitable(volume)]
        #: Set aside for the claim, by name.
        self.reserved = sorted((v for v in suitable if v.spec.claim_ref is not None), key=_name)
        #: To be had by anybody, in no particular order.
        self.free = [v for v in suitable if v.spec.claim_ref is None and self._is_free(v)]

    @cached_property
    def by_preference(self) -> list[PersistentVolume]:
        """The free volumes, the most fitting first."""
        return sorted(self.free, key=_size_and_name)

    def on_node(self, labels: Mapping[str, str], taken: Collection[str]) -> PersistentVolume | None:
        """The volume that the claim gets on a node with these labels when those `taken` are not to be had.

        What is set aside for the claim is what it gets: if the node cannot use that one, there is no other.
        """
        for volume in self.reserved:
            if volume.metadata.name not in taken:
                return volume if admits_node(volume, labels) else None
        free = (v for v in self.by_preference if v.metadata.name not in taken)
        return next((volume for volume in free if admits_node(volume, labels)), None)

    def anywhere(self) -> PersistentVolume | None:
        """The volume that the claim gets when it does not matter where it is used: one that can do little more than what
        is asked for, rather than the smallest."""
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
    """How large the claim's volume must be at least."""
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
    """The size in the smallest unit that a quantity can be written in, for comparisons."""
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
