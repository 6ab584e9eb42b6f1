# SPDX-License-Identifier: Apache-2.0
"""StatefulSets: names, order, claims, updates and their partition, and revisions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.controllers.world import World, with_ready, workload

from steersman import api
from steersman.testing import make_pod

_CLAIM = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}


def _world(replicas: int = 3, start_seconds: float = 0.0, keeps_documents: bool = False, **spec: Any) -> World:
    world = World("statefulset", start_seconds=start_seconds, keeps_documents=keeps_documents)
    world.create(workload("StatefulSet", replicas=replicas, serviceName="svc", **spec))
    return world


def _set(world: World) -> api.StatefulSet:
    return world.get(api.StatefulSet, "web")


def _names(world: World) -> list[str]:
    return sorted(world.names())


def _images(world: World) -> list[str]:
    return [pod.spec.containers[0].image for pod in sorted(world.pods(), key=lambda pod: pod.metadata.name)]


def test_pods_are_made_one_after_the_other() -> None:
    world = _world(3, start_seconds=2.0)
    counts = []
    for _ in range(8):
        world.settle()
        counts.append(len(world.pods()))
        world.pass_time(1)
    assert counts == [1, 1, 2, 2, 3, 3, 3, 3]
    assert _names(world) == ["web-0", "web-1", "web-2"]


def test_in_a_parallel_set_pods_are_made_at_once() -> None:
    world = _world(3, start_seconds=2.0, podManagementPolicy="Parallel")
    world.settle()
    assert _names(world) == ["web-0", "web-1", "web-2"]


def test_pods_know_who_they_are() -> None:
    world = _world(1, keeps_documents=True)
    world.settle()
    (pod,), (revision,) = world.pods(), world.all(api.ControllerRevision)
    assert pod.metadata.labels == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "web-0",
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": revision.metadata.name,
    }
    spec = world.store.document(api.Pod, "default/web-0")["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("web-0", "svc")
    assert world.messages("SuccessfulCreate") == ["Create Pod web-0 in StatefulSet web successful"]


def test_ordinals_may_start_elsewhere() -> None:
    world = _world(2, ordinals={"start": 5})
    world.pass_time(2)
    assert _names(world) == ["web-5", "web-6"]


def test_every_pod_gets_claims_of_its_own() -> None:
    world = _world(2, volumeClaimTemplates=[_CLAIM], keeps_documents=True)
    world.pass_time(2)
    assert sorted(world.names(api.PersistentVolumeClaim)) == ["data-web-0", "data-web-1"]
    claim = world.get(api.PersistentVolumeClaim, "data-web-1")
    assert claim.metadata.labels == {"app": "web"}
    assert claim.spec.resources.requests == {"storage": "1Gi"}
    assert not claim.metadata.owner_references
    (volume,) = world.get(api.Pod, "web-1").spec.volumes
    assert volume.persistent_volume_claim is not None
    assert (volume.name, volume.persistent_volume_claim.claim_name) == ("data", "data-web-1")
    document = world.store.document(api.Pod, "default/web-1")
    assert document["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}]
    assert "Create Claim data-web-0 Pod web-0 in StatefulSet web success" in world.messages("SuccessfulCreate")


def test_a_claim_stays_when_its_replica_goes() -> None:
    world = _world(2, volumeClaimTemplates=[_CLAIM])
    world.pass_time(2)
    world.change_spec(_set(world), replicas=1)
    world.pass_time(40)
    assert _names(world) == ["web-0"]
    assert len(world.all(api.PersistentVolumeClaim)) == 2


@pytest.mark.parametrize(
    ("deleted", "scaled", "before", "after"),
    [
        ("Retain", "Retain", [], []),
        ("Delete", "Retain", ["StatefulSet"], ["StatefulSet"]),
        ("Retain", "Delete", [], ["Pod"]),
        ("Delete", "Delete", ["StatefulSet"], ["Pod"]),
    ],
)
def test_a_claim_is_owned_by_the_object_with_which_it_is_deleted(
    deleted: str, scaled: str, before: list[str], after: list[str]
) -> None:
    policy = {"whenDeleted": deleted, "whenScaled": scaled}
    world = _world(2, volumeClaimTemplates=[_CLAIM], persistentVolumeClaimRetentionPolicy=policy)
    world.pass_time(2)
    assert _owners(world) == before
    world.change_spec(_set(world), replicas=1)
    world.settle()
    assert _owners(world) == after


def _owners(world: World) -> list[str]:
    claim = world.get(api.PersistentVolumeClaim, "data-web-1")
    return [ref.kind for ref in claim.metadata.owner_references]


def test_pods_go_from_the_top_one_after_the_other() -> None:
    world = _world(3)
    world.pass_time(3)
    world.change_spec(_set(world), replicas=0)
    world.settle()
    assert [pod.metadata.name for pod in world.pods() if pod.metadata.deletion_timestamp] == ["web-2"]
    world.pass_time(31)
    assert _names(world) == ["web-0", "web-1"]
    world.pass_time(70)
    assert not world.pods()


def test_in_a_parallel_set_pods_go_at_once() -> None:
    world = _world(3, podManagementPolicy="Parallel")
    world.pass_time(3)
    world.change_spec(_set(world), replicas=0)
    world.settle()
    assert all(pod.metadata.deletion_timestamp for pod in world.pods())


def test_a_pod_that_is_not_ready_holds_up_those_after_it() -> None:
    world = _world(1)
    world.settle()
    pod = world.pods()[0]
    world.change_status(pod, conditions=with_ready(pod.status, ready=False))
    world.change_spec(_set(world), replicas=3)
    world.pass_time(5)
    assert _names(world) == ["web-0"]
    world.change_status(pod, conditions=with_ready(world.pods()[0].status, ready=True))
    world.pass_time(5)
    assert len(world.pods()) == 3


def test_a_pod_that_failed_is_made_again_under_its_name() -> None:
    world = _world(2)
    world.pass_time(2)
    before = world.get(api.Pod, "web-0").metadata.uid
    world.change_status(world.get(api.Pod, "web-0"), phase="Failed")
    world.pass_time(40)
    pod = world.get(api.Pod, "web-0")
    assert pod.metadata.uid != before
    assert pod.status.phase == "Running"


def test_the_status_of_a_settled_set() -> None:
    world = _world(2)
    world.pass_time(2)
    name = world.names(api.ControllerRevision)[0]
    assert _set(world).status == api.StatefulSetStatus(
        observed_generation=1,
        replicas=2,
        ready_replicas=2,
        current_replicas=2,
        updated_replicas=2,
        current_revision=name,
        update_revision=name,
        collision_count=0,
        available_replicas=2,
    )


def test_an_update_replaces_pods_from_the_top_each_after_the_one_above() -> None:
    world = _world(3)
    world.pass_time(3)
    world.set_image(_set(world), "nginx:2")
    world.settle()
    status = _set(world).status
    assert status.current_revision != status.update_revision
    assert [pod.metadata.name for pod in world.pods() if pod.metadata.deletion_timestamp] == ["web-2"]
    world.pass_time(33)
    assert _images(world) == ["nginx:1", "nginx:1", "nginx:2"]
    world.pass_time(70)
    assert _images(world) == ["nginx:2", "nginx:2", "nginx:2"]
    status = _set(world).status
    assert status.current_revision == status.update_revision
    assert (status.current_replicas, status.updated_replicas) == (3, 3)


def test_pods_below_the_partition_keep_the_old_template_even_when_made_again() -> None:
    world = _world(3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
    world.pass_time(3)
    world.set_image(_set(world), "nginx:2")
    world.pass_time(120)
    assert _images(world) == ["nginx:1", "nginx:1", "nginx:2"]
    world.change_status(world.get(api.Pod, "web-0"), phase="Failed")
    world.pass_time(40)
    assert _images(world) == ["nginx:1", "nginx:1", "nginx:2"]
    assert _set(world).status.updated_replicas == 1


def test_on_delete_leaves_pods_until_they_are_deleted() -> None:
    world = _world(2, updateStrategy={"type": "OnDelete"})
    world.pass_time(3)
    world.set_image(_set(world), "nginx:2")
    world.pass_time(60)
    assert _images(world) == ["nginx:1", "nginx:1"]
    world._pods.delete("default/web-1")
    world.pass_time(5)
    assert _images(world) == ["nginx:1", "nginx:2"]


def test_an_old_template_again_is_the_old_revision_with_a_new_number() -> None:
    world = _world(1)
    world.pass_time(2)
    first = world.names(api.ControllerRevision)[0]
    world.set_image(_set(world), "nginx:2")
    world.pass_time(60)
    world.set_image(_set(world), "nginx:1")
    world.pass_time(60)
    assert {r.metadata.name: r.revision for r in world.all(api.ControllerRevision)}[first] == 3
    assert len(world.all(api.ControllerRevision)) == 2


def test_old_revisions_beyond_the_limit_go() -> None:
    world = _world(1, revisionHistoryLimit=1)
    for number in range(2, 6):
        world.pass_time(60)
        world.set_image(_set(world), f"nginx:{number}")
    world.pass_time(60)
    assert len(world.all(api.ControllerRevision)) == 2


def test_pods_must_be_ready_for_a_while_before_the_next_is_made() -> None:
    world = _world(2, minReadySeconds=10)
    world.pass_time(9)
    assert _names(world) == ["web-0"]
    assert (_set(world).status.ready_replicas, _set(world).status.available_replicas) == (1, 0)
    world.pass_time(13)
    assert _names(world) == ["web-0", "web-1"]


def test_only_pods_with_its_name_are_adopted() -> None:
    world = _world(1)
    world.store.create(make_pod("web-x").label("app", "web").obj())
    world.store.create(make_pod("web-7").label("app", "web").obj())
    world.pass_time(40)
    assert _names(world) == ["web-0", "web-x"]
    assert not world.get(api.Pod, "web-x").metadata.owner_references


def test_a_failed_pod_of_a_parallel_set_does_not_disturb_an_update() -> None:
    world = _world(3, podManagementPolicy="Parallel")
    world.pass_time(3)
    world.change_status(world.get(api.Pod, "web-2"), phase="Failed")
    world.set_image(_set(world), "nginx:2")
    world.pass_time(150)
    assert _images(world) == ["nginx:2"] * 3


def test_other_claims_policies_reach_pods_that_had_settled() -> None:
    world = _world(2, volumeClaimTemplates=[_CLAIM])
    world.pass_time(2)
    assert _owners(world) == []
    policy = api.ClaimRetentionPolicy(when_deleted="Delete", when_scaled="Retain")
    world.change_spec(_set(world), persistent_volume_claim_retention_policy=policy)
    world.settle()
    assert _owners(world) == ["StatefulSet"]
