# SPDX-License-Identifier: Apache-2.0
"""What controllers of others find in a sandbox: nodes that give signs of life, and a provisioner that makes volumes."""

from __future__ import annotations

import asyncio

import msgspec

from steersman import api
from steersman.clock import ManualClock
from steersman.embedded import KubeAdmission, Store
from steersman.embedded.heartbeats import NODE_LEASES, Lease, last_heartbeat
from steersman.sandbox.foreign_controllers import CHOSEN_PROVISIONER, Heartbeats, VolumeProvisioner
from steersman.testing import make_node

CLASS = "standard"
PROVISIONER = "example.com/volumes"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_replace = msgspec.structs.replace


def store() -> Store:
    return Store(ManualClock(1000.0), admission=KubeAdmission(), keeps_documents=True)


def test_every_kubelet_that_is_not_silent_renews_its_lease() -> None:
    cluster = store()
    clock = cluster.clock
    assert isinstance(clock, ManualClock)
    for name in ("alive", "silent"):
        cluster.create(make_node(name).obj())
    beats = Heartbeats(cluster, lambda node: node == "silent")
    asyncio.run(beats.renew_all())
    clock.advance(30)
    asyncio.run(beats.renew_all())
    assert last_heartbeat(cluster, "alive") == clock.now()
    assert last_heartbeat(cluster, "silent") is None
    owner = cluster.get(Lease, f"{NODE_LEASES}/alive").metadata.owner_references[0]
    assert owner.uid == cluster.get(api.Node, "alive").metadata.uid


def claim(cluster: Store, **annotations: str) -> api.PersistentVolumeClaim:
    made = cluster.create(
        api.PersistentVolumeClaim(
            metadata=api.ObjectMeta(name="c", namespace="default"),
            spec=api.PersistentVolumeClaimSpec(storage_class_name=CLASS, access_modes=("ReadWriteOnce",)),
        )
    )
    return made if not annotations else annotate(cluster, made, annotations)


def annotate(cluster: Store, found: api.PersistentVolumeClaim, more: dict[str, str]) -> api.PersistentVolumeClaim:
    metadata = _replace(found.metadata, annotations={**found.metadata.annotations, **more})
    return cluster.update(_replace(found, metadata=metadata))


def provisioned() -> Store:
    cluster = store()
    VolumeProvisioner(cluster, PROVISIONER)
    cluster.create(make_node("n").obj())
    cluster.create(
        api.StorageClass(
            metadata=api.ObjectMeta(name=CLASS),
            provisioner=PROVISIONER,
            volume_binding_mode="WaitForFirstConsumer",
            reclaim_policy="Delete",
        )
    )
    return cluster


def test_a_volume_is_made_once_a_controller_asks_and_a_node_is_chosen() -> None:
    cluster = provisioned()
    wanted = claim(cluster)
    wanted = annotate(cluster, wanted, {CHOSEN_PROVISIONER: PROVISIONER})
    assert not cluster.objects(api.PersistentVolume)
    annotate(cluster, wanted, {SELECTED_NODE: "n"})
    (volume,) = cluster.objects(api.PersistentVolume).values()
    assert volume.spec.claim_ref is not None
    assert volume.spec.claim_ref.uid == wanted.metadata.uid


def test_a_volume_of_another_provisioner_is_left_to_it() -> None:
    cluster = provisioned()
    annotate(cluster, claim(cluster), {CHOSEN_PROVISIONER: "example.com/other", SELECTED_NODE: "n"})
    assert not cluster.objects(api.PersistentVolume)


def test_a_released_volume_is_deleted() -> None:
    cluster = provisioned()
    annotate(cluster, claim(cluster), {CHOSEN_PROVISIONER: PROVISIONER, SELECTED_NODE: "n"})
    (volume,) = cluster.objects(api.PersistentVolume).values()
    cluster.update_status(_replace(volume, status=_replace(volume.status, phase="Released")))
    left = cluster.objects(api.PersistentVolume).values()
    assert all(one.metadata.deletion_timestamp is not None for one in left)
