# SPDX-License-Identifier: Apache-2.0
"""Assume caches of claims and volumes: the watched objects with the scheduler's own changes on top.

An assumed object is valid until the watch shows a newer version or it is restored. Reserve assumes,
Unreserve restores, everything else reads.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from steersman import api
from steersman.api import PersistentVolume, PersistentVolumeClaim, class_of_claim, class_of_volume
from steersman.base import CacheSpec
from steersman.framework import Objects

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


class NotInStep(Exception):
    """An object to be assumed does not have the version that the watch last showed."""


class AssumedObjects(Generic[T]):
    """All objects of one kind, with the assumed ones on top."""

    def __init__(self, kind: type[T], objects: Objects) -> None:
        self._kind: type[T] = kind
        self._objects = objects
        self._assumed: dict[str, T] = {}
        #: Incremented when an object is assumed or restored.
        self._choices = 0

    @property
    def version(self) -> tuple[int, int]:
        """The version of the contents: equal versions mean equal results."""
        return self._choices, self._objects.version(self._kind)

    def shown(self, key: str) -> T | None:
        """Return the object as the API server last showed it."""
        return self._objects.get(self._kind, key)

    def get(self, key: str) -> T | None:
        """Return the assumed object if it is still valid, or else the watched one."""
        shown = self._objects.get(self._kind, key)
        assumed = self._assumed.get(key)
        if assumed is None or shown is None or _version(assumed) != _version(shown):
            return shown
        return assumed

    def assume(self, obj: T) -> None:
        """Assume `obj`; raise `NotInStep` unless it is based on the last watched version."""
        key = api.key(obj)
        shown = self.shown(key)
        if shown is None:
            raise NotInStep(f'{self._kind.PLURAL} "{key}" not found')
        if _version(shown) != _version(obj):
            raise NotInStep(f'"{key}" is out of sync (stored: {_version(shown)}, assume: {_version(obj)})')
        self._forget_outdated()
        self._assumed[key] = obj
        self._choices += 1

    def restore(self, obj: T) -> None:
        """Drop the assumed `obj`; an object assumed from a newer version stays."""
        key = api.key(obj)
        assumed = self._assumed.get(key)
        if assumed is not None and _version(assumed) == _version(obj):
            del self._assumed[key]
            self._choices += 1

    def _forget_outdated(self) -> None:
        for key, assumed in list(self._assumed.items()):
            shown = self.shown(key)
            if shown is None or _version(shown) != _version(assumed):
                del self._assumed[key]


SORTED_VOLUMES = CacheSpec(
    name="volumes by class and claim",
    attributes=("AssumedVolumes._drawers", "AssumedVolumes._free", "AssumedVolumes._taken", "AssumedVolumes._sorted"),
    contents="which PersistentVolumes are unclaimed, and which are reserved for a claim",
    key="storage class; claim",
    invalidation="position in the log of changed PersistentVolumes: those are sorted again",
    limit="all PersistentVolumes",
    reference="all volumes, sorted from scratch",
    checked_by="tests/plugins/volume_binding/test_assume_cache.py",
    is_inline=True,
)


class AssumedVolumes(AssumedObjects[PersistentVolume]):
    """Volumes: unclaimed ones by storage class, and the claimed majority by claim."""

    def __init__(self, objects: Objects) -> None:
        super().__init__(PersistentVolume, objects)
        #: Version of the lister that the following indices match; None before the first use.
        self._sorted: int | None = None
        #: The index and the name in it under which each volume is stored.
        self._drawers: dict[str, tuple[dict[str, dict[str, None]], str]] = {}
        #: Keys of unclaimed volumes by storage class.
        self._free: dict[str, dict[str, None]] = {}
        #: Keys of claimed volumes by the claim that they are bound to or reserved for.
        self._taken: dict[str, dict[str, None]] = {}

    def candidates(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Return unclaimed volumes of the claim's class, some maybe assumed bound, and its own."""
        self._sort()
        wanted = class_of_claim(claim)
        own = [key for key in self._taken.get(api.key(claim), ()) if self._is_of_class(key, wanted)]
        found = map(self.get, (*self._free.get(wanted, ()), *own))
        return [volume for volume in found if volume is not None]

    def _is_of_class(self, key: str, name: str) -> bool:
        volume = self.shown(key)
        return volume is not None and class_of_volume(volume) == name

    def _sort(self) -> None:
        version = self._objects.version(PersistentVolume)
        if version == self._sorted:
            return
        changed = None if self._sorted is None else self._objects.changed_since(PersistentVolume, self._sorted)
        if changed is None:
            self._drawers.clear()
            self._free.clear()
            self._taken.clear()
            changed = [api.key(volume) for volume in self._objects.list(PersistentVolume)]
        for key in changed:
            self._put_away(key, self.shown(key))
        self._sorted = version

    def _put_away(self, key: str, volume: PersistentVolume | None) -> None:
        before = self._drawers.pop(key, None)
        if before is not None:
            drawers, name = before
            del drawers[name][key]
            if not drawers[name]:
                del drawers[name]
        if volume is None:
            return
        owner = volume.spec.claim_ref
        if owner is None:
            drawers, name = self._free, class_of_volume(volume)
        else:
            drawers, name = self._taken, f"{owner.namespace}/{owner.name}"
        drawers.setdefault(name, {})[key] = None
        self._drawers[key] = drawers, name


def _version(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return obj.metadata.resource_version
