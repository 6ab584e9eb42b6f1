# SPDX-License-Identifier: Apache-2.0
"""Pods wait until their claims exist, and are told what is wrong with them."""

from __future__ import annotations

import msgspec
import pytest
from tests.plugins.dynamic_resources.handle import OnePlugin

from steersman import api
from steersman.framework.status import SKIP, Code, Status
from steersman.testing import (
    Builder,
    DeviceClassBuilder,
    ResourceClaimBuilder,
    make_device_class,
    make_node,
    make_pod,
    make_resource_claim,
    make_slice,
)

TRAIN = make_pod("train").resource_claim("gpu")
GENERATED = (api.PodResourceClaimStatus(name="gpu", resource_claim_name="train-gpu-x"),)


def templated(statuses: tuple[api.PodResourceClaimStatus, ...] = ()) -> api.Pod:
    pod = make_pod("train").obj()
    reference = api.PodResourceClaim(name="gpu", resource_claim_template_name="gpus")
    spec = msgspec.structs.replace(pod.spec, resource_claims=(reference,))
    return msgspec.structs.replace(pod, spec=spec, status=api.PodStatus(resource_claim_statuses=statuses))


def gate(pod: api.Pod, *objects: Builder[api.ResourceClaim]) -> str:
    status = OnePlugin(*objects).plugin.pre_enqueue(pod)
    return "" if status is None else status.message


def test_a_claim_that_does_not_exist_gates_the_pod() -> None:
    assert gate(TRAIN.obj()) == 'could not find ResourceClaim "default/gpu"'
    assert gate(TRAIN.obj(), make_resource_claim("gpu")) == ""


def test_a_claim_that_was_not_generated_yet_gates_the_pod() -> None:
    assert gate(templated()) == 'pod "default/train": ResourceClaim not created yet'


def test_a_reference_to_nothing_gates_the_pod() -> None:
    pod = make_pod("train").obj()
    spec = msgspec.structs.replace(pod.spec, resource_claims=(api.PodResourceClaim(name="gpu"),))
    why = 'pod "default/train", spec.resourceClaim "gpu": none of the supported fields are set'
    assert gate(msgspec.structs.replace(pod, spec=spec)) == why


def test_a_claim_that_is_being_deleted_gates_the_pod() -> None:
    leaving = make_resource_claim("gpu")._meta(deletion_timestamp="2031-01-01T00:00:00Z")
    assert gate(TRAIN.obj(), leaving) == 'resourceclaim "gpu" is being deleted'


@pytest.mark.parametrize("owned", [True, False])
def test_a_generated_claim_must_belong_to_the_pod(owned: bool) -> None:
    claim = make_resource_claim("train-gpu-x")
    why = gate(templated(GENERATED), claim.owner("Pod", "train") if owned else claim)
    assert bool(why) is not owned


# -- PreFilter -----------------------------------------------------------------------------------------------------------


def refusal(claim: ResourceClaimBuilder, *objects: DeviceClassBuilder) -> Status:
    status = OnePlugin(claim, *objects).pre_filter(TRAIN.info())
    assert status is not None
    return status


def test_a_class_that_does_not_exist_makes_the_pod_wait() -> None:
    status = refusal(make_resource_claim("gpu").asks("r", "ghost"))
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.message == "request r: device class ghost does not exist"
    status = refusal(
        make_resource_claim("gpu").asks_for_first("r", a=("any", 1), b=("ghost", 1)), make_device_class("any")
    )
    assert status.message == "request r/b: device class ghost does not exist"


def test_a_request_of_an_unknown_kind_makes_the_pod_wait() -> None:
    status = refusal(make_resource_claim("gpu")._request(api.DeviceRequest(name="r")))
    assert status.message == "resource claim default/gpu, request r: unknown request type"


def test_a_claim_that_is_being_allocated_for_another_pod_makes_the_pod_wait() -> None:
    one = OnePlugin(
        make_resource_claim("gpu").asks("r", "any"),
        make_device_class("any"),
        make_slice("n").on_node("n").device("d"),
        nodes=[make_node("n").info()],
    )
    assert one.take(make_pod("first").resource_claim("gpu").info(), "n") is None
    status = one.pre_filter(TRAIN.info())
    assert status is not None
    assert status.message == "resource claim default/gpu is in the process of being allocated"


@pytest.mark.parametrize("gate", ["DRADeviceTaintRules", "DRANodeAllocatableResources"])
def test_gates_that_cannot_be_followed_keep_pods_with_devices_away(gate: str) -> None:
    one = OnePlugin(make_resource_claim("gpu").asks("r", "any"), make_device_class("any"), gates={gate: True})
    status = one.pre_filter(TRAIN.info())
    assert status is not None
    assert f"feature gate {gate} is on" in status.message
    assert one.pre_filter(make_pod("web").info()) == SKIP
