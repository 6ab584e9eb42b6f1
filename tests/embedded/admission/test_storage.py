# SPDX-License-Identifier: Apache-2.0
"""Defaults of storage objects."""

from __future__ import annotations

import msgspec
from tests.embedded.stores import admitting_store, with_meta

from steersman import api
from steersman.cluster.store import Store

DEFAULT = "storageclass.kubernetes.io/is-default-class"
OLD_DEFAULT = "storageclass.beta.kubernetes.io/is-default-class"


def _class(name: str, annotation: str = "", created: str | None = None) -> api.StorageClass:
    annotations = {annotation: "true"} if annotation else {}
    return api.StorageClass(
        metadata=api.ObjectMeta(name=name, annotations=annotations, creation_timestamp=created), provisioner="p"
    )


def _claim(**spec: object) -> api.PersistentVolumeClaim:
    blank = api.PersistentVolumeClaim(metadata=api.ObjectMeta(name="data"))
    return msgspec.structs.replace(blank, spec=msgspec.structs.replace(blank.spec, **spec))


def _store(*classes: api.StorageClass) -> Store:
    store = admitting_store()
    for known in classes:
        store.create(known)
    return store


def _class_name(store: Store, claim: api.PersistentVolumeClaim) -> str | None:
    return store.create(claim).spec.storage_class_name


def test_a_claim_asks_for_a_file_system_and_waits() -> None:
    claim = _store().create(_claim())
    assert (claim.spec.volume_mode, claim.status.phase) == ("Filesystem", "Pending")
    assert _store().create(_claim(volume_mode="Block")).spec.volume_mode == "Block"


def test_a_claim_without_a_class_gets_the_default_one() -> None:
    assert _class_name(_store(_class("slow"), _class("fast", DEFAULT)), _claim()) == "fast"
    assert _class_name(_store(_class("slow"), _class("fast", OLD_DEFAULT)), _claim()) == "fast"


def test_a_claim_without_a_class_stays_without_if_there_is_no_default() -> None:
    assert _class_name(_store(_class("slow")), _claim()) is None


def test_a_class_that_is_named_is_kept_and_so_is_none_on_purpose() -> None:
    store = _store(_class("fast", DEFAULT))
    assert _class_name(store, _claim(storage_class_name="slow")) == "slow"
    assert _class_name(_store(_class("fast", DEFAULT)), _claim(storage_class_name="")) == ""


def test_a_class_may_be_named_by_the_old_annotation() -> None:
    claim = with_meta(_claim(), annotations={"volume.beta.kubernetes.io/storage-class": "slow"})
    assert _class_name(_store(_class("fast", DEFAULT)), claim) is None


def test_a_bound_claim_of_a_dump_stays_as_it_is() -> None:
    bound = msgspec.structs.replace(_claim(), status=api.PersistentVolumeClaimStatus(phase="Bound"))
    assert _class_name(_store(_class("fast", DEFAULT)), bound) is None


def test_of_several_default_classes_the_newest_counts_then_the_first_by_name() -> None:
    old = _class("a", DEFAULT, "2020-01-01T00:00:00Z")
    new, new_too = (_class(name, DEFAULT, "2021-01-01T00:00:00Z") for name in ("c", "b"))
    assert _class_name(_store(old, new, new_too), _claim()) == "b"


def test_a_claim_keeps_its_class_when_it_is_updated() -> None:
    store = _store(_class("fast", DEFAULT))
    store.create(_claim())
    assert store.update(_claim(volume_name="pv")).spec.storage_class_name == "fast"


def test_a_claim_asks_for_whole_thousandths() -> None:
    resources = api.VolumeResourceRequirements(requests={"storage": "100u"})
    assert _store().create(_claim(resources=resources)).spec.resources.requests == {"storage": "1m"}


def test_a_volume_holds_a_file_system_and_is_available() -> None:
    spec = api.PersistentVolumeSpec(rbd=api.RBD(image="i"))
    volume = _store().create(api.PersistentVolume(metadata=api.ObjectMeta(name="pv"), spec=spec))
    assert (volume.spec.volume_mode, volume.spec.persistent_volume_reclaim_policy) == ("Filesystem", "Retain")
    assert volume.status.phase == "Available"
    assert volume.spec.rbd == api.RBD(image="i", pool="rbd", user="admin")


def test_a_claimed_volume_is_not_available() -> None:
    spec = api.PersistentVolumeSpec(claim_ref=api.ObjectReference(name="data"))
    volume = _store().create(api.PersistentVolume(metadata=api.ObjectMeta(name="pv"), spec=spec))
    assert volume.status.phase == "Pending"


def test_a_storage_class_binds_at_once_and_deletes() -> None:
    made = _store().create(_class("fast"))
    assert (made.volume_binding_mode, made.reclaim_policy) == ("Immediate", "Delete")
    waiting = msgspec.structs.replace(_class("slow"), volume_binding_mode="WaitForFirstConsumer")
    assert _store().create(waiting).volume_binding_mode == "WaitForFirstConsumer"


def test_a_driver_attaches_and_does_not_report_capacity() -> None:
    driver = _store().create(api.CSIDriver(metadata=api.ObjectMeta(name="d")))
    assert driver.spec == api.CSIDriverSpec(
        attach_required=True, storage_capacity=False, volume_lifecycle_modes=("Persistent",)
    )
