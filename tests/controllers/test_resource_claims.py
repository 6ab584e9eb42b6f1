# SPDX-License-Identifier: Apache-2.0
"""Claims are made from templates, for pods and pod groups, and devices taken back when nobody uses them any more."""

from __future__ import annotations

import msgspec

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.controllers import ResourceClaimController
from steersman.cluster.store import Pods, Store
from steersman.testing import make_pod, make_pod_group, make_resource_claim

TEMPLATE = api.ResourceClaimTemplate(
    metadata=api.ObjectMeta(name="gpus", namespace="default"),
    spec=api.ResourceClaimTemplateSpec(
        metadata=api.ObjectMeta(labels={"made": "yes"}), spec=make_resource_claim("c").asks("r", "any").obj().spec
    ),
)


def cluster(*objects: api.Object) -> Store:
    store = Store(ManualClock())
    ResourceClaimController(store)
    for obj in objects:
        store.create(obj)
    return store


def templated(name: str) -> api.Pod:
    pod = make_pod(name).obj()
    reference = api.PodResourceClaim(name="gpu", resource_claim_template_name="gpus")
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, resource_claims=(reference,)))


GPU = api.PodResourceClaim(name="gpu", resource_claim_template_name="gpus")


def group_cluster(*objects: api.Object) -> Store:
    store = Store(ManualClock())
    ResourceClaimController(store, has_group_claims=True)
    for obj in objects:
        store.create(obj)
    return store


def gang(*references: api.PodResourceClaim) -> api.PodGroup:
    group = make_pod_group("gang").gang(2).obj()
    return msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, resource_claims=references))


def member(name: str, *references: api.PodResourceClaim) -> api.Pod:
    pod = make_pod(name).in_group("gang").obj()
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, resource_claims=references))


def claim_names(store: Store, pod: str) -> list[str | None]:
    return [
        status.resource_claim_name for status in store.get(api.Pod, f"default/{pod}").status.resource_claim_statuses
    ]


def claims(store: Store) -> list[api.ResourceClaim]:
    return list(store.objects(api.ResourceClaim).values())


def finish(store: Store, name: str) -> None:
    pod = store.get(api.Pod, f"default/{name}")
    store.update_status(msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase="Succeeded")))


def test_a_pod_gets_a_claim_of_its_own_and_is_told_its_name() -> None:
    store = cluster(TEMPLATE, templated("a"), templated("b"))
    first, second = claims(store)
    assert first.metadata.name.startswith("a-gpu-")
    assert first.spec == TEMPLATE.spec.spec
    assert first.metadata.labels == {"made": "yes"}
    for pod, claim in (("a", first), ("b", second)):
        stored = store.get(api.Pod, f"default/{pod}")
        assert [owner.uid for owner in claim.metadata.owner_references] == [stored.metadata.uid]
        assert [status.resource_claim_name for status in stored.status.resource_claim_statuses] == [claim.metadata.name]


def test_a_pod_waits_for_its_template() -> None:
    store = cluster(templated("a"))
    assert claims(store) == []
    store.create(TEMPLATE)
    assert len(claims(store)) == 1


def test_a_claim_made_for_a_pod_goes_with_it() -> None:
    store = cluster(TEMPLATE, templated("a"))
    Pods(store).delete("default/a")
    assert claims(store) == []


def test_an_unused_claim_is_deallocated() -> None:
    used = make_resource_claim("gpu").allocated(("r", "d", "p", "x")).used_by("a", "b").obj()
    pods = [make_pod(name).node("n").resource_claim("gpu").obj() for name in ("a", "b")]
    store = cluster(used, *pods)
    finish(store, "a")
    (claim,) = claims(store)
    assert [user.name for user in claim.status.reserved_for] == ["b"]
    assert claim.status.allocation is not None
    Pods(store).delete("default/b")
    (claim,) = claims(store)
    assert claim.status == api.ResourceClaimStatus()


def test_the_claim_for_extended_resources_is_released_as_well() -> None:
    used = make_resource_claim("made").allocated(("r", "d", "p", "x")).used_by("a").owner("Pod", "a").obj()
    pod = make_pod("a").node("n").obj()
    told = api.PodExtendedResourceClaimStatus(resource_claim_name="made")
    pod = msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, extended_resource_claim_status=told))
    store = cluster(used, pod)
    finish(store, "a")
    assert [claim.status.allocation for claim in claims(store)] == [None]
    Pods(store).delete("default/a")
    assert claims(store) == []


def test_the_members_of_a_group_share_the_claim_that_it_lists() -> None:
    store = group_cluster(TEMPLATE, gang(GPU), member("a", GPU), member("b", GPU))
    (shared,) = claims(store)
    group = store.get(api.PodGroup, "default/gang")
    assert shared.metadata.name.startswith("gang-gpu-")
    assert [(owner.kind, owner.uid) for owner in shared.metadata.owner_references] == [("PodGroup", group.metadata.uid)]
    assert [status.resource_claim_name for status in group.status.resource_claim_statuses] == [shared.metadata.name]
    assert claim_names(store, "a") == claim_names(store, "b") == [shared.metadata.name]


def test_a_member_gets_claims_of_its_own_that_its_group_does_not_list() -> None:
    own = msgspec.structs.replace(GPU, name="own")
    store = group_cluster(TEMPLATE, gang(GPU), member("a", GPU, own))
    assert [str(name)[:6] for name in claim_names(store, "a")] == ["gang-g", "a-own-"]


def test_a_member_waits_for_its_group_and_the_template_of_the_group() -> None:
    store = group_cluster(member("a", GPU))
    assert claim_names(store, "a") == []
    store.create(gang(GPU))
    assert claim_names(store, "a") == []
    store.create(TEMPLATE)
    (shared,) = claims(store)
    assert claim_names(store, "a") == [shared.metadata.name]


def test_without_the_gate_every_member_gets_a_claim_of_its_own() -> None:
    store = cluster(TEMPLATE, gang(GPU), member("a", GPU), member("b", GPU))
    assert sorted(claim.metadata.name[:6] for claim in claims(store)) == ["a-gpu-", "b-gpu-"]


def test_the_claim_of_a_group_outlives_its_members_and_goes_with_the_group() -> None:
    store = group_cluster(TEMPLATE, gang(GPU), member("a", GPU))
    Pods(store).delete("default/a")
    assert len(claims(store)) == 1
    store.delete(api.PodGroup, "default/gang")
    assert claims(store) == []
