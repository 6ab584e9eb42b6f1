# SPDX-License-Identifier: Apache-2.0
"""What the scheduler believes of an object, on top of what the API server shows."""

from __future__ import annotations

import pytest

from steersman.api import PersistentVolume, PersistentVolumeClaim
from steersman.scheduler.plugins.volume_binding.assume_cache import AssumedVolumes, NotInStep
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import VolumeBuilder, make_claim, make_volume

FAST = make_claim("data").storage_class("fast").obj()
SLOW = make_claim("data").storage_class("slow").obj()
DISK = make_volume("disk").storage_class("fast").resource_version(5)


def believed(*volumes: VolumeBuilder) -> tuple[AssumedVolumes, ObjectStore]:
    store = ObjectStore()
    for volume in volumes:
        store.put(volume.obj())
    return AssumedVolumes(store), store


def test_without_choices_it_is_what_the_server_shows() -> None:
    volumes, _ = believed(DISK)
    assert volumes.get("disk") == volumes.shown("disk") == DISK.obj()
    assert volumes.get("other") is None


def test_a_choice_is_believed_and_not_shown() -> None:
    volumes, _ = believed(DISK)
    choice = DISK.label("chosen", "yes").obj()
    volumes.assume(choice)
    assert volumes.get("disk") == choice
    assert volumes.shown("disk") == DISK.obj()
    assert volumes.candidates(FAST) == [choice]


@pytest.mark.parametrize("version", [4, 6, "odd"])
def test_a_choice_must_be_made_from_the_version_that_is_shown(version: int | str) -> None:
    volumes, _ = believed(DISK)
    with pytest.raises(NotInStep, match="out of sync"):
        volumes.assume(DISK.resource_version(version).obj())


def test_a_choice_about_nothing_is_refused() -> None:
    volumes, _ = believed()
    with pytest.raises(NotInStep, match='persistentvolumes "disk" not found'):
        volumes.assume(DISK.obj())


def test_restoring_drops_the_choice() -> None:
    volumes, _ = believed(DISK)
    choice = DISK.label("chosen", "yes").obj()
    volumes.assume(choice)
    volumes.restore(choice)
    assert volumes.get("disk") == DISK.obj()


def test_restoring_another_version_changes_nothing() -> None:
    volumes, _ = believed(DISK)
    choice = DISK.label("chosen", "yes").obj()
    volumes.assume(choice)
    volumes.restore(DISK.resource_version(6).obj())
    assert volumes.get("disk") == choice


def test_a_newer_version_overrules_the_choice_permanently() -> None:
    volumes, store = believed(DISK)
    volumes.assume(DISK.label("chosen", "yes").obj())
    newer = DISK.resource_version(6).obj()
    store.put(newer)
    assert volumes.get("disk") == newer
    again = DISK.resource_version(6).label("again", "yes").obj()
    volumes.assume(again)
    assert volumes.get("disk") == again


def test_the_same_version_shown_again_does_not() -> None:
    volumes, store = believed(DISK)
    choice = DISK.label("chosen", "yes").obj()
    volumes.assume(choice)
    store.put(DISK.obj())
    assert volumes.get("disk") == choice


def test_what_is_gone_is_gone() -> None:
    volumes, store = believed(DISK)
    volumes.assume(DISK.label("chosen", "yes").obj())
    store.remove(DISK.obj())
    assert volumes.get("disk") is None
    assert volumes.candidates(FAST) == []


def names(volumes: AssumedVolumes, claim: PersistentVolumeClaim) -> list[str]:
    return sorted(volume.metadata.name for volume in volumes.candidates(claim))


def test_volumes_are_found_by_class_also_by_the_old_annotation() -> None:
    old = make_volume("old").storage_class("slow").annotation("volume.beta.kubernetes.io/storage-class", "fast")
    volumes, store = believed(DISK, old)
    assert names(volumes, FAST) == ["disk", "old"]
    assert names(volumes, SLOW) == []
    store.put(make_volume("new").storage_class("slow").obj())
    assert names(volumes, SLOW) == ["new"]


def test_volumes_of_other_claims_are_left_out() -> None:
    mine = make_volume("mine").storage_class("fast").claimed(make_claim("data"), uid="")
    theirs = make_volume("theirs").storage_class("fast").claimed(make_claim("other"))
    elsewhere = make_volume("elsewhere").storage_class("slow").claimed(make_claim("data"), uid="")
    volumes, store = believed(DISK, mine, theirs, elsewhere)
    assert names(volumes, FAST) == ["disk", "mine"]
    store.put(theirs.claimed(make_claim("data"), uid="").obj())
    store.put(DISK.claimed(make_claim("other")).obj())
    assert names(volumes, FAST) == ["mine", "theirs"]
    store.remove(mine.obj())
    assert names(volumes, FAST) == ["theirs"]


def test_versions_tell_when_answers_may_have_changed() -> None:
    volumes, store = believed(DISK)
    seen = [volumes.version]
    choice = DISK.label("chosen", "yes").obj()
    volumes.assume(choice)
    seen.append(volumes.version)
    volumes.restore(choice)
    seen.append(volumes.version)
    store.put(DISK.obj())
    seen.append(volumes.version)
    assert len(set(seen)) == 4
    assert store.version(PersistentVolume) == 2
