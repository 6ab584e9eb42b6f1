# SPDX-License-Identifier: Apache-2.0
"""Claims that pods carry with them."""

from __future__ import annotations

from tests.embedded.stores import make_store

from steersman import api
from steersman.api.persistent_volumes import not_made_for
from steersman.cluster.controllers.ephemeral_claims import EphemeralClaims
from steersman.cluster.store import Store
from steersman.testing import make_claim, make_pod

TEMPLATE = api.PersistentVolumeClaimTemplate(
    metadata=api.ObjectMeta(labels={"app": "web"}),
    spec=api.PersistentVolumeClaimSpec(access_modes=("ReadWriteOnce",), storage_class_name="fast"),
)
POD = make_pod("web").volume(
    api.Volume(name="tmp", ephemeral=api.EphemeralVolumeSource(volume_claim_template=TEMPLATE))
)


def claim(store: Store) -> api.PersistentVolumeClaim | None:
    return store.find(api.PersistentVolumeClaim, "default/web-tmp")


def test_the_claim_is_made_for_the_pod() -> None:
    store = make_store()
    EphemeralClaims(store)
    pod = store.create(POD.obj())
    made = claim(store)
    assert made is not None
    assert made.spec.storage_class_name == "fast"
    assert made.metadata.labels == {"app": "web"}
    assert not not_made_for(pod, made)


def test_also_for_pods_that_were_there() -> None:
    store = make_store(POD)
    EphemeralClaims(store)
    assert claim(store) is not None


def test_it_goes_with_the_pod() -> None:
    store = make_store(POD)
    EphemeralClaims(store)
    store.delete(api.Pod, "default/web")
    assert claim(store) is None


def test_the_claim_of_another_owner_is_left_alone() -> None:
    store = make_store(make_claim("web-tmp").label("whose", "mine"))
    EphemeralClaims(store)
    store.create(POD.obj())
    store.delete(api.Pod, "default/web")
    kept = claim(store)
    assert kept is not None
    assert kept.metadata.labels == {"whose": "mine"}


def test_pods_with_named_claims_get_none() -> None:
    store = make_store(make_pod("web").pvc("data"))
    EphemeralClaims(store)
    assert not store.objects(api.PersistentVolumeClaim)
