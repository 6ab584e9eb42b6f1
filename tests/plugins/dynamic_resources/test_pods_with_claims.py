"""Pods with resource claims wait until the claims exist, and are then told that they cannot be placed."""

from __future__ import annotations

import msgspec
import pytest
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import QueueingHint
from steersman.framework.pod_info import PodShapes
from steersman.plugins.dynamic_resources import DynamicResources
from steersman.plugins.dynamic_resources.plugin import REASON_NO_ALLOCATOR
from steersman.testing import make_pod


def pod_with(*references: api.PodResourceClaim, statuses: tuple[api.PodResourceClaimStatus, ...] = ()) -> api.Pod:
    pod = make_pod("train").obj()
    spec = msgspec.structs.replace(pod.spec, resource_claims=references)
    return msgspec.structs.replace(pod, spec=spec, status=api.PodStatus(resource_claim_statuses=statuses))


def claim(name: str, **metadata: object) -> api.ResourceClaim:
    meta = msgspec.convert({"name": name, "namespace": "default", "uid": f"uid-{name}", **metadata}, api.ObjectMeta)
    return api.ResourceClaim(metadata=meta)


def reasons(pod: api.Pod, *objects: api.Object) -> tuple[str, ...]:
    status = DynamicResources(None, FakeHandle(objects=list(objects))).pre_enqueue(pod)
    return () if status is None else status.reasons


NAMED = api.PodResourceClaim(name="gpu", resource_claim_name="shared-gpu")
TEMPLATED = api.PodResourceClaim(name="gpu", resource_claim_template_name="gpu-template")
GENERATED = (api.PodResourceClaimStatus(name="gpu", resource_claim_name="train-gpu-x"),)


def test_a_claim_that_does_not_exist_gates_the_pod() -> None:
    assert reasons(pod_with(NAMED)) == ('could not find ResourceClaim "default/shared-gpu"',)
    assert reasons(pod_with(NAMED), claim("shared-gpu")) == ()


def test_a_claim_that_was_not_generated_yet_gates_the_pod() -> None:
    assert reasons(pod_with(TEMPLATED)) == ('pod "default/train": ResourceClaim not created yet',)


def test_a_claim_that_is_being_deleted_gates_the_pod() -> None:
    leaving = claim("shared-gpu", deletionTimestamp="2031-01-01T00:00:00Z")
    assert reasons(pod_with(NAMED), leaving) == ('resourceclaim "shared-gpu" is being deleted',)


@pytest.mark.parametrize("owned", [True, False])
def test_a_generated_claim_must_belong_to_the_pod(owned: bool) -> None:
    pod = pod_with(TEMPLATED, statuses=GENERATED)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "train", "uid": pod.metadata.uid, "controller": True}
    generated = claim("train-gpu-x", ownerReferences=[owner] if owned else [])
    assert bool(reasons(pod, generated)) is not owned


def test_a_pod_with_claims_is_told_that_there_is_no_allocator() -> None:
    plugin = DynamicResources(None, FakeHandle(objects=[claim("shared-gpu")]))
    status = plugin.pre_filter(CycleState(), PodShapes().info(pod_with(NAMED)), ())
    assert status is not None
    assert status.reasons == (REASON_NO_ALLOCATOR,)


def test_only_the_pods_own_claim_wakes_it_unless_devices_were_freed() -> None:
    waiting, mine, other = pod_with(NAMED), claim("shared-gpu"), claim("elsewhere")
    plugin = DynamicResources(None, FakeHandle(objects=[mine, other]))
    assert plugin.after_claim_change(waiting, None, mine) is QueueingHint.QUEUE
    assert plugin.after_claim_change(waiting, None, other) is QueueingHint.SKIP
    assert plugin.after_claim_change(waiting, mine, mine) is QueueingHint.SKIP
    allocated = msgspec.structs.replace(other, status=api.ResourceClaimStatus(allocation=api.AllocationResult()))
    assert plugin.after_claim_change(waiting, allocated, other) is QueueingHint.QUEUE
