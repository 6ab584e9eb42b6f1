# SPDX-License-Identifier: Apache-2.0
"""What controllers of others find in a sandbox: nodes that give signs of life, and a provisioner that makes volumes."""

from __future__ import annotations

import asyncio

import msgspec

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.store import KubeAdmission, Store
from steersman.cluster.store.heartbeats import (
    NODE_LEASES,
    Lease,
    last_heartbeat,
    renewed_at,
    resume_heartbeat,
    stop_heartbeat,
)
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
    assert renewed_at(cluster, "alive") == clock.now()
    assert renewed_at(cluster, "silent") is None
    owner = cluster.get(Lease, f"{NODE_LEASES}/alive").metadata.owner_references[0]
    assert owner.uid == cluster.get(api.Node, "alive").metadata.uid


def test_leases_are_renewed_when_they_are_read_and_while_they_may_be_watched() -> None:
    cluster = store()
    clock = cluster.clock
    assert isinstance(clock, ManualClock)
    for name in ("n1", "n2"):
        cluster.create(make_node(name).obj())
    has_failed, silent = set[str](), f"{NODE_LEASES}/n2"
    beats = Heartbeats(cluster, has_failed.__contains__, always=False)
    version = cluster.version
    clock.advance(100)
    asyncio.run(_one_round(beats))
    assert cluster.version == version  # unread, they cost nothing
    assert last_heartbeat(cluster, "n1") is None  # and the node is taken to be alive
    renewed = cluster.document(Lease, f"{NODE_LEASES}/n1")["spec"]["renewTime"]
    assert renewed == "1970-01-01T00:18:20.000000Z"
    assert (renewed_at(cluster, "n1"), renewed_at(cluster, "n2")) == (1100.0, 1000.0)
    assert len(cluster.documents(Lease)) == 2
    assert renewed_at(cluster, "n2") == 1100.0
    clock.advance(60)
    asyncio.run(_one_round(beats))
    assert renewed_at(cluster, "n1") == 1160.0
    has_failed.add("n2")
    stop_heartbeat(cluster, "n2")
    clock.advance(60)
    assert cluster.document(Lease, silent)["spec"]["renewTime"].startswith("1970-01-01T00:19:20")
    assert last_heartbeat(cluster, "n2") == 1160.0
    has_failed.clear()
    resume_heartbeat(cluster, "n2")
    assert last_heartbeat(cluster, "n2") is None


async def _one_round(beats: Heartbeats) -> None:
    task = asyncio.ensure_future(beats.run())
    await asyncio.sleep(0)
    task.cancel()


def test_a_lease_that_another_program_renews_is_left_to_it() -> None:
    cluster = store()
    clock = cluster.clock
    assert isinstance(clock, ManualClock)
    cluster.create(make_node("n1").obj())
    Heartbeats(cluster, lambda node: False, always=False)
    clock.advance(5)
    lease = cluster.get(Lease, f"{NODE_LEASES}/n1")
    cluster.update(_replace(lease, spec={**lease.spec, "renewTime": "1970-01-01T00:16:45.000000Z"}))
    clock.advance(100)
    assert cluster.document(Lease, f"{NODE_LEASES}/n1")["spec"]["renewTime"] == "1970-01-01T00:16:45.000000Z"
    assert last_heartbeat(cluster, "n1") == 1005.0


def test_the_conditions_of_a_node_that_is_read_have_a_recent_heartbeat() -> None:
    cluster = store()
    clock = cluster.clock
    assert isinstance(clock, ManualClock)
    cluster.create(make_node("n1").condition("Ready", "True").obj())
    Heartbeats(cluster, lambda node: False, always=False)
    beats = []
    for _ in range(3):
        clock.advance(200)
        (ready,) = cluster.document(api.Node, "n1")["status"]["conditions"]
        beats.append(ready["lastHeartbeatTime"])
    assert beats == ["1970-01-01T00:20:00Z", "1970-01-01T00:20:00Z", "1970-01-01T00:26:40Z"]


def test_the_lease_of_a_node_goes_with_the_node_and_comes_back_if_it_alone_is_deleted() -> None:
    cluster = store()
    cluster.create(make_node("n1").obj())
    Heartbeats(cluster, lambda node: False, always=False)
    cluster.delete(Lease, f"{NODE_LEASES}/n1")
    assert cluster.find(Lease, f"{NODE_LEASES}/n1") is not None
    cluster.delete(api.Node, "n1")
    assert cluster.find(Lease, f"{NODE_LEASES}/n1") is None


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
